import BeaconMonitoring
import BluetoothLE

/// A retained topic, identified by its subject.
enum PresentTopic: Sendable, Hashable {
    /// The present state of a condition.
    case condition(Identifier)
    /// The present state of a beacon.
    case beacon(Identifier, BeaconIdentity)
    /// The same state for Home Assistant. Its message stays when the beacon exits.
    case tracker(Identifier, BeaconIdentity)
    /// The discovery message of a condition.
    case conditionEntity(Identifier)
    /// The discovery message of a beacon.
    case trackerEntity(Identifier, BeaconIdentity)
    /// The discovery message of a health entity, by its index in the list.
    case healthEntity(Int)
    /// A topic of earlier options that must be cleared, as bytes.
    case leftBehind([UInt8])

    /// Whether only Home Assistant uses the topic.
    var isForHomeAssistant: Bool {
        switch self {
        case .tracker, .conditionEntity, .trackerEntity, .healthEntity: true
        case .condition, .beacon, .leftBehind: false
        }
    }
}

/// The state of each topic: whether it waits to be published, whether its message is in flight, and whether the broker
/// may have a message.
///
/// A topic waits only once, in the order in which it started to wait. While its message is in flight, it is not
/// published again before it is acknowledged or all messages in flight are lost. Therefore the messages of one topic
/// never overtake each other.
struct RetainedDelivery: Sendable {
    private struct Entry: Sendable {
        /// The number of its entry in the queue; 0 if it does not wait.
        var ticket: UInt64 = 0
        var isInFlight = false
        /// Whether the topic has changed since its message was published.
        var isStale = false
        /// Whether the broker may have a message in the topic, and whether this is because one was published.
        var mayBeHeld = false
        var wasPublished = false
        /// Whether the topic has no message any more and must only be cleared.
        var isGone = false

        /// Whether the topic must be cleared although it is unknown whether it has a message.
        var isGuess: Bool { isGone && !wasPublished }
    }

    private let guessesMax: Int
    // Entries that do not wait any more stay in the queue until they are reached. At most as many of them may be in the
    // queue as there are waiting topics, plus this number.
    private static let slack = 1024

    private var entries: [PresentTopic: Entry] = [:]
    private var queue: [(topic: PresentTopic, ticket: UInt64)] = []
    private var head = 0
    private var tickets: UInt64 = 0
    // The keys are the bytes of the topics, because two spellings of one character are two topics.
    private var inFlight: [[UInt8]: PresentTopic] = [:]

    /// The number of topics that wait.
    private(set) var waiting = 0

    /// Creates a value without topics.
    ///
    /// - Parameter guessesMax: the maximum number of topics that wait to be cleared although it is unknown whether they
    ///   have a message.
    init(guessesMax: Int) { self.guessesMax = guessesMax }

    /// The number of topics that were not cleared because too many others waited. It is unknown whether they have a
    /// message.
    private(set) var guessesGivenUp = 0
    private var guesses = 0

    /// Notes that the message of `topic` must be published, has changed, or must be cleared.
    ///
    /// - Parameters:
    ///   - topic: the topic.
    ///   - exists: whether the topic has a message; if not, it must be cleared.
    ///   - mayBeHeld: whether the broker may have a message of an earlier process whose state was not stored.
    mutating func touch(_ topic: PresentTopic, exists: Bool, mayBeHeld: Bool) {
        var entry = entries[topic] ?? Entry()
        let wasGuess = entry.isGuess
        entry.mayBeHeld = entry.mayBeHeld || mayBeHeld
        entry.isGone = !exists
        if entry.isInFlight {
            entry.isStale = true
        } else if exists || entry.wasPublished || (entry.mayBeHeld && (wasGuess || guesses < guessesMax)) {
            if entry.ticket == 0 { enqueue(topic, &entry) }
        } else {
            // The broker never received a message, so there is nothing to clear, or too many such topics wait already.
            if entry.mayBeHeld { guessesGivenUp += 1 }
            if entry.ticket != 0 { waiting -= 1 }
            if wasGuess { guesses -= 1 }
            entries[topic] = nil
            return
        }
        if entry.isGuess != wasGuess { guesses += wasGuess ? -1 : 1 }
        entries[topic] = entry
    }

