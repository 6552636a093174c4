import BeaconMonitoring
import Synchronization

/// The steps of a script in their order. A task that adds a step waits until it has been performed.
///
/// Each caller waits for its own step, so the number of callers is the bound of the queue.
final class StepQueue: Sendable {
    typealias Body = @Sendable (BeaconMonitor, inout ScriptedSightings.Adapters) async throws -> Void

    struct Step: Sendable {
        let body: Body
        fileprivate let id: Int
        fileprivate let waiter: CheckedContinuation<Void, Never>

        /// Resumes the task that waits for this step.
        func done() { waiter.resume() }
    }

    private struct State {
        var steps: [Step] = []
        var stepsGiven = 0
        var end: Result<Void, any Error>?
        var performer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Returns when the step has been performed, or when the queue ends before that. If the task is cancelled before
    /// the step is performed, the step is removed.
    func perform(_ body: @escaping Body) async {
        let id = state.withLock { state in
            state.stepsGiven += 1
            return state.stepsGiven
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (performer, isOver) = state.withLock { state in
                    guard state.end == nil, !Task.isCancelled else {
                        return (nil as CheckedContinuation<Void, Never>?, true)
                    }
                    state.steps.append(Step(body: body, id: id, waiter: waiter))
                    return (state.performer.take(), false)
                }
                performer?.resume()
                if isOver { waiter.resume() }
            }
        } onCancel: {
            let step = state.withLock { state in
                state.steps.firstIndex { $0.id == id }.map { state.steps.remove(at: $0) }
            }
            step?.done()
        }
    }

    /// Ends the queue after the steps that already wait.
    func finish(_ end: Result<Void, any Error>) {
        let performer = state.withLock { state in
            state.end = state.end ?? end
            return state.performer.take()
        }
        performer?.resume()
    }

    /// Ends the queue at once and resumes all tasks that wait. Their steps are not performed.
    func close() {
        let steps = state.withLock { state in
            state.end = state.end ?? .failure(CancellationError())
            defer { state.steps = [] }
            return state.steps
        }
        for step in steps { step.done() }
    }

    /// Returns the next step, and waits for one if there is none; `nil` after the last step of a finished script.
    ///
    /// - Throws: the error with which the script ended; `CancellationError`.
    func next() async throws -> Step? {
        while true {
            try Task.checkCancellation()
            let (step, end) = state.withLock { state in
                (state.steps.isEmpty ? nil : state.steps.removeFirst(), state.end)
            }
            if let step { return step }
            if let end {
                try end.get()
                return nil
            }
            await wait()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if Task.isCancelled || !state.steps.isEmpty || state.end != nil { return true }
                    state.performer = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.performer.take() }?.resume()
        }
    }
}
