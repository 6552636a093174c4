import BaseTypes

/// Decides when a journal takes a snapshot: at intervals, and if a start would otherwise have to read many lines.
struct SnapshotSchedule {
    // After this many lines a snapshot is requested. A start reads these lines, and those written until it is stored.
    private static let linesMax = 5000

    private let interval: Duration
    /// The time at which the next snapshot is due.
    private(set) var due: Instant
    private var isDue = true
    /// Whether a snapshot is taken as soon as the lines since the last one are as large as that snapshot.
    private var isRequested = false
    /// The size of the last snapshot in bytes, then the bytes and the number of the lines since.
    private var size: Int
    private var bytes = 0
    private var lines: Int

    /// Creates a schedule with a snapshot due at once. It stores from which time adapters count as stopped, and the
    /// next start does not have to read the same lines again.
    ///
    /// - Parameters:
    ///   - interval: the longest time that facts which no line contains stay in memory only.
    ///   - size: the size of the last snapshot in bytes.
    ///   - lines: the number of lines after it.
    ///   - now: the time.
    init(interval: Duration, size: Int, lines: Int, at now: Instant) {
        self.interval = interval
        self.size = size
        self.lines = lines
        due = now + interval
    }

    /// Whether a snapshot must be taken now: if it is due, or if one was requested (after a closed file or many lines)
    /// and the lines are at least as large as the last snapshot.
    var isTime: Bool { isDue || isRequested && bytes >= size }

    mutating func advance(to now: Instant) {
        guard now >= due else { return }
        isDue = true
        due = now + interval
    }

    /// Notes bytes and lines that became durable.
    mutating func note(bytes: Int, lines: Int) {
        self.bytes += bytes
        self.lines += lines
        if self.lines >= Self.linesMax { isRequested = true }
    }

    /// Requests a snapshot, because an event file was closed.
    mutating func requestSnapshot() { isRequested = true }

    /// Notes that a snapshot is about to be stored.
    mutating func begin() { (isDue, isRequested) = (false, false) }

    /// Notes that a snapshot was stored; `size` is `nil` if its content is the same as before.
    mutating func isKept(size: Int?) {
        (bytes, lines) = (0, 0)
        if let size { self.size = size }
    }

    /// Notes that a snapshot could not be stored. It is tried again at that time at the latest.
    mutating func postpone(until time: Instant) { due = min(due, time) }
}
