/// The bound of a log: a subscriber with this many waiting elements is ended (rule N2).
let backlogMax = 65_536

/// The state of a broadcast: a log, and the position of each subscriber in it.
struct BroadcastLog<Element: Sendable> {
    /// Called with an element that does not wait for any subscriber any more, and whether all who received it had taken
    /// it.
    typealias Handled = (Element, _ wasTaken: Bool) -> Void

    private struct Entry {
        let element: Element
        /// The number of subscribers that received it and have not handled it.
        var waiting: Int
        /// Whether one of them ended without having taken it.
        var isAbandoned = false
    }

    struct Subscriber {
        /// The sequence number of the next element to deliver.
        var next: Int
        /// The sequence number of the first element that it has not handled.
        var handled: Int
        /// The sequence number of the first element after its subscription. Elements from before do not count for the
        /// bound.
        let joined: Int
        /// Returns whether the subscriber wants an element; `nil` means all. Other elements count as handled when they
        /// would be delivered.
        let wants: (@Sendable (Element) -> Bool)?
        var waiters: [Broadcast<Element>.Waiter] = []
    }

    /// Handled entries remain before ``head`` until enough of them can be removed at once.
    private var entries: ContiguousArray<Entry> = []
    private var head = 0
    /// The sequence number of the entry at the head.
    private var first = 0
    private(set) var subscribers: [Int: Subscriber] = [:]
    /// The subscribers that were ended for being too slow and have not received the error.
    private var tooSlow: Set<Int> = []
    private(set) var slowSubscribers = 0
    private var subscribersGiven = 0
    /// The elements from before this log for the first subscriber (rule N3).
    private var inheritance: [Element] = []
    private var isFinished = false
    /// The error with which it ended.
    private var failure: MonitorError?
    /// The subscribers after the end with an error that have not received the error.
    private var late: Set<Int> = []

    /// The tasks that wait until at most `most` elements are unhandled.
    private var settlers: [Int: (most: Int, continuation: CheckedContinuation<Void, Never>)] = [:]

    var unhandled: Int { entries.count - head }
    /// The sequence number of the next element.
    private var end: Int { first + unhandled }

    /// Sets elements that the first subscriber receives before all others. Nothing must have been published yet.
    mutating func leave(_ elements: [Element]) { inheritance = elements }

    mutating func subscribe(_ wants: (@Sendable (Element) -> Bool)?) -> Int {
        subscribersGiven += 1
        if !isFinished {
            let begin = end
            // Without a subscriber, no element stays in the log, so these elements are its first ones.
            entries += inheritance.map { Entry(element: $0, waiting: 1) }
            inheritance = []
            subscribers[subscribersGiven] = Subscriber(next: begin, handled: begin, joined: end, wants: wants)
        } else if failure != nil {
            late.insert(subscribersGiven)
        }
        return subscribersGiven
    }

    /// Adds an element.
    ///
    /// - Returns: the tasks that waited for it.
    mutating func publish(_ element: Element, _ handled: Handled) -> [Broadcast<Element>.Waiter] {
        var waiting = subscribers.count
        var waiters: [Broadcast<Element>.Waiter] = []
        var slow: [Int] = []
        let next = end + 1
        for index in subscribers.indices {
            if subscribers.values[index].waiters.isEmpty {
                let begin = max(subscribers.values[index].next, subscribers.values[index].joined)
                if next - begin >= backlogMax { slow.append(subscribers.keys[index]) }
            } else if subscribers.values[index].wants.map({ $0(element) }) ?? true {
                waiters.append(subscribers.values[index].waiters.removeFirst())
                subscribers.values[index].next = next
            } else {
                // It does not want this element and continues to wait. The element counts as handled unless an earlier
                // one is not.
                if subscribers.values[index].handled == subscribers.values[index].next {
                    subscribers.values[index].handled = next
                    waiting -= 1
                }
                subscribers.values[index].next = next
            }
        }
        entries.append(Entry(element: element, waiting: waiting))
        for subscriber in slow {
            // It has no waiting tasks: otherwise it would have received the element.
            _ = take(subscriber)
            tooSlow.insert(subscriber)
            slowSubscribers += 1
        }
        trim(handled)
        return waiters
    }

