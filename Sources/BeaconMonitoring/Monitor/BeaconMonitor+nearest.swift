import HeapModule

extension BeaconMonitor {
    /// How many conditions ``monitorNearest(_:of:to:margin:)`` may keep.
    public static let nearestRange = 1...10_000
    /// How many it may choose from.
    public static let candidatesMax = 100_000

    /// Monitors the nearest of many places, as apps do that may monitor only so many regions.
    ///
    /// Called with each fix, before ``located(_:)`` is: what is new is then held against the very fix that brought it, and
    /// what this fix leaves is still there to say so. As little as possible changes, as with ``setConditions(_:)``;
    /// conditions that are not among the candidates are not touched.
    ///
    /// First come those that this gateway, or a beacon, is at: to swap one out would lose its exit. Then the nearest, but
    /// one that is monitored gives way only to one that is nearer by more than a margin, or each fix on the line between
    /// two places would swap them and forget a record. Since a fix that is off by its accuracy moves one place nearer and
    /// another away by as much, twice the accuracy is the least for it.
    ///
    /// - Parameters:
    ///   - count: how many, 1 … 10,000.
    ///   - candidates: the places, 100,000 at most. Their identifiers are for this call alone: a condition under one of
    ///     them is removed where it is not among the chosen, however it was added; one that is no longer a candidate stays.
    ///   - fix: where this gateway is.
    ///   - margin: the metres that a newcomer has to be nearer by, at least; 0 or more.
    /// - Returns: what changed, in the order in which it did; nothing where nothing did.
    /// - Throws: ``MonitorError`` where a number or a setting is out of bounds, two candidates have one identifier, or the
    ///   monitor has ended; nothing has changed then.
    @discardableResult
    public func monitorNearest(
        _ count: Int, of candidates: [PlacedCondition], to fix: LocationFix, margin: Double = 100
    ) throws(MonitorError) -> [ConditionChange] {
        guard Self.nearestRange.contains(count) else { throw .settingInvalid("count is \(count)", "expected 1…10000") }
        guard candidates.count <= Self.candidatesMax else {
            throw .settingInvalid("there are \(candidates.count) candidates", "expected at most \(Self.candidatesMax)")
        }
        guard margin >= 0, margin.isFinite else { throw .settingInvalid("margin is \(margin)", "expected 0 or more") }
        var places: [Identifier: Int] = [:]
        for (place, candidate) in candidates.enumerated() {
            guard places.updateValue(place, forKey: candidate.wanted.identifier) == nil else {
                throw .identifierRepeated(candidate.wanted.identifier.text)
            }
        }
        let monitored = identifiersInOrder.filter { places[$0] != nil }
        let ranking = NearestRanking(
            position: fix.coordinate, margin: max(margin, 2 * fix.horizontalAccuracy), monitored: Set(monitored),
            present: monitored.filter { isPresent($0) })
        let chosen = ranking.nearest(count, of: candidates)
        let stays = Set(chosen.map { candidates[$0].wanted.identifier })
        return try exchange(
            removing: monitored.filter { !stays.contains($0) }, adding: chosen.map { candidates[$0].wanted })
    }
}

/// How near candidates are, as far as it matters for which of them are monitored.
struct NearestRanking {
    let position: Coordinate
    /// The metres by which what is monitored counts as nearer than it is.
    let margin: Double
    let monitored: Set<Identifier>
    let present: Set<Identifier>

    init(position: Coordinate, margin: Double, monitored: Set<Identifier>, present: [Identifier]) {
        self.position = position
        self.margin = margin
        self.monitored = monitored
        self.present = Set(present)
    }

    private struct Rank: Comparable {
        let isAway: Bool
        /// In metres, the margin taken off.
        let distance: Double
        let identifier: Identifier
        let place: Int

        static func < (left: Rank, right: Rank) -> Bool {
            if left.isAway != right.isAway { return right.isAway }
            return left.distance == right.distance
                ? left.identifier < right.identifier : left.distance < right.distance
        }
    }

    /// The places of the nearest among the candidates, the nearest first; equally near ones by identifier.
    func nearest(_ count: Int, of candidates: [PlacedCondition]) -> [Int] {
        var nearest = Heap<Rank>(minimumCapacity: min(count, candidates.count) + 1)
        for (place, candidate) in candidates.enumerated() {
            let identifier = candidate.wanted.identifier
            let isAway = !present.contains(identifier)
            let bonus = monitored.contains(identifier) ? margin : 0
            // Most are farther off in latitude alone: no need to know how far exactly.
            if nearest.count == count, let farthest = nearest.max, isAway, farthest.isAway,
                candidate.distanceMinimum(from: position) - bonus > farthest.distance
            {
                continue
            }
            nearest.insert(
                Rank(
                    isAway: isAway, distance: candidate.distance(from: position) - bonus, identifier: identifier,
                    place: place))
            if nearest.count > count { _ = nearest.popMax() }
        }
        return nearest.unordered.sorted().map(\.place)
    }
}
