import BaseTypes

/// What a journal has counted since it was opened.
public struct JournalCounters: Sendable, Hashable {
    /// Lines that were kept.
    public var lines = 0
    /// Octets that were written, those of `state.json` and of what had to be written again included.
    public var bytes = 0
    /// How often a file or folder was put on the disk (fsync, fdatasync).
    public var synchronizations = 0
    /// How often `state.json` was written.
    public var snapshots = 0
    /// Segments that were begun since the journal was opened.
    public var segments = 0
    /// Numbered lines that were dropped because they could not be kept and too many waited: the gaps in `sequence`.
    public var dropped = 0
    /// Lines without a number that were dropped for the same reason.
    public var droppedUnnumbered = 0
    /// Segments that were deleted because they were too old or all of them too large.
    public var deletedSegments = 0
    /// Lines in them that had not been shipped.
    public var deletedUnshipped = 0
    /// Segments that were deleted for the size of all, which would have been kept by their age.
    public var deletedEarly = 0
    /// Segments that somebody else deleted, renamed or cut while they were written to.
    public var segmentsTakenAway = 0
    /// How often something could not be kept.
    public var failures = 0
}

/// What a journal counts, and what it wrote in the last 24 hours.
struct WriteTally {
    var counters = JournalCounters()
    private var budget: WriteBudget

    init(start: Instant) { budget = WriteBudget(start: start) }

    /// So many octets were written, and so often something was put on the disk.
    mutating func note(bytes: Int = 0, synchronizations: Int = 0, at now: Instant) {
        counters.bytes += bytes
        counters.synchronizations += synchronizations
        budget.note(bytes: bytes, synchronizations: synchronizations, at: now)
    }

    /// What was written and synchronised in the last 24 hours.
    mutating func day(at now: Instant) -> (bytes: Int, synchronizations: Int) { budget.day(at: now) }
}

/// What was written and synchronised in the last 24 hours, by the hour: SD cards die of writes.
struct WriteBudget {
    private static let hour: Int64 = 3_600_000_000_000
    private var bytes = [Int](repeating: 0, count: 24)
    private var synchronizations = [Int](repeating: 0, count: 24)
    private var current: Int64

    init(start: Instant) { current = start.nanoseconds / Self.hour }

    mutating func note(bytes more: Int, synchronizations count: Int, at now: Instant) {
        advance(to: now)
        let place = Int(current % 24)
        bytes[place] += more
        synchronizations[place] += count
    }

    private mutating func advance(to now: Instant) {
        let hour = now.nanoseconds / Self.hour
        if hour - current >= 24 { current = hour - 24 }
        while current < hour {
            current += 1
            bytes[Int(current % 24)] = 0
            synchronizations[Int(current % 24)] = 0
        }
    }

    /// What was written in the last 24 hours.
    mutating func day(at now: Instant) -> (bytes: Int, synchronizations: Int) {
        advance(to: now)
        return (bytes.reduce(0, +), synchronizations.reduce(0, +))
    }
}
