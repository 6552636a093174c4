import Synchronization

/// Delivers elements to any number of subscribers. Each receives all elements since its subscription, in order (rule
/// N2).
///
/// All subscribers read one log, each at its own position. An entry is removed when every subscriber that received it
/// has handled it. A subscription refers to the log and not to the monitor, so it does not keep a discarded monitor
/// alive.
final class Broadcast<Element: Sendable>: Sendable {
    typealias Answer = Result<Element?, MonitorError>
    typealias Waiter = CheckedContinuation<Answer, Never>

    private let state = Mutex(BroadcastLog<Element>())
    private let settlersGiven = Atomic<Int>(0)
    /// Called for each element, in order, when every subscriber that received it has handled it or ended. The second
    /// argument is whether all of them had taken it. It is called under the lock of the log.
    private let handled: @Sendable (Element, Bool) -> Void
    /// Called after subscribers can have handled elements, outside the lock.
    private let pass: @Sendable () -> Void
    private let runState: RunState?

    init(
        _ runState: RunState? = nil, handled: @escaping @Sendable (Element, Bool) -> Void = { _, _ in },
        pass: @escaping @Sendable () -> Void = {}
    ) {
        self.runState = runState
        self.handled = handled
        self.pass = pass
    }

    /// Sets elements that the first subscriber receives before all others. It must be called before anything else.
    func leave(_ elements: [Element]) { state.withLock { $0.leave(elements) } }

    /// Creates a subscription to later elements, or to those for which `wants` returns true.
    func subscribe(_ wants: (@Sendable (Element) -> Bool)? = nil) -> Int { state.withLock { $0.subscribe(wants) } }

    /// Returns the next element for a subscription, and marks the previous one as handled.
    func next(_ subscriber: Int, isolation: isolated (any Actor)?) async -> Answer {
        guard let runState else { return await wait(subscriber, isolation: isolation) }
        return await runState.check { await wait(subscriber, isolation: isolation) }
    }

    private func wait(_ subscriber: Int, isolation: isolated (any Actor)?) async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (answer, settlers) = state.withLock { log in
                    (log.ask(subscriber, waiter, handled), log.takeSettled())
                }
                pass()
                for settler in settlers { settler.resume() }
                if let answer { waiter.resume(returning: answer) }
            }
        } onCancel: {
            end(subscriber)
        }
    }

    /// Ends a subscription. Tasks that wait for it get `nil`.
    func end(_ subscriber: Int) {
        let (waiters, settlers) = state.withLock { ($0.end(subscriber, handled), $0.takeSettled()) }
        pass()
        for settler in settlers { settler.resume() }
        for waiter in waiters { waiter.resume(returning: .success(nil)) }
    }

    /// Returns when at most `most` elements wait for a subscriber, when no more elements follow, and when the task is
    /// cancelled. A producer that can pause uses it.
    func settled(to most: Int) async {
        let id = settlersGiven.wrappingAdd(1, ordering: .relaxed).newValue
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { Task.isCancelled || $0.settle(id, to: most, continuation) }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            for settler in state.withLock({ $0.takeSettled(cancelled: id) }) { settler.resume() }
        }
    }

    /// Ends all subscriptions after their waiting elements. If there is an error, each of them throws it once.
    func finish(_ failure: MonitorError? = nil) {
        let (waiters, settlers) = state.withLock { ($0.finish(failure, handled), $0.takeSettled()) }
        pass()
        for settler in settlers { settler.resume() }
        for waiter in waiters {
            waiter.resume(returning: failure.map { .failure($0) } ?? .success(nil))
        }
    }

    /// Delivers an element. It is handled at once if there is no subscriber.
    func publish(_ element: Element) {
        for waiter in state.withLock({ $0.publish(element, handled) }) { waiter.resume(returning: .success(element)) }
    }

    /// The number of subscribers that were ended because they were too slow.
    var slowSubscribers: Int { state.withLock { $0.slowSubscribers } }
    /// The number of subscriptions.
    var subscribers: Int { state.withLock { $0.subscribers.count } }
    /// The number of elements that a subscriber has not handled yet.
    var unhandled: Int { state.withLock { $0.unhandled } }
}

/// A subscription to a broadcast, which ends with the last iterator that has it.
final class BroadcastPlace<Element: Sendable>: Sendable {
    private let broadcast: Broadcast<Element>
    private let id: Int

    init(_ broadcast: Broadcast<Element>, wants: (@Sendable (Element) -> Bool)? = nil) {
        self.broadcast = broadcast
        id = broadcast.subscribe(wants)
    }

    func next(isolation actor: isolated (any Actor)?) async throws(MonitorError) -> Element? {
        try await broadcast.next(id, isolation: actor).get()
    }

    deinit { broadcast.end(id) }
}
