import Synchronization

/// Wakes the waiting task, or the next one that waits. Several signals before that count as one.
final class Signal: Sendable {
    private enum State {
        case idle
        case raised
        case awaited(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.idle)

    func raise() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .awaited(let waiter) = state else {
                state = .raised
                return nil
            }
            state = .idle
            return waiter
        }
        waiter?.resume()
    }

    /// Returns at the next signal, or when the task is cancelled.
    ///
    /// At most one task can wait at a time. A cancellation can leave a signal raised, which only causes the next call
    /// to return once without a reason.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let former = state.withLock { state -> CheckedContinuation<Void, Never>? in
                    switch state {
                    case .idle:
                        state = .awaited(waiter)
                        return nil
                    case .raised:
                        state = .idle
                        return waiter
                    case .awaited(let former):
                        state = .awaited(waiter)
                        return former
                    }
                }
                former?.resume()
            }
        } onCancel: {
            raise()
        }
    }
}
