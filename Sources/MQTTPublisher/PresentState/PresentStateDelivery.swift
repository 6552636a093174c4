import BeaconMonitoring
import BluetoothLE

/// A retained topic, by what it is about.
enum PresentTopic: Sendable, Hashable {
    /// A condition's present state.
    case condition(Identifier)
    /// A beacon's present state.
    case beacon(Identifier, BeaconIdentity)
    /// The same for Home Assistant: it stays when the beacon is forgotten.
    case tracker(Identifier, BeaconIdentity)
    /// How Home Assistant is told of a condition.
    case conditionEntity(Identifier)
    /// How it is told of a beacon.
    case trackerEntity(Identifier, BeaconIdentity)
    /// How it is told of something that tells the gateway's health, by its place in the list.
    case healthEntity(Int)
    /// One that earlier options left behind, and that is to be cleared: its octets.
    case leftBehind([UInt8])

    /// Whether nobody but Home Assistant wants it.
    var isForHomeAssistant: Bool {
        switch self {
        case .tracker, .conditionEntity, .trackerEntity, .healthEntity: true
        case .condition, .beacon, .leftBehind: false
        }
    }
}

/// Which topics wait to be told to the broker, which are on their way, and what the broker may hold.
///
/// What waits does so once, in the order in which it began to; what is on its way is not handed out again before it is
/// acknowledged, or everything on its way was lost. So the messages of one topic never overtake each other.
struct RetainedDelivery: Sendable {
    private struct Entry: Sendable {
        /// Its place in the queue; 0: it does not wait.
        var ticket: UInt64 = 0
        var isOnItsWay = false
        /// Whether it has changed since it was handed out.
        var isStale = false
        /// Whether the broker may hold something under it, and whether that is because it was told so.
        var mayBeHeld = false
        var wasTold = false
        /// Whether it is only to be cleared.
        var isGone = false

        /// Whether it is to be cleared though nobody knows that there is anything.
        var isGuess: Bool { isGone && !wasTold }
    }

    private let guessesMax: Int
    // What was waiting once stands in the queue until it is come to. So many such may stand in it beside as many as wait.
    private static let slack = 1024

    private var entries: [PresentTopic: Entry] = [:]
    private var queue: [(topic: PresentTopic, ticket: UInt64)] = []
    private var head = 0
    private var tickets: UInt64 = 0
    // By the octets of the topic: two spellings of one character are two topics.
    private var onTheirWay: [[UInt8]: PresentTopic] = [:]

    /// How many topics wait.
    private(set) var waiting = 0

    /// No topics.
    ///
    /// - Parameter guessesMax: the highest number of topics that wait to be cleared although it is unknown whether they have
    ///   a message.
    init(guessesMax: Int) { self.guessesMax = guessesMax }

    /// Topics of which nobody knows whether there is anything, and that are not cleared since too many of them waited.
    private(set) var guessesGivenUp = 0
    private var guesses = 0

    /// Something is to be said under `topic`, or what is said has changed, or nothing is to be said any more.
    ///
    /// - Parameters:
    ///   - topic: what it is about.
    ///   - exists: whether there is something to say.
    ///   - mayBeHeld: whether the broker may hold something that nobody here remembers.
    mutating func touch(_ topic: PresentTopic, exists: Bool, mayBeHeld: Bool) {
        var entry = entries[topic] ?? Entry()
        let wasGuess = entry.isGuess
        entry.mayBeHeld = entry.mayBeHeld || mayBeHeld
        entry.isGone = !exists
        if entry.isOnItsWay {
            entry.isStale = true
        } else if exists || entry.wasTold || (entry.mayBeHeld && (wasGuess || guesses < guessesMax)) {
            if entry.ticket == 0 { enqueue(topic, &entry) }
        } else {
            // The broker never heard of it: there is nothing to clear.
            if entry.mayBeHeld { guessesGivenUp += 1 }
            if entry.ticket != 0 { waiting -= 1 }
            if wasGuess { guesses -= 1 }
            entries[topic] = nil
            return
        }
        if entry.isGuess != wasGuess { guesses += wasGuess ? -1 : 1 }
        entries[topic] = entry
    }

    /// The broker holds what is said under `topic`: so it was acknowledged in an earlier life.
    mutating func deliver(_ topic: PresentTopic) {
        drop(topic)
        entries[topic] = Entry(mayBeHeld: true, wasTold: true)
    }

    /// Nothing is to be done about `topic` any more, whatever the broker holds.
    mutating func drop(_ topic: PresentTopic) {
        guard let entry = entries.removeValue(forKey: topic) else { return }
        if entry.ticket != 0 { waiting -= 1 }
        if entry.isGuess { guesses -= 1 }
    }

    /// The topic that waits longest, which waits no longer.
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

    /// What ``next()`` gave was handed out.
    mutating func handOut(_ topic: PresentTopic, as name: String) {
        if entries[topic]?.isGuess ?? false { guesses -= 1 }
        entries[topic]?.isOnItsWay = true
        entries[topic]?.isStale = false
        entries[topic]?.mayBeHeld = true
        entries[topic]?.wasTold = true
        onTheirWay[Array(name.utf8)] = topic
    }

    /// The broker has what was handed out under `name`.
    ///
    /// - Returns: the topic, where it has not changed since.
    mutating func acknowledge(_ name: String) -> PresentTopic? {
        guard let topic = onTheirWay.removeValue(forKey: Array(name.utf8)), var entry = entries[topic] else {
            return nil
        }
        entry.isOnItsWay = false
        let isStale = entry.isStale
        entry.isStale = false
        if isStale { enqueue(topic, &entry) }
        entries[topic] = entry
        return isStale ? nil : topic
    }

    /// Nothing that was handed out will be acknowledged any more: it waits again, before all that waits already.
    mutating func loseWhatIsOnItsWay() {
        // In the order of their octets, since a dictionary has none.
        let lost = onTheirWay.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        onTheirWay.removeAll()
        var again: [(topic: PresentTopic, ticket: UInt64)] = []
        for (_, topic) in lost where entries[topic] != nil {
            tickets += 1
            entries[topic]?.isOnItsWay = false
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

    /// How many stand in the queue, those among them that wait no longer.
    var queueLength: Int { queue.count - head }

    /// Whether `topic` waits or is on its way: what would have to be said again after a crash.
    func isOwed(_ topic: PresentTopic) -> Bool {
        guard let entry = entries[topic] else { return false }
        return entry.ticket != 0 || entry.isOnItsWay
    }

    /// The topics that wait or are on their way, in no order.
    var owed: [PresentTopic] { entries.filter { $0.value.ticket != 0 || $0.value.isOnItsWay }.map(\.key) }

    private mutating func enqueue(_ topic: PresentTopic, _ entry: inout Entry) {
        tickets += 1
        entry.ticket = tickets
        waiting += 1
        queue.append((topic, tickets))
        if queue.count - head > 2 * waiting + Self.slack || head > queue.count / 2 + Self.slack { compact() }
    }

    private mutating func compact() {
        // The newest one's ticket does not stand in its entry yet.
        let newest = tickets
        queue = queue[head...].filter { $0.ticket == newest || entries[$0.topic]?.ticket == $0.ticket }
        head = 0
    }
}
