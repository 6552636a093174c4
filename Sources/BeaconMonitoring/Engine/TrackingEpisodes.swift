/// A set of conditions, stored as one flag per index.
struct ConditionSet: Sendable {
    private var marks: ContiguousArray<Bool> = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    @inline(__always)
    func contains(_ condition: ConditionIndex) -> Bool {
        condition.offset < marks.count && marks[condition.offset]
    }

    /// Adds a condition.
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

/// The episodes in which beacons under a condition reach a limit. Each is reported once for its condition (rules P2,
/// P5).
struct TrackingEpisodes: Sendable {
    /// The time after the last refusal at which an episode ends, in nanoseconds.
    private static let quietAfterRefusal: Int64 = 60_000_000_000

    /// The conditions whose beacons exceed the limit of beacons.
    private var overflowing = ConditionSet()
    /// The conditions whose beacons were refused.
    private var refusing = ConditionSet()
    private var lastRefusal: Int64 = 0

    /// Returns whether beacons under the condition reach a limit.
    func concern(_ condition: ConditionIndex) -> Bool {
        overflowing.contains(condition) || refusing.contains(condition)
    }

    /// Returns whether beacons under any condition reach a limit.
    func areUnderWay(at time: Int64) -> Bool { !overflowing.isEmpty || isRefusing(at: time) }

    /// Whether beacons under any condition exceed the limit of beacons.
    var isOverflowing: Bool { !overflowing.isEmpty }

    private func isRefusing(at time: Int64) -> Bool {
        !refusing.isEmpty && time - lastRefusal < Self.quietAfterRefusal
    }

    /// Records that a beacon under a condition exceeds the limit of beacons.
    /// - Returns: whether it is the first of its condition and episode.
    @inline(__always)
    mutating func overflow(_ condition: ConditionIndex) -> Bool { overflowing.insert(condition) }

    /// Records that a beacon under a condition was refused.
    /// - Returns: whether it is the first of its condition and episode.
    mutating func refuse(_ condition: ConditionIndex, at time: Int64) -> Bool {
        lastRefusal = time
        return refusing.insert(condition)
    }

    /// Ends the episode of the limit of beacons.
    mutating func endOverflow() { overflowing.removeAll() }

    /// Ends the episode of refusals, if the last refusal is long enough ago. It must be called for each event.
    mutating func endRefusing(at time: Int64) {
        if !refusing.isEmpty, !isRefusing(at: time) { refusing.removeAll() }
    }

    /// Removes a condition that ends.
    mutating func forget(_ condition: ConditionIndex) {
        overflowing.remove(condition)
        refusing.remove(condition)
    }
}
