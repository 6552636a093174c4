import BaseTypes
import BeaconMonitoring
import Synchronization

/// A recording's own time: it goes on as records are handed over, and nobody waits for it.
///
/// Its dates are the recording's, so the wall clock is the timeline itself.
final class CaptureClock: MonitorClock {
    private let time: Mutex<Instant>

    init(_ start: Instant) { time = Mutex(start) }

    var now: Instant { time.withLock { $0 } }
    var offset: ClockOffset { .zero }

    /// Records up to `instant` have been handed over.
    func advance(to instant: Instant) { time.withLock { $0 = max($0, instant) } }

    /// Returns where the time has come already; else whoever hands over records does what is due, and this waits for being
    /// cancelled.
    func sleep(until instant: Instant) async throws {
        if now >= instant { return }
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
        throw CancellationError()
    }
}
