import Synchronization

/// A value that changes, for any number of asynchronous readers: each gets what it is now, and then each time what it has
/// become. Who is slow is given the newest; what lay between is of no use any more.
final class LatestValue<Value: Sendable & Equatable>: Sendable {
    /// An answer: a value, and how new it is.
    typealias Answer = (value: Value, version: Int)
    private typealias Waiter = CheckedContinuation<Answer?, Never>

    private struct State {
        var value: Value
        var version = 1
        var isFinished = false
        var given = 0
        var readers: [Int: [Waiter]] = [:]

        /// Those who wait; they wait no more.
        mutating func takeWaiters() -> [Waiter] {
            let waiters = readers.values.flatMap(\.self)
            for reader in readers.keys { readers[reader] = [] }
            return waiters
        }
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    /// Takes what it has become; the same is no change.
    func set(_ value: Value) {
        let (waiters, answer) = state.withLock { state -> ([Waiter], Answer) in
            guard state.value != value, !state.isFinished else { return ([], (value, 0)) }
            state.value = value
            state.version += 1
            return (state.takeWaiters(), (value, state.version))
        }
        for waiter in waiters { waiter.resume(returning: answer) }
    }

    /// Ends all reading; who has not had the present value still gets it.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    /// Begins reading.
    func subscribe() -> Int {
        state.withLock { state in
            state.given += 1
            state.readers[state.given] = []
            return state.given
        }
    }

    /// Ends a reader; where it waits it gets `nil`.
    func end(_ reader: Int) {
        for waiter in state.withLock({ $0.readers.removeValue(forKey: reader) ?? [] }) { waiter.resume(returning: nil) }
    }

    /// The value as soon as it is newer than `version`; `nil` at the end, and when cancelled.
    func next(_ reader: Int, after version: Int, isolation: isolated (any Actor)?) async -> Answer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (answersNow, answer) = state.withLock { state -> (Bool, Answer?) in
                    guard state.readers[reader] != nil else { return (true, nil) }
                    if state.version > version { return (true, (state.value, state.version)) }
                    if state.isFinished { return (true, nil) }
                    state.readers[reader]?.append(waiter)
                    return (false, nil)
                }
                if answersNow { waiter.resume(returning: answer) }
            }
        } onCancel: {
            end(reader)
        }
    }
}

/// A place among a value's readers, given up with the last iterator that has it.
final class LatestReader<Value: Sendable & Equatable>: Sendable {
    let source: LatestValue<Value>
    let id: Int

    init(_ source: LatestValue<Value>) {
        self.source = source
        id = source.subscribe()
    }

    deinit { source.end(id) }
}
