package import BaseTypes

/// Detects that the machine was suspended: then CLOCK_BOOTTIME has advanced and CLOCK_MONOTONIC has not (rule L6).
///
/// A value without side effects: the readings of both clocks are passed in.
package struct SuspendDetector: Sendable, Hashable {
    /// A period in which no adapter scanned.
    package struct Stretch: Sendable, Hashable {
        /// When the process was last known to run. The machine was suspended between then and ``end``.
        ///
        /// No deadline and no report was in between, because either would have woken the process. So nothing is lost if
        /// the whole period counts as not scanned.
        package let start: Instant
        /// When the process ran again.
        package let end: Instant
        /// How long the machine was suspended in this period.
        package let suspended: Duration
    }

    /// A shorter difference is not a suspension: the two clocks are not read at the same time, and a virtual machine
    /// may be delayed in between. To suspend and resume, a machine needs several hundred milliseconds.
    package static let shortest: Duration = .milliseconds(20)

    private var last: Instant
    private var suspended: Int64

    /// Starts at `now`, with `suspended` nanoseconds of earlier suspensions.
    package init(now: Instant, suspended: Int64) {
        last = now
        self.suspended = suspended
    }

    /// Compares the clocks with the last reading. It must be called after each wait, before anything is handled.
    ///
    /// - Parameters:
    ///   - now: CLOCK_BOOTTIME.
    ///   - reading: CLOCK_BOOTTIME minus CLOCK_MONOTONIC in nanoseconds, as `BootClock.suspended` reads it.
    /// - Returns: the period in which the machine was suspended, if it was.
    package mutating func check(now: Instant, suspended reading: Int64) -> Stretch? {
        defer { last = max(last, now) }
        let (growth, overflow) = reading.subtractingReportingOverflow(suspended)
        // The smallest reading is the most accurate, because each reading can only be too large.
        if overflow || growth < Self.shortest.nanoseconds {
            suspended = min(suspended, reading)
            return nil
        }
        suspended = reading
        return Stretch(start: last, end: max(last, now), suspended: .nanoseconds(growth))
    }
}
