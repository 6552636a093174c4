import BaseTypes
import EventLoops

/// Limits the number of records and bytes that are read from a source in 100 ms. The rest is read later.
///
/// So a source that sends without a pause costs little, and other sources are read on time.
struct ReadingPace: Sendable {
    /// The maximum number of records in an interval.
    static let recordsMax = EventLoop.recordsPerTurn
    /// The approximate maximum number of bytes in an interval: the buffer that reaches it is still processed.
    static let bytesMax = 128 << 10
    /// The length of an interval.
    static let stretch: Duration = .milliseconds(100)
    /// A source that fills this many consecutive intervals sends too much.
    static let floodMin = 100

    /// The number of records that may still be read in the current interval.
    private(set) var recordsLeft = Self.recordsMax
    private var bytesLeft = Self.bytesMax
    private var begin = Instant.earliest
    private var fullStretches = 0

    /// The time at which reading continues; `nil` if it may continue now.
    var end: Instant? { recordsLeft > 0 && bytesLeft > 0 ? nil : begin + Self.stretch }

    /// Starts the next interval if the current one has ended.
    mutating func advance(to now: Instant) {
        guard now >= begin + Self.stretch else { return }
        if end == nil { fullStretches = 0 }
        (begin, recordsLeft, bytesLeft) = (now, Self.recordsMax, Self.bytesMax)
    }

    /// Counts records and bytes.
    ///
    /// - Returns: whether the source has filled ``floodMin`` intervals.
    mutating func take(records: Int, bytes: Int) -> Bool {
        recordsLeft = max(recordsLeft - records, 0)
        bytesLeft = max(bytesLeft - bytes, 0)
        guard end != nil else { return false }
        fullStretches += 1
        return fullStretches >= Self.floodMin
    }
}
