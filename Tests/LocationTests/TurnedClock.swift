import BaseTypes
import BeaconMonitoring
import Synchronization

/// A clock that a test sets.
final class TurnedClock: MonitorClock {
    private struct State {
        var now = at(0)
        var given = 0
        var sleepers: [Int: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [(until: Instant, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let hands = Mutex(State())

    var now: Instant { hands.withLock { $0.now } }
    var offset: ClockOffset { .zero }

    func sleep(until instant: Instant) async throws {
        let id = hands.withLock { hands in
            hands.given += 1
            return hands.given
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = hands.withLock { hands -> Result<Void, any Error>? in
                    // If a sleep ended without an error in a canceled task, its caller would sleep again at once,
                    // without end.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if hands.now >= instant { return .success(()) }
                    hands.sleepers[id] = (instant, continuation)
                    for watcher in hands.watchers where watcher.until == instant { watcher.continuation.resume() }
                    hands.watchers.removeAll { $0.until == instant }
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            hands.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Sets the time, and wakes all tasks that sleep until then.
    func turn(to seconds: Double) {
        let due = hands.withLock { hands in
            hands.now = max(hands.now, at(seconds))
            let due = hands.sleepers.filter { $0.value.until <= hands.now }
            for id in due.keys { hands.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Returns as soon as a task sleeps until exactly that time.
    func sleeperStands(at seconds: Double) async {
        await withCheckedContinuation { continuation in
            let isThere = hands.withLock { hands in
                if hands.sleepers.values.contains(where: { $0.until == at(seconds) }) { return true }
                hands.watchers.append((at(seconds), continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
