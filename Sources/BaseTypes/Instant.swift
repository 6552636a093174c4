/// A point in time in nanoseconds, on the one timeline of a program.
///
/// Live, the timeline is CLOCK_BOOTTIME: nanoseconds since the machine started, including the time in which it was
/// suspended. In a replay, it is the time stamps of the capture: nanoseconds since 1970-01-01T00:00:00Z, without leap
/// seconds. It is never a wall clock, because a wall clock can step.
///
/// Bounds: ``earliest`` … ``latest``. Between them, the sum or difference of an instant and a duration of at most one
/// year does not overflow.
///
///     let start = Instant(nanoseconds: 1_000_000_000_000)
///     let later = start + .seconds(30)
///     #expect(later - start == .seconds(30))
public struct Instant: Sendable, Hashable, Comparable {
    /// Nanoseconds since the start of the timeline, 0 … 9·10¹⁸. Less than 0 only after `init(remembered:)`.
    public let nanoseconds: Int64

    /// Creates an instant. A value outside the bounds is moved to the nearest bound.
    @inlinable public init(nanoseconds: Int64) {
        self.nanoseconds = min(max(nanoseconds, 0), 9_000_000_000_000_000_000)
    }

    /// Creates an instant that can be before the start of the timeline, −9·10¹⁸ … 9·10¹⁸ ns.
    ///
    /// For times that were recorded before the machine restarted, if their distance to now is known. Such an instant is
    /// only printed; no deadline is computed from it.
    package init(remembered nanoseconds: Int64) {
        self.nanoseconds = min(max(nanoseconds, -9_000_000_000_000_000_000), 9_000_000_000_000_000_000)
    }

    /// The start of the timeline, 0 ns.
    public static let earliest = Instant(nanoseconds: 0)

    /// The last instant, 9·10¹⁸ ns: the year 2255 in a replay, or 285 years of uptime.
    public static let latest = Instant(nanoseconds: .max)

    /// Returns whether `left` is earlier than `right`.
    @inlinable public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the instant `duration` after this one. A result outside the bounds is moved to the nearest bound.
    public static func + (left: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = left.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return overflow ? (duration.nanoseconds < 0 ? .earliest : .latest) : Instant(nanoseconds: sum)
    }

    /// Returns the instant `duration` before this one. A result outside the bounds is moved to the nearest bound.
    public static func - (left: Instant, duration: Duration) -> Instant {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(duration.nanoseconds)
        return overflow ? (duration.nanoseconds < 0 ? .latest : .earliest) : Instant(nanoseconds: difference)
    }

    /// Returns the time from `right` to `left`; negative if `left` is earlier.
    public static func - (left: Instant, right: Instant) -> Duration {
        // Either instant can be before the start of the timeline, so that the difference can be larger than `Int64`.
        // `Duration` cannot overflow here.
        .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
    }
}

extension Duration {
    /// The duration in whole nanoseconds. Fractions are cut off, and values outside `Int64` (292 years) are moved to
    /// its bounds.
    public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowed) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowed ? (seconds < 0 ? .min : .max) : sum
    }
}
