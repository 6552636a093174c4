/// The first line of each topic goes alone, in a connection that can say no.
///
/// Rights are a topic's. What followed a line that is refused would be at the broker before it: so nothing does, until the
/// broker has taken one of its topic (a condition's beacons count as one, ``AcceptedTopics``).
struct TopicTrial {
    // A hundred octets each, mostly: 3 MB at most.
    private static let topicsMax = 16_384

    private var accepted = AcceptedTopics(capacity: Self.topicsMax)
    /// The topic of the line that is under way alone.
    private var topic: [UInt8]?

    /// Whether a line is under way alone.
    var isUnderWay: Bool { topic != nil }

    /// Whether a line has to wait, being the first of its topic while others are under way; where there are none it goes
    /// alone.
    mutating func holds(_ topic: [UInt8], inFlight: Int) -> Bool {
        if accepted.contains(topic) { return false }
        guard inFlight == 0 else { return true }
        self.topic = topic
        return false
    }

    /// The broker has taken what was under way.
    mutating func passed() {
        guard let topic else { return }
        accepted.insert(topic)
        self.topic = nil
    }

    /// What was under way alone is not any more, and was not taken.
    mutating func abandon() { topic = nil }

    /// Rights may be others now: each topic is tried again.
    mutating func forget() { accepted.removeAll() }
}
