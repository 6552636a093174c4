public import BaseTypes

/// The clock of a monitor: its timeline, the wall clock, and a way to sleep.
///
/// The core does not read a clock directly, so a test can move a clock of its own and never sleeps.
public protocol MonitorClock: Sendable {
    /// The current time on the timeline (rule T1). It must never decrease.
    var now: Instant { get }
    /// How far the wall clock is ahead of the timeline now.
    var offset: ClockOffset { get }
    /// Whether it is the clock of the machine. A monitor with a live clock has the settings ``EngineSettings/live`` by
    /// default.
    ///
    /// `false` by default, for clocks of tests and captures.
    var isLive: Bool { get }
    /// Returns when ``now`` has reached `instant`; immediately if it has already. It may return later (rule T4).
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until instant: Instant) async throws
}

extension MonitorClock {
    /// `false`, for clocks of tests and captures.
    public var isLive: Bool { false }
}
