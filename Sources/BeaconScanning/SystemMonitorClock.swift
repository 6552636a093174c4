public import BaseTypes
public import BeaconMonitoring
import Glibc

/// The clocks of the machine: the timeline is CLOCK_BOOTTIME, and the wall clock is CLOCK_REALTIME (rule T1).
///
/// CLOCK_BOOTTIME continues while the machine is suspended, and never steps. The wall clock can step.
public struct SystemMonitorClock: MonitorClock {
    /// The longest sleep at once, independent of the bounds of the clocks.
    private static let sleepMax: Duration = .seconds(86_400)

    /// Creates a clock. All instances show the same times.
    public init() {}

    /// Always `true`, because its time is the present, so an adapter without reports can count as not scanning (rule
    /// L5).
    public var isLive: Bool { true }

    /// Nanoseconds since the machine started, including suspended time.
    public var now: Instant { Instant(nanoseconds: Self.read(CLOCK_BOOTTIME)) }

    /// The wall clock minus the timeline. The error is at most half of the time that reading both takes.
    public var offset: ClockOffset {
        let before = Self.read(CLOCK_BOOTTIME)
        let wall = Self.read(CLOCK_REALTIME)
        let after = Self.read(CLOCK_BOOTTIME)
        return ClockOffset(nanoseconds: wall &- (before &+ (after &- before) / 2))
    }

    /// Returns when the timeline has reached `instant`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(until instant: Instant) async throws {
        try Task.checkCancellation()
        var left = instant - now
        while left > .zero {
            try await ContinuousClock().sleep(for: min(left, Self.sleepMax))
            left = instant - now
        }
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        // It cannot fail: both clocks exist since Linux 2.6.39, and the pointer is valid.
        var time = timespec()
        unsafe _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
