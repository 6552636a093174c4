import BeaconMonitoring
import Synchronization

/// The steps of a script that are to be performed, one after the other; whoever adds one waits until it has been.
///
/// It is bounded by its callers, each of whom waits for a step of its own.
final class StepQueue: Sendable {
    typealias Body = @Sendable (BeaconMonitor, inout ScriptedSightings.Adapters) async throws -> Void

    struct Step: Sendable {
        let body: Body
        fileprivate let id: Int
        fileprivate let waiter: CheckedContinuation<Void, Never>

        /// Tells whoever waits that it has been performed.
        func done() { waiter.resume() }
    }

    private struct State {
        var steps: [Step] = []
        var stepsGiven = 0
        var end: Result<Void, any Error>?
        var performer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Returns when a step has been performed, or nobody will; where the task is cancelled before its turn, nobody does.
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

    /// No step comes after those that wait.
    func finish(_ end: Result<Void, any Error>) {
        let performer = state.withLock { state in
            state.end = state.end ?? end
            return state.performer.take()
        }
        performer?.resume()
    }

    /// Nobody performs any more: who waits need not.
    func close() {
        let steps = state.withLock { state in
            state.end = state.end ?? .failure(CancellationError())
            defer { state.steps = [] }
            return state.steps
        }
        for step in steps { step.done() }
    }

    /// The next step; `nil` at the script's end.
    ///
    /// - Throws: what the script ended with; `CancellationError`.
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