    /// Notes that the broker has the present message of `topic`, because an earlier process received its
    /// acknowledgement.
    mutating func deliver(_ topic: PresentTopic) {
        drop(topic)
        entries[topic] = Entry(mayBeHeld: true, wasPublished: true)
    }

    /// Removes `topic`. Nothing is published or cleared any more, even if the broker has a message.
    mutating func drop(_ topic: PresentTopic) {
        guard let entry = entries.removeValue(forKey: topic) else { return }
        if entry.ticket != 0 { waiting -= 1 }
        if entry.isGuess { guesses -= 1 }
    }

    /// Returns the topic that has waited longest, which stops waiting; `nil` if no topic waits.
    mutating func next() -> PresentTopic? {
        while head < queue.count {
            let (topic, ticket) = queue[head]
            head += 1
            if head == queue.count {
                queue.removeAll(keepingCapacity: true)
                head = 0
            }
            guard entries[topic]?.ticket == ticket else { continue }
            entries[topic]?.ticket = 0
            waiting -= 1
            return topic
        }
        return nil
    }

    /// Notes that the message of a topic from ``next()`` is published under `name`.
    mutating func handOut(_ topic: PresentTopic, as name: String) {
        if entries[topic]?.isGuess ?? false { guesses -= 1 }
        entries[topic]?.isInFlight = true
        entries[topic]?.isStale = false
        entries[topic]?.mayBeHeld = true
        entries[topic]?.wasPublished = true
        inFlight[Array(name.utf8)] = topic
    }

    /// Notes that the broker has acknowledged the message under `name`.
    ///
    /// - Returns: the topic, or `nil` if it has changed since or is unknown. A topic that has changed waits again.
    mutating func acknowledge(_ name: String) -> PresentTopic? {
        guard let topic = inFlight.removeValue(forKey: Array(name.utf8)), var entry = entries[topic] else {
            return nil
        }
        entry.isInFlight = false
        let isStale = entry.isStale
        entry.isStale = false
        if isStale { enqueue(topic, &entry) }
        entries[topic] = entry
        return isStale ? nil : topic
    }

    /// Notes that no message in flight will be acknowledged any more. Their topics wait again, before all that wait
    /// already.
    mutating func loseInFlight() {
        // A dictionary has no order, so they are sorted by their bytes.
        let lost = inFlight.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        inFlight.removeAll()
        var again: [(topic: PresentTopic, ticket: UInt64)] = []
        for (_, topic) in lost where entries[topic] != nil {
            tickets += 1
            entries[topic]?.isInFlight = false
            entries[topic]?.isStale = false
            entries[topic]?.ticket = tickets
            waiting += 1
            again.append((topic, tickets))
        }
        if !again.isEmpty {
            queue = again + queue[head...]
            head = 0
        }
    }

    /// The length of the queue, including the entries that do not wait any more.
    var queueLength: Int { queue.count - head }

    /// Returns whether `topic` waits or its message is in flight, so that it must be published again after a crash.
    func isOwed(_ topic: PresentTopic) -> Bool {
        guard let entry = entries[topic] else { return false }
        return entry.ticket != 0 || entry.isInFlight
    }

    /// The topics that wait or have a message in flight, in no particular order.
    var owed: [PresentTopic] { entries.filter { $0.value.ticket != 0 || $0.value.isInFlight }.map(\.key) }

    private mutating func enqueue(_ topic: PresentTopic, _ entry: inout Entry) {
        tickets += 1
        entry.ticket = tickets
        waiting += 1
        queue.append((topic, tickets))
        if queue.count - head > 2 * waiting + Self.slack || head > queue.count / 2 + Self.slack { compact() }
    }

    private mutating func compact() {
        // The ticket of the newest entry is not stored in `entries` yet.
        let newest = tickets
        queue = queue[head...].filter { $0.ticket == newest || entries[$0.topic]?.ticket == $0.ticket }
        head = 0
    }
}
