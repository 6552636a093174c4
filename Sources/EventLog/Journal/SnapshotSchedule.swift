import BaseTypes

/// When a journal wants a snapshot: now and then, and where a start would have much to read without one.
struct SnapshotSchedule {
    // A start reads at most so many lines beyond the snapshot, and what was written since.
    private static let linesMax = 5000

    private let interval: Duration
    /// When the next is due.
    private(set) var due: Instant
    private var isDue = true
    /// Whether one is wanted as soon as lines weigh as much as it does.
    private var isWished = false
    /// How many octets the last one had, and lines since.
    private var size: Int
    private var octets = 0
    private var lines: Int

    /// One is due at once: it says from when on adapters count as stopped, and spares the next start the lines that this
    /// one read.
    ///
    /// - Parameters:
    ///   - interval: how long what no line tells may be known to memory alone.
    ///   - size: how many octets the last one had.
    ///   - lines: how many lines stand behind it.
    ///   - now: the present.
    init(interval: Duration, size: Int, lines: Int, at now: Instant) {
        self.interval = interval
        self.size = size
        self.lines = lines
        due = now + interval
    }

    /// Whether it is time: not before lines weigh as much as the last snapshot did, unless it is due.
    var isTime: Bool { isDue || isWished && octets >= size }

    mutating func advance(to now: Instant) {
        guard now >= due else { return }
        isDue = true
        due = now + interval
    }

    /// Lines have become durable.
    mutating func note(octets: Int, lines: Int) {
        self.octets += octets
        self.lines += lines
        if self.lines >= Self.linesMax { isWished = true }
    }

    /// A segment was closed.
    mutating func wish() { isWished = true }

    /// One is about to be kept.
    mutating func begin() { (isDue, isWished) = (false, false) }

    /// One is kept; `size` is absent where the file says what it said before.
    mutating func isKept(size: Int?) {
        (octets, lines) = (0, 0)
        if let size { self.size = size }
    }

    /// One could not be kept: it is tried again then, where nothing comes before.
    mutating func isPutOff(until time: Instant) { due = min(due, time) }
}
