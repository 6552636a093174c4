/// The qualifying sightings of a subject that has not entered yet (rule E1). Times are nanoseconds.
struct EntryProgress: Sendable {
    /// The times of earlier qualifying sightings, oldest first; at most one fewer than an entry needs.
    private var moments: [Int64] = []
    /// The time of the last qualifying sighting, for a beacon that has not entered (rule P1).
    private(set) var last: Int64 = 0

    /// Records the time of a qualifying sighting.
    mutating func noteQualifying(at time: Int64) { last = time }

    /// Counts a qualifying sighting.
    /// - Returns: whether it is the `count`-th within `window`. The window is measured back from it and excludes its
    ///   far end.
    mutating func suffices(at time: Int64, count: Int, window: Int64) -> Bool {
        guard count > 1 else { return true }
        let edge = time - window
        moments.removeAll { $0 <= edge }
        guard moments.count + 1 >= count else {
            moments.append(time)
            return false
        }
        return true
    }

    /// Stores the last `count` − 1 qualifying sightings after a refused entry, so that the next qualifying one can be
    /// sufficient (rule P5).
    mutating func keepForNext(at time: Int64, count: Int) {
        moments.append(time)
        moments.removeFirst(max(moments.count - (count - 1), 0))
    }

    /// Forgets the sightings, because the state or the requirements of an entry changed.
    mutating func restart() { if !moments.isEmpty { moments.removeAll() } }
}
