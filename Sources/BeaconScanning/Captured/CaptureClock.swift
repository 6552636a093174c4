import BaseTypes
import BeaconMonitoring
import Synchronization

/// The clock of a capture: it advances when records have been delivered, and nothing waits for real time.
///
/// Its dates are those of the capture, so the wall clock is the timeline.
final class CaptureClock: MonitorClock {
    private let time: Mutex<Instant>

    init(_ start: Instant) { time = Mutex(start) }

    var now: Instant { time.withLock { $0 } }
    var offset: ClockOffset { .zero }

    /// Advances the clock. All records up to `instant` must have been delivered.
    func advance(to instant: Instant) { time.withLock { $0 = max($0, instant) } }

    /// Returns if the time has been reached. Otherwise it waits for cancellation, because the source handles deadlines
    /// itself.
    func sleep(until instant: Instant) async throws {
        if now >= instant { return }
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
        throw CancellationError()
    }
}
