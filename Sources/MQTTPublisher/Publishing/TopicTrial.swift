/// Sends the first line of each topic alone, in a connection in which the broker can refuse messages.
///
/// Permissions belong to topics. Lines that were sent after a refused line would reach the broker before it. Therefore
/// no line follows until the broker has accepted a line of this topic. The beacons of a condition count as one topic
/// (``AcceptedTopics``).
struct TopicTrial {
    // Most topics have about a hundred bytes, so this is at most 3 MB.
    private static let topicsMax = 16_384

    private var accepted = AcceptedTopics(capacity: Self.topicsMax)
    /// The topic of the line that is in flight alone.
    private var topic: [UInt8]?

    /// Whether a line is in flight alone.
    var isUnderWay: Bool { topic != nil }

    /// Returns whether a line must wait, because it is the first of its topic and others are in flight. If no line is
    /// in flight, this line is sent alone.
    mutating func holds(_ topic: [UInt8], inFlight: Int) -> Bool {
        if accepted.contains(topic) { return false }
        guard inFlight == 0 else { return true }
        self.topic = topic
        return false
    }

    /// Notes that the broker has accepted the line that was in flight alone.
    mutating func passed() {
        guard let topic else { return }
        accepted.insert(topic)
        self.topic = nil
    }

    /// Notes that the line is not in flight alone any more, and was not accepted.
    mutating func abandon() { topic = nil }

    /// Notes that permissions may have changed, so that each topic is tried again.
    mutating func forget() { accepted.removeAll() }
}
