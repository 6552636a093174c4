public import BaseTypes

/// A wall-clock date, in whole microseconds since 1970-01-01T00:00:00Z.
///
/// Only ever printed: nothing is decided by it (rule T1).
public struct WallDate: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public let microseconds: Int64

    /// A date that many microseconds after 1970-01-01 00:00:00 UTC; before it where negative.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The date of `instant` where the wall clock is `offset` ahead of the timeline, cut to microseconds.
    @inlinable public init(_ instant: Instant, offset: ClockOffset) {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(offset.nanoseconds)
        let nanoseconds = overflow ? .max : sum
        microseconds = nanoseconds / 1000 - (nanoseconds % 1000 < 0 ? 1 : 0)
    }

    /// The earlier date.
    public static func < (left: WallDate, right: WallDate) -> Bool { left.microseconds < right.microseconds }
}

/// How far the wall clock is ahead of the timeline, in nanoseconds (rule T1).
public struct ClockOffset: Sendable, Hashable {
    /// Wall clock minus timeline, in nanoseconds.
    public let nanoseconds: Int64
    /// An offset of that many nanoseconds, by which the wall clock is ahead of the timeline.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    /// The timeline is the wall clock, as in a replay.
    public static let zero = ClockOffset(nanoseconds: 0)
}
