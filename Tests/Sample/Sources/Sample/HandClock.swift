import BeaconMonitoring
import BluetoothLE
import Synchronization

/// A clock that the program turns itself: nobody waits for time to go by.
final class HandClock: MonitorClock {
    private struct Hands {
        var now = Instant(nanoseconds: 1_000_000_000_000)
        var given = 0
        var sleepers: [Int: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var cancelled: Set<Int> = []
    }

    private let hands = Mutex(Hands())

    var now: Instant { hands.withLock { $0.now } }
    var offset: ClockOffset { .zero }

    /// Turns the hands, and wakes who slept until then.
    func advance(by duration: Duration) {
        let due = hands.withLock { hands in
            hands.now = hands.now + duration
            let due = hands.sleepers.filter { $0.value.until <= hands.now }
            for id in due.keys { hands.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    func sleep(until instant: Instant) async throws {
        let id = hands.withLock {
            $0.given += 1
            return $0.given
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = hands.withLock { hands in
                    if hands.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if hands.now >= instant { return .success(()) }
                    hands.sleepers[id] = (instant, continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let continuation = hands.withLock { hands -> CheckedContinuation<Void, any Error>? in
                guard let sleeper = hands.sleepers.removeValue(forKey: id) else {
                    hands.cancelled.insert(id)
                    return nil
                }
                return sleeper.continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
    }
}
