import HeapModule

extension BeaconMonitor {
    /// The number of conditions that ``monitorNearest(_:of:to:margin:)`` can monitor.
    public static let nearestRange = 1...10_000
    /// The maximum number of candidates.
    public static let candidatesMax = 100_000

    /// Monitors the nearest of many places, as apps do because the number of regions is limited.
    ///
    /// Call it for each fix, before ``located(_:)``. Then new conditions are evaluated with the fix that selected them,
    /// and the exit from a condition that this fix leaves is still reported. It changes as little as possible, like
    /// ``setConditions(_:)``. Conditions that are not candidates do not change, but if some wait, also of other
    /// monitors, they get the places of the removed ones first (rule C4).
    ///
    /// Conditions that are satisfied, or were before an outage, come first, because removing one would lose its exit.
    /// Then follow the nearest ones. A monitored condition is replaced only if another is nearer by more than the
    /// margin. Without a margin, each fix near the middle between two places could exchange them and delete a record.
    /// The margin is at least twice the accuracy of the fix, because an error of the fix can bring one place nearer and
    /// move the other away.
    ///
    ///     let candidates = try piers.map { try PlacedCondition($0.circle, identifier: $0.name) }
    ///     try await monitor.monitorNearest(20, of: candidates, to: fix)
    ///     await monitor.located(fix)
    ///
    /// - Parameters:
    ///   - count: the number of conditions to monitor, 1 … 10,000.
    ///   - candidates: at most 100,000 places. Their identifiers belong to this call: a condition with one of them is
    ///     removed if it is not selected, even if it was added otherwise. A condition that is no longer a candidate
    ///     stays.
    ///   - fix: the position of this gateway.
    ///   - margin: the minimum margin in metres, 0 or more.
    /// - Returns: the changes in their order.
    /// - Throws: ``MonitorError`` if a number or a setting is out of bounds, two candidates have one identifier, or the
    ///   monitor has ended. Nothing has changed then.
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
        let remaining = Set(chosen.map { candidates[$0].wanted.identifier })
        return try exchange(
            removing: monitored.filter { !remaining.contains($0) }, adding: chosen.map { candidates[$0].wanted })
    }
}

/// Ranks candidates by distance.
struct NearestRanking {
    let position: Coordinate
    /// The metres that are subtracted from the distance of a monitored condition.
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
        /// In metres, after subtracting the margin.
        let distance: Double
        let identifier: Identifier
        let place: Int

        static func < (left: Rank, right: Rank) -> Bool {
            if left.isAway != right.isAway { return right.isAway }
            return left.distance == right.distance
                ? left.identifier < right.identifier : left.distance < right.distance
        }
    }

    /// Returns the positions of the nearest candidates, the nearest first. Equal distances are ordered by identifier.
    func nearest(_ count: Int, of candidates: [PlacedCondition]) -> [Int] {
        var nearest = Heap<Rank>(minimumCapacity: min(count, candidates.count) + 1)
        for (place, candidate) in candidates.enumerated() {
            let identifier = candidate.wanted.identifier
            let isAway = !present.contains(identifier)
            let bonus = monitored.contains(identifier) ? margin : 0
            // For most candidates, the difference in latitude is already too large, so their distance is not computed.
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
