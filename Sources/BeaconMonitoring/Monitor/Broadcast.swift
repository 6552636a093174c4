import Synchronization

/// Elements for any number of subscribers, each of whom gets all of them from when it subscribed, in order (rule N2).
///
/// All read one log, each from a place of its own; an entry leaves it when nobody who received it is still at it. A
/// subscription holds the log and not the monitor, so a subscriber keeps no discarded monitor alive.
final class Broadcast<Element: Sendable>: Sendable {
    typealias Answer = Result<Element?, MonitorError>
    typealias Waiter = CheckedContinuation<Answer, Never>

    private let state = Mutex(BroadcastLog<Element>())
    private let settlersGiven = Atomic<Int>(0)
    /// Told of each element, in order, once everybody who received it has handled it or ended, and whether all of them had
    /// taken it; called under the log's lock.
    private let handled: @Sendable (Element, Bool) -> Void

    init(handled: @escaping @Sendable (Element, Bool) -> Void = { _, _ in }) { self.handled = handled }

    /// Has the first subscriber given these first; called before anything else.
    func leave(_ elements: [Element]) { state.withLock { $0.leave(elements) } }

    /// Begins a subscription to what comes from now on, or to what of it is wanted.
    func subscribe(_ wants: (@Sendable (Element) -> Bool)? = nil) -> Int { state.withLock { $0.subscribe(wants) } }

    /// A subscription's next element: what it received before has been handled, then.
    func next(_ subscriber: Int, isolation: isolated (any Actor)?) async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (answer, settled) = state.withLock { log in
                    (log.ask(subscriber, waiter, handled), log.takeSettled())
                }
                for settler in settled { settler.resume() }
                if let answer { waiter.resume(returning: answer) }
            }
        } onCancel: {
            end(subscriber)
        }
    }

    /// Ends a subscription; who still waits on it gets `nil`.
    func end(_ subscriber: Int) {
        let (waiters, settled) = state.withLock { ($0.end(subscriber, handled), $0.takeSettled()) }
        for settler in settled { settler.resume() }
        for waiter in waiters { waiter.resume(returning: .success(nil)) }
    }

    /// Returns when at most `most` elements wait for somebody, when nothing more comes, and when the task is cancelled: for
    /// who can hold back what comes.
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

    /// Ends all subscriptions, each after what still waits for it; each is told why, once, where there is a reason.
    func finish(_ failure: MonitorError? = nil) {
        let (waiters, settled) = state.withLock { ($0.finish(failure, handled), $0.takeSettled()) }
        for settler in settled { settler.resume() }
        for waiter in waiters {
            waiter.resume(returning: failure.map { .failure($0) } ?? .success(nil))
        }
    }

    func publish(_ element: Element) {
        for waiter in state.withLock({ $0.publish(element, handled) }) { waiter.resume(returning: .success(element)) }
    }

    /// How many subscribers were ended because they were too slow.
    var slowSubscribers: Int { state.withLock { $0.slowSubscribers } }
    /// How many subscriptions there are.
    var subscribers: Int { state.withLock { $0.subscribers.count } }
    /// How many elements somebody is still to handle.
    var unhandled: Int { state.withLock { $0.unhandled } }
}

/// A place among a broadcast's subscribers, given up with the last iterator that has it.
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
