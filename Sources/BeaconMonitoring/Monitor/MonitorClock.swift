public import BaseTypes

/// Where a monitor takes its time from, and how it waits: the seam to the machine's clocks.
///
/// The core reads no clock itself, so a test turns the hands of one of its own and never sleeps.
public protocol MonitorClock: Sendable {
    /// The timeline's present (rule T1); never less than what it was before.
    var now: Instant { get }
    /// How far the wall clock is ahead of the timeline at this moment.
    var offset: ClockOffset { get }
    /// Whether it is the machine's: a monitor on it is live, and has ``EngineSettings/live`` unless told otherwise.
    ///
    /// `false` unless implemented: a test's clock and a capture's are not.
    var isLive: Bool { get }
    /// Returns when ``now`` has reached `instant`, at once where it has already; late is allowed (rule T4).
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until instant: Instant) async throws
}

extension MonitorClock {
    /// `false`: a test's clock, or a capture's.
    public var isLive: Bool { false }
}
