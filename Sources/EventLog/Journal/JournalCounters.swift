import BaseTypes

/// The counters of a journal since it was opened.
public struct JournalCounters: Sendable, Hashable {
    /// The number of stored lines.
    public var lines = 0
    /// The number of written bytes, including those of `state.json` and of repeated writes.
    public var bytes = 0
    /// The number of synchronizations of files and folders (fsync(2), fdatasync(2)).
    public var synchronizations = 0
    /// The number of writes of `state.json`.
    public var snapshots = 0
    /// The number of new segments.
    public var segments = 0
    /// The number of lines with a number that were dropped because they could not be written and too many waited. They
    /// are the gaps in `sequence`.
    public var dropped = 0
    /// The number of lines without a number that were dropped for the same reason.
    public var droppedUnnumbered = 0
    /// The number of segments that retention deleted.
    public var deletedSegments = 0
    /// The number of lines in them that had not been published.
    public var deletedUnpublished = 0
    /// The number of segments that were deleted because of the total size, before their age required it.
    public var deletedEarly = 0
    /// The number of open segments that another program deleted, renamed or truncated.
    public var segmentsTakenAway = 0
    /// The number of failed writes and synchronizations, and also of failed deletions of old segments and updates of
    /// the link `current`.
    public var failures = 0
}

/// The counters of a journal, and the writes in the last 24 hours.
struct WriteTally {
    var counters = JournalCounters()
    private var budget: WriteBudget

    init(start: Instant) { budget = WriteBudget(start: start) }

    /// Counts written bytes and synchronizations.
    mutating func note(bytes: Int = 0, synchronizations: Int = 0, at now: Instant) {
        counters.bytes += bytes
        counters.synchronizations += synchronizations
        budget.note(bytes: bytes, synchronizations: synchronizations, at: now)
    }

    /// Returns the numbers of written bytes and of synchronizations in the last 24 hours.
    mutating func day(at now: Instant) -> (bytes: Int, synchronizations: Int) { budget.day(at: now) }
}

/// The writes in the last 24 hours, by the hour, because writes wear SD cards.
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

    /// Returns the numbers of the last 24 hours.
    mutating func day(at now: Instant) -> (bytes: Int, synchronizations: Int) {
        advance(to: now)
        return (bytes.reduce(0, +), synchronizations.reduce(0, +))
    }
}
