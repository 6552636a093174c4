import BluetoothLE
import Synchronization

/// Where a monitor's events wait for its subscribers, and its records for the events to have been handled.
///
/// All subscribers read one log, each from a place of its own; an entry leaves it, and becomes its record's last event,
/// when nobody who received it is still at it (rule N3). A subscription holds the hub and not the monitor, so a
/// subscriber keeps no discarded monitor alive.
final class EventHub: Sendable {
    typealias Answer = Result<Event?, MonitorError>
    typealias Waiter = CheckedContinuation<Answer, Never>

    /// A subscriber for whom so many events wait is ended (rule N2): the bound of the log.
    static let backlogMax = 65_536

    private let state = Mutex(HubState())

    /// Begins a subscription; it gets every event from now on.
    func subscribe() -> Int { state.withLock { $0.subscribe() } }

    /// A subscription's next event: what it received before has been handled, then.
    func next(_ subscriber: Int, isolation: isolated (any Actor)?) async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if let answer = state.withLock({ $0.ask(subscriber, waiter) }) { waiter.resume(returning: answer) }
            }
        } onCancel: {
            end(subscriber)
        }
    }

    /// Ends a subscription; who still waits on it gets `nil`.
    func end(_ subscriber: Int) {
        for waiter in state.withLock({ $0.end(subscriber) }) { waiter.resume(returning: .success(nil)) }
    }

    /// Ends all subscriptions, each after what still waits for it.
    func finish() {
        for waiter in state.withLock({ $0.finish() }) { waiter.resume(returning: .success(nil)) }
    }

    func publish(_ event: Event) {
        for waiter in state.withLock({ $0.publish(event) }) { waiter.resume(returning: .success(event)) }
    }

    func apply(_ change: ConditionChange) { state.withLock { $0.apply(change) } }

    func record(for identifier: Identifier) -> Record? { state.withLock { $0.records[identifier]?.record } }

    /// How many subscribers were ended because they were too slow.
    var slowSubscribers: Int { state.withLock { $0.slowSubscribers } }
    /// How many subscriptions there are.
    var subscribers: Int { state.withLock { $0.subscribers.count } }
    /// How many events somebody is still to handle.
    var unhandled: Int { state.withLock { $0.unhandled } }
}

/// What a hub knows.
private struct HubState {
    struct Entry {
        let event: Event
        /// The record that it is for: one of another generation has been replaced or removed since.
        let generation: Int
        /// How many subscribers that received it have not handled it.
        var waiting: Int
    }

    struct Subscriber {
        /// The sequence of the next event to hand over.
        var next: Int
        /// The sequence of the first that it has not handled.
        var handled: Int
        var waiters: [EventHub.Waiter] = []
    }

    /// Entries that were handled stand before ``head`` until there are enough of them to be moved away in one go.
    var entries: ContiguousArray<Entry> = []
    var head = 0
    /// The sequence of the entry at the head.
    var first = 0
    var subscribers: [Int: Subscriber] = [:]
    /// Those that were ended for being too slow and have not been told.
    var tooSlow: Set<Int> = []
    var slowSubscribers = 0
    var subscribersGiven = 0
    var isFinished = false
    var records: [Identifier: (record: Record, generation: Int)] = [:]
    var generations = 0

    var unhandled: Int { entries.count - head }
    /// The sequence of the next event.
    var end: Int { first + unhandled }

    mutating func subscribe() -> Int {
        subscribersGiven += 1
        if !isFinished { subscribers[subscribersGiven] = Subscriber(next: end, handled: end) }
        return subscribersGiven
    }

    mutating func publish(_ event: Event) -> [EventHub.Waiter] {
        let identifier = Identifier(lookup: event.identifier)
        entries.append(
            Entry(event: event, generation: records[identifier]?.generation ?? 0, waiting: subscribers.count))
        var waiters: [EventHub.Waiter] = []
        var slow: [Int] = []
        for index in subscribers.indices {
            if !subscribers.values[index].waiters.isEmpty {
                waiters.append(subscribers.values[index].waiters.removeFirst())
                subscribers.values[index].next = end
            } else if end - subscribers.values[index].next >= EventHub.backlogMax {
                slow.append(subscribers.keys[index])
            }
        }
        for subscriber in slow {
            // It has no waiters: it would have been given the event.
            _ = self.end(subscriber)
            tooSlow.insert(subscriber)
            slowSubscribers += 1
        }
        trim()
        return waiters
    }

    /// The answer to who asks for the next event; without one, it waits.
    mutating func ask(_ id: Int, _ waiter: EventHub.Waiter) -> EventHub.Answer? {
        if tooSlow.remove(id) != nil { return .failure(.subscriberTooSlow(EventHub.backlogMax)) }
        guard let subscriber = subscribers[id] else { return .success(nil) }
        handle(from: subscriber.handled, to: subscriber.next)
        subscribers[id]?.handled = subscriber.next
        defer { trim() }
        if subscriber.next < end {
            subscribers[id]?.next += 1
            return .success(entries[head + subscriber.next - first].event)
        }
        if isFinished {
            subscribers[id] = nil
            return .success(nil)
        }
        subscribers[id]?.waiters.append(waiter)
        return nil
    }

    mutating func end(_ id: Int) -> [EventHub.Waiter] {
        tooSlow.remove(id)
        guard let subscriber = subscribers.removeValue(forKey: id) else { return [] }
        handle(from: subscriber.handled, to: end)
        trim()
        return subscriber.waiters
    }

    mutating func finish() -> [EventHub.Waiter] {
        isFinished = true
        var waiters: [EventHub.Waiter] = []
        for (id, subscriber) in subscribers where !subscriber.waiters.isEmpty { waiters += end(id) }
        return waiters
    }

    private mutating func handle(from begin: Int, to end: Int) {
        for sequence in begin..<end { entries[head + sequence - first].waiting -= 1 }
    }

    /// Takes out what everybody has handled. Who has handled an event has handled those before it, so those are first.
    private mutating func trim() {
        while head < entries.count, entries[head].waiting == 0 {
            let (event, generation) = (entries[head].event, entries[head].generation)
            let identifier = Identifier(lookup: event.identifier)
            if event.scope == .condition, records[identifier]?.generation == generation {
                records[identifier]?.record.lastEvent = event
            }
            head += 1
            first += 1
        }
        // Half of them at least, so that each is moved once on the average.
        if head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }

    mutating func apply(_ change: ConditionChange) {
        let identifier = Identifier(lookup: change.identifier)
        switch change.kind {
        case .added, .replaced:
            generations += 1
            records[identifier] = (Record(beginning: change), generations)
        case .changed:
            // The condition's identity and its last event stay (rule C2).
            return
        case .removed:
            records[identifier] = nil
        }
    }
}
