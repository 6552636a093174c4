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

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var offset: ClockOffset { .zero }

    func sleep(until instant: Instant) async throws {
        let id = state.withLock { state in
            state.given += 1
            return state.given
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    // If a sleep ended without an error in a canceled task, its caller would sleep again at once,
                    // without end.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.now >= instant { return .success(()) }
                    state.sleepers[id] = (instant, continuation)
                    for watcher in state.watchers where watcher.until == instant { watcher.continuation.resume() }
                    state.watchers.removeAll { $0.until == instant }
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Sets the time, and wakes all tasks that sleep until then.
    func turn(to seconds: Double) {
        let due = state.withLock { state in
            state.now = max(state.now, at(seconds))
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Returns as soon as a task sleeps until exactly that time.
    func sleeperStands(at seconds: Double) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.values.contains(where: { $0.until == at(seconds) }) { return true }
                state.watchers.append((at(seconds), continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
