package import BaseTypes

/// Finds out that the machine was suspended: then CLOCK_BOOTTIME has grown and CLOCK_MONOTONIC has not (rule L6).
///
/// A value: both clocks' readings go in.
package struct SuspendDetector: Sendable, Hashable {
    /// A stretch in which nothing listened.
    package struct Stretch: Sendable, Hashable {
        /// When the process last was known to run: the machine was suspended between then and ``end``.
        ///
        /// Nothing was due and nothing was heard in between, or the process would have been woken: so nothing is lost by
        /// counting all of it as not listened.
        package let start: Instant
        /// When the process ran again.
        package let end: Instant
        /// How much of it the machine was suspended.
        package let suspended: Duration
    }

    /// What is less is no suspension: the two clocks are not read at one moment, and a virtual machine can be held up
    /// between. Going to sleep and waking up takes a machine some hundred milliseconds.
    package static let shortest: Duration = .milliseconds(20)

    private var last: Instant
    private var suspended: Int64

    /// Begins at `now`, with as much suspension behind as `suspended` nanoseconds.
    package init(now: Instant, suspended: Int64) {
        last = now
        self.suspended = suspended
    }

    /// Compares with the last reading; to be asked after each wait, before anything is handled.
    ///
    /// - Parameters:
    ///   - now: CLOCK_BOOTTIME.
    ///   - reading: CLOCK_BOOTTIME minus CLOCK_MONOTONIC in nanoseconds, as `BootClock.suspended` reads it.
    /// - Returns: the stretch in which the machine was suspended, where it was.
    package mutating func check(now: Instant, suspended reading: Int64) -> Stretch? {
        defer { last = max(last, now) }
        let (growth, overflow) = reading.subtractingReportingOverflow(suspended)
        // The smallest reading is the truest: each errs only upwards.
        if overflow || growth < Self.shortest.nanoseconds {
            suspended = min(suspended, reading)
            return nil
        }
        suspended = reading
        return Stretch(start: last, end: max(last, now), suspended: .nanoseconds(growth))
    }
}
