import BaseTypes
import EventLoops

/// The number of records, and of bytes, that are read from a source in 100 ms. The rest is read after them.
///
/// So a source that sends without a pause costs little, and other sources are read on time.
struct ReadingPace: Sendable {
    /// How many records are read in a stretch.
    static let recordsMax = EventLoop.recordsPerTurn
    /// How many bytes are read in a stretch, about: the buffer that reaches it is still read.
    static let bytesMax = 128 << 10
    /// How long a stretch is.
    static let stretch: Duration = .milliseconds(100)
    /// A source that fills so many stretches, one after the other, sends too much.
    static let floodMin = 100

    /// How many records may still be read in the present stretch.
    private(set) var recordsLeft = Self.recordsMax
    private var bytesLeft = Self.bytesMax
    private var begin = Instant.earliest
    private var fullStretches = 0

    /// When reading continues; `nil` if something may be read now.
    var end: Instant? { recordsLeft > 0 && bytesLeft > 0 ? nil : begin + Self.stretch }

    /// Starts the next stretch if the present one is over.
    mutating func advance(to now: Instant) {
        guard now >= begin + Self.stretch else { return }
        if end == nil { fullStretches = 0 }
        (begin, recordsLeft, bytesLeft) = (now, Self.recordsMax, Self.bytesMax)
    }

    /// Counts what was read.
    ///
    /// - Returns: whether the source has filled ``floodMin`` stretches.
    mutating func take(records: Int, bytes: Int) -> Bool {
        recordsLeft = max(recordsLeft - records, 0)
        bytesLeft = max(bytesLeft - bytes, 0)
        guard end != nil else { return false }
        fullStretches += 1
        return fullStretches >= Self.floodMin
    }
}
