import BaseTypes
import BeaconMonitoring
import Synchronization

/// A queue of a provider's outputs for a monitor and a feed.
///
/// Bounded: if there are more than ``outputsMax`` elements, the oldest is dropped and counted. A receiver delivers one
/// fix per second.
final class LocationMailbox: Sendable {
    static let outputsMax = 1024

    private struct State {
        var outputs: [LocationOutput] = []
        var dropped = 0
        /// The waiting tasks by their numbers. Each element is delivered to one of them.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var given = 0
        /// Whether no more elements follow.
        var isEnded = false
    }

    private let state = Mutex(State())

    var dropped: Int { state.withLock { $0.dropped } }

    /// The number of waiting tasks.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    func put(_ output: LocationOutput) {
        let waiters = state.withLock { state in
            if state.outputs.count == Self.outputsMax {
                state.outputs.removeFirst()
                state.dropped += 1
            }
            state.outputs.append(output)
            return Self.takeWaiters(&state)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Delivers all elements in one call on the monitor, so that a drain is complete when the queue is empty.
    func hand(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) {
        LocationOutput.report(takeAll(), on: clock, to: monitor, feed)
    }

    private func takeAll() -> [LocationOutput] {
        state.withLock { state in
            let outputs = state.outputs
            state.outputs = []
            return outputs
        }
    }

    private static func takeWaiters(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        defer { state.waiters = [:] }
        return Array(state.waiters.values)
    }

    /// Delivers elements until the end of the queue or a cancellation.
    func deliver(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async {
        let id = state.withLock { state in
            state.given += 1
            return state.given
        }
        await withTaskCancellationHandler {
            while await waits(id), !Task.isCancelled {
                if let monitor {
                    await hand(on: clock, to: monitor, feed)
                } else {
                    LocationOutput.report(takeAll(), on: clock, feed)
                }
            }
        } onCancel: {
            // Another task can wait for the same element.
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// Ends the queue.
    func end() {
        let waiters = state.withLock { state in
            state.isEnded = true
            return Self.takeWaiters(&state)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for an element.
    ///
    /// - Returns: `false` if no more elements follow, or the task was cancelled.
    private func waits(_ id: Int) async -> Bool {
        while true {
            let isOver = state.withLock { state -> Bool? in
                if !state.outputs.isEmpty { return false }
                return state.isEnded || Task.isCancelled ? true : nil
            }
            if let isOver { return !isOver }
            await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
                let isDue = state.withLock { state in
                    if !state.outputs.isEmpty || state.isEnded || Task.isCancelled { return true }
                    state.waiters[id] = waiter
                    return false
                }
                if isDue { waiter.resume() }
            }
        }
    }
}
