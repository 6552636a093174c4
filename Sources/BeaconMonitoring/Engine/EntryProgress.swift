/// The qualifying sightings of a subject that is to enter (rule E1). Times are nanoseconds.
struct EntryProgress: Sendable {
    /// When those before the last were, oldest first; at most one fewer than an entry needs.
    private var moments: [Int64] = []
    /// The last of them, of a beacon on its way in (rule P1).
    private(set) var last: Int64 = 0

    /// Notes a sighting that qualifies now, for how long ago the last one was.
    mutating func noteQualifying(at time: Int64) { last = time }

    /// Counts what qualifies now.
    /// - Returns: whether it is the `count`-th within `window`, which is measured back from it, the far end not included.
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

    /// Keeps what would have sufficed, for the next sighting that qualifies to try again (rule P5).
    mutating func keepForNext(at time: Int64, count: Int) {
        moments.append(time)
        moments.removeFirst(max(moments.count - (count - 1), 0))
    }

    /// Forgets the sightings, since the state or what an entry needs changed.
    mutating func restart() { if !moments.isEmpty { moments.removeAll() } }
}
