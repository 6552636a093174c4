/// A set of conditions, each a mark at its place.
struct ConditionSet: Sendable {
    private var marks: ContiguousArray<Bool> = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    @inline(__always)
    func contains(_ condition: ConditionIndex) -> Bool {
        condition.offset < marks.count && marks[condition.offset]
    }

    /// - Returns: whether it was not in the set before.
    @inline(__always)
    mutating func insert(_ condition: ConditionIndex) -> Bool {
        guard !contains(condition) else { return false }
        while marks.count <= condition.offset { marks.append(false) }
        marks[condition.offset] = true
        count += 1
        return true
    }

    mutating func remove(_ condition: ConditionIndex) {
        guard contains(condition) else { return }
        marks[condition.offset] = false
        count -= 1
    }

    mutating func removeAll() {
        marks.removeAll(keepingCapacity: true)
        count = 0
    }
}

/// The episodes in which beacons under a condition ran into a limit: said once for each condition and episode (rules P2, P5).
struct TrackingEpisodes: Sendable {
    /// How long after the last refusal an episode ends, in nanoseconds.
    private static let quietAfterRefusal: Int64 = 60_000_000_000

    /// The conditions with beacons that did not fit.
    private var overflowing = ConditionSet()
    /// The conditions with beacons that were refused.
    private var refusing = ConditionSet()
    private var lastRefusal: Int64 = 0

    /// Whether beacons under a condition run into a limit.
    func concern(_ condition: ConditionIndex) -> Bool {
        overflowing.contains(condition) || refusing.contains(condition)
    }

    /// Whether beacons under any condition do.
    func areUnderWay(at time: Int64) -> Bool { !overflowing.isEmpty || isRefusing(at: time) }

    /// Whether beacons under any condition did not fit.
    var isOverflowing: Bool { !overflowing.isEmpty }

    private func isRefusing(at time: Int64) -> Bool {
        !refusing.isEmpty && time - lastRefusal < Self.quietAfterRefusal
    }

    /// A beacon under a condition did not fit.
    /// - Returns: whether it is the first of its condition and episode.
    @inline(__always)
    mutating func overflow(_ condition: ConditionIndex) -> Bool { overflowing.insert(condition) }

    /// A beacon under a condition was refused.
    /// - Returns: whether it is the first of its condition and episode.
    mutating func refuse(_ condition: ConditionIndex, at time: Int64) -> Bool {
        lastRefusal = time
        return refusing.insert(condition)
    }

    /// Ends the episode in which beacons did not fit.
    mutating func endOverflow() { overflowing.removeAll() }

    /// Ends the episode in which beacons were refused, where an event comes long enough after the last.
    mutating func endRefusing(at time: Int64) {
        if !refusing.isEmpty, !isRefusing(at: time) { refusing.removeAll() }
    }

    /// Forgets a condition that ends.
    mutating func forget(_ condition: ConditionIndex) {
        overflowing.remove(condition)
        refusing.remove(condition)
    }
}
