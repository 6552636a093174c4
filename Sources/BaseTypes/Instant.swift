/// A point on the one timeline that everything here is dated by, in nanoseconds.
///
/// Live it is CLOCK_BOOTTIME (nanoseconds since the machine started), in a replay the capture's own stamps
/// (nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted). It never is a wall clock that can step.
///
/// Bounds: ``earliest`` … ``latest``. Between them no sum or difference with a duration of at most a year overflows.
public struct Instant: Sendable, Hashable, Comparable {
    /// Nanoseconds since the timeline's beginning, 0 … 9·10¹⁸; less than 0 only where `init(remembered:)` made it.
    public let nanoseconds: Int64

    /// Makes an instant, moved to the nearest bound where `nanoseconds` lies outside of them.
    @inlinable public init(nanoseconds: Int64) {
        self.nanoseconds = min(max(nanoseconds, 0), 9_000_000_000_000_000_000)
    }

    /// An instant that may lie before the timeline's beginning, −9·10¹⁸ … 9·10¹⁸: what is remembered from before this
    /// start of the machine, as far as it can be placed. Nothing is ever due at one; it is only printed.
    package init(remembered nanoseconds: Int64) {
        self.nanoseconds = min(max(nanoseconds, -9_000_000_000_000_000_000), 9_000_000_000_000_000_000)
    }

    /// The timeline's beginning.
    public static let earliest = Instant(nanoseconds: 0)

    /// The year 2255, or 285 years of uptime.
    public static let latest = Instant(nanoseconds: .max)

    /// The earlier is the less.
    @inlinable public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant `duration` after this one, moved to the nearest bound where it would pass it.
    public static func + (left: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = left.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return overflow ? (duration.nanoseconds < 0 ? .earliest : .latest) : Instant(nanoseconds: sum)
    }

    /// The instant `duration` before this one, moved to the nearest bound where it would pass it.
    public static func - (left: Instant, duration: Duration) -> Instant {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(duration.nanoseconds)
        return overflow ? (duration.nanoseconds < 0 ? .latest : .earliest) : Instant(nanoseconds: difference)
    }

    /// The time from `right` to `left`; negative where `left` is the earlier.
    public static func - (left: Instant, right: Instant) -> Duration {
        // One of them may be remembered from before the beginning: `Duration` has room for what lies between.
        .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
    }
}

extension Duration {
    /// Whole nanoseconds, what is finer cut off; moved to the bounds of `Int64` (292 years).
    public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowed) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowed ? (seconds < 0 ? .min : .max) : sum
    }
}
