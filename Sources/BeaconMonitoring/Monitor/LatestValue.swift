import Synchronization

/// A value for any number of asynchronous readers. Each receives the current value and then each change. A slow reader
/// receives only the newest value.
final class LatestValue<Value: Sendable & Equatable>: Sendable {
    /// A value with its version.
    typealias Answer = (value: Value, version: Int)
    private typealias Waiter = CheckedContinuation<Answer?, Never>

    private struct State {
        var value: Value
        var version = 1
        var isFinished = false
        var given = 0
        var readers: [Int: [Waiter]] = [:]

        /// Returns and removes the waiting readers.
        mutating func takeWaiters() -> [Waiter] {
            let waiters = readers.values.flatMap(\.self)
            for reader in readers.keys { readers[reader] = [] }
            return waiters
        }
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    /// Changes the value. An equal value is not a change.
    func set(_ value: Value) {
        let (waiters, answer) = state.withLock { state -> ([Waiter], Answer) in
            guard state.value != value, !state.isFinished else { return ([], (value, 0)) }
            state.value = value
            state.version += 1
            return (state.takeWaiters(), (value, state.version))
        }
        for waiter in waiters { waiter.resume(returning: answer) }
    }

    /// Ends all reading. Readers that have not received the current value still get it.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    /// Adds a reader.
    func subscribe() -> Int {
        state.withLock { state in
            state.given += 1
            state.readers[state.given] = []
            return state.given
        }
    }

    /// Removes a reader. Its waiting tasks get `nil`.
    func end(_ reader: Int) {
        for waiter in state.withLock({ $0.readers.removeValue(forKey: reader) ?? [] }) { waiter.resume(returning: nil) }
    }

    /// Returns the value as soon as it is newer than `version`; `nil` after the end or a cancellation.
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

/// A reader of a value, which ends with the last iterator that has it.
final class LatestReader<Value: Sendable & Equatable>: Sendable {
    let source: LatestValue<Value>
    let id: Int

    init(_ source: LatestValue<Value>) {
        self.source = source
        id = source.subscribe()
    }

    deinit { source.end(id) }
}
