/// A subscriber for whom so many elements wait is ended (rule N2): the bound of a log.
let backlogMax = 65_536

/// What a broadcast knows: a log, and each subscriber's place in it.
struct BroadcastLog<Element: Sendable> {
    /// Told of an element once it waits for nobody, and whether all who received it had taken it.
    typealias Handled = (Element, _ wasTaken: Bool) -> Void

    private struct Entry {
        let element: Element
        /// How many subscribers that received it have not handled it.
        var waiting: Int
        /// Whether one of them ended without having taken it.
        var isAbandoned = false
    }

    struct Subscriber {
        /// The sequence of the next element to hand over.
        var next: Int
        /// The sequence of the first that it has not handled.
        var handled: Int
        /// The sequence of the first that came after it subscribed: what it was left before that is not held against it.
        let joined: Int
        /// What of it the subscriber wants; absent: all. The rest counts as handled when its turn comes.
        let wants: (@Sendable (Element) -> Bool)?
        var waiters: [Broadcast<Element>.Waiter] = []
    }

    /// Entries that were handled stand before ``head`` until there are enough of them to be moved away in one go.
    private var entries: ContiguousArray<Entry> = []
    private var head = 0
    /// The sequence of the entry at the head.
    private var first = 0
    private(set) var subscribers: [Int: Subscriber] = [:]
    /// Those that were ended for being too slow and have not been told.
    private var tooSlow: Set<Int> = []
    private(set) var slowSubscribers = 0
    private var subscribersGiven = 0
    /// What waits for the first subscriber, from before there was this log (rule N3).
    private var inheritance: [Element] = []
    private var isFinished = false
    /// Why it has finished, for those who were not told yet.
    private var failure: MonitorError?
    /// Those that subscribed when it had failed already and have not been told.
    private var late: Set<Int> = []

    /// Those who wait until so many elements at most are unhandled.
    private var settlers: [Int: (most: Int, continuation: CheckedContinuation<Void, Never>)] = [:]

    var unhandled: Int { entries.count - head }
    /// The sequence of the next element.
    private var end: Int { first + unhandled }

    /// Has the first subscriber given these first, before anything has been published.
    mutating func leave(_ elements: [Element]) { inheritance = elements }

    mutating func subscribe(_ wants: (@Sendable (Element) -> Bool)?) -> Int {
        subscribersGiven += 1
        if !isFinished {
            let begin = end
            // Without a subscriber nothing has stayed in the log, so it is what the log begins with.
            entries += inheritance.map { Entry(element: $0, waiting: 1) }
            inheritance = []
            subscribers[subscribersGiven] = Subscriber(next: begin, handled: begin, joined: end, wants: wants)
        } else if failure != nil {
            late.insert(subscribersGiven)
        }
        return subscribersGiven
    }

    /// - Returns: who waited for it.
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
                // It goes on waiting, and has nothing to do with this one; unless it is still at one before it.
                if subscribers.values[index].handled == subscribers.values[index].next {
                    subscribers.values[index].handled = next
                    waiting -= 1
                }
                subscribers.values[index].next = next
            }
        }
        entries.append(Entry(element: element, waiting: waiting))
        for subscriber in slow {
            // It has no waiters: it would have been given the element.
            _ = take(subscriber)
            tooSlow.insert(subscriber)
            slowSubscribers += 1
        }
        trim(handled)
        return waiters
    }

    /// The answer to who asks for the next element; without one, it waits.
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

    /// Has somebody wait until at most `most` elements are unhandled.
    ///
    /// - Returns: whether that is so already, or nothing more comes.
    mutating func settle(
        _ id: Int, to most: Int, _ continuation: CheckedContinuation<Void, Never>
    ) -> Bool {
        guard unhandled > most, !isFinished else { return true }
        settlers[id] = (most, continuation)
        return false
    }

    /// - Returns: who waited for so few to be unhandled, or, of that number, waits no more.
    mutating func takeSettled(cancelled id: Int? = nil) -> [CheckedContinuation<Void, Never>] {
        guard !settlers.isEmpty else { return [] }
        let settled = settlers.filter { $0.key == id || isFinished || unhandled <= $0.value.most }
        for id in settled.keys { settlers[id] = nil }
        return settled.values.map(\.continuation)
    }

    /// - Returns: who waited on the subscription that ends.
    mutating func end(_ id: Int, _ handled: Handled) -> [Broadcast<Element>.Waiter] {
        tooSlow.remove(id)
        late.remove(id)
        let waiters = take(id)
        trim(handled)
        return waiters
    }

    /// - Returns: who waited, and will get nothing more.
    mutating func finish(_ failure: MonitorError?, _ handled: Handled) -> [Broadcast<Element>.Waiter] {
        if !isFinished { self.failure = failure }
        isFinished = true
        var waiters: [Broadcast<Element>.Waiter] = []
        for (id, subscriber) in subscribers where !subscriber.waiters.isEmpty { waiters += take(id) }
        trim(handled)
        return waiters
    }

    /// What is told to who has got everything.
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

    /// Takes out what everybody has handled. Who has handled an element has handled those before it, so those are first.
    private mutating func trim(_ handled: Handled) {
        while head < entries.count, entries[head].waiting == 0 {
            handled(entries[head].element, !entries[head].isAbandoned)
            head += 1
            first += 1
        }
        // Half of them at least, so that each is moved once on the average.
        if head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }
}
