public import BaseTypes
public import BeaconMonitoring
import Glibc

/// The machine's own clocks: the timeline is CLOCK_BOOTTIME, the wall clock CLOCK_REALTIME (rule T1).
///
/// CLOCK_BOOTTIME goes on while the machine is suspended and never steps, as the wall clock does when it is first set.
public struct SystemMonitorClock: MonitorClock {
    /// A timer of the runtime's takes no more than this in one go, whatever the clocks' bounds are.
    private static let sleepMax: Duration = .seconds(86_400)

    /// A clock that reads the machine's own: one is as good as another.
    public init() {}

    /// Always: its time is the present, so what is silent may be deaf (rule L5).
    public var isLive: Bool { true }

    /// Nanoseconds since the machine started, time suspended included.
    public var now: Instant { Instant(nanoseconds: Self.read(CLOCK_BOOTTIME)) }

    /// The wall clock minus the timeline, exact to half the time that reading both takes.
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
        // It can't fail: both clocks are in every kernel since 2.6.39, and the memory is ours.
        var time = timespec()
        unsafe _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