    /// Returns the answer to a request for the next element; `nil` if the task must wait.
    mutating func ask(
        _ id: Int, _ waiter: Broadcast<Element>.Waiter, _ handled: Handled
    ) -> Broadcast<Element>.Answer? {
        if tooSlow.remove(id) != nil { return .failure(.subscriberTooSlow(backlogMax)) }
        guard var subscriber = subscribers[id] else { return late.remove(id) != nil ? outcome : .success(nil) }
        handle(from: subscriber.handled, to: subscriber.next)
        subscriber.handled = subscriber.next
        defer { trim(handled) }
        while subscriber.next < end {
            let place = head + subscriber.next - first
            subscriber.next += 1
            if subscriber.wants.map({ $0(entries[place].element) }) ?? true {
                subscribers[id] = subscriber
                return .success(entries[place].element)
            }
            entries[place].waiting -= 1
            subscriber.handled = subscriber.next
        }
        if isFinished {
            subscribers[id] = nil
            return outcome
        }
        subscriber.waiters.append(waiter)
        subscribers[id] = subscriber
        return nil
    }

    /// Registers a task that waits until at most `most` elements are unhandled.
    ///
    /// - Returns: `true` if the task need not wait, because that is already so or no more elements follow.
    mutating func settle(
        _ id: Int, to most: Int, _ continuation: CheckedContinuation<Void, Never>
    ) -> Bool {
        guard unhandled > most, !isFinished else { return true }
        settlers[id] = (most, continuation)
        return false
    }

    /// Removes the tasks whose wait has ended, and the cancelled one.
    ///
    /// - Returns: their continuations.
    mutating func takeSettled(cancelled id: Int? = nil) -> [CheckedContinuation<Void, Never>] {
        guard !settlers.isEmpty else { return [] }
        let settled = settlers.filter { $0.key == id || isFinished || unhandled <= $0.value.most }
        for id in settled.keys { settlers[id] = nil }
        return settled.values.map(\.continuation)
    }

    /// Ends a subscription.
    ///
    /// - Returns: the tasks that waited for it.
    mutating func end(_ id: Int, _ handled: Handled) -> [Broadcast<Element>.Waiter] {
        tooSlow.remove(id)
        late.remove(id)
        let waiters = take(id)
        trim(handled)
        return waiters
    }

    /// Ends the log.
    ///
    /// - Returns: the tasks that waited for another element.
    mutating func finish(_ failure: MonitorError?, _ handled: Handled) -> [Broadcast<Element>.Waiter] {
        if !isFinished { self.failure = failure }
        isFinished = true
        var waiters: [Broadcast<Element>.Waiter] = []
        for (id, subscriber) in subscribers where !subscriber.waiters.isEmpty { waiters += take(id) }
        trim(handled)
        return waiters
    }

    /// The answer to a subscriber that has received all elements.
    private var outcome: Broadcast<Element>.Answer { failure.map { .failure($0) } ?? .success(nil) }

    private mutating func take(_ id: Int) -> [Broadcast<Element>.Waiter] {
        guard let subscriber = subscribers.removeValue(forKey: id) else { return [] }
        for place in (head + subscriber.next - first)..<entries.count
        where subscriber.wants.map({ $0(entries[place].element) }) ?? true {
            entries[place].isAbandoned = true
        }
        handle(from: subscriber.handled, to: end)
        return subscriber.waiters
    }

    private mutating func handle(from begin: Int, to end: Int) {
        for sequence in begin..<end { entries[head + sequence - first].waiting -= 1 }
    }

    /// Removes the entries that all subscribers have handled. Each subscriber handles elements in order, so these are
    /// the first.
    private mutating func trim(_ handled: Handled) {
        while head < entries.count, entries[head].waiting == 0 {
            handled(entries[head].element, !entries[head].isAbandoned)
            head += 1
            first += 1
        }
        // At least half of the entries are removed at once, so each entry is moved once on average.
        if head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }
}
