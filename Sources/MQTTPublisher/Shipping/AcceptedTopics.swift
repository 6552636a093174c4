import BluetoothLE

/// The topics that the broker took in this connection: up to a bound, and without ever taking one for another.
///
/// A condition's beacons have topics of their own below its own (`event/staff/<uuid>/<major>/<minor>`); they count as one,
/// since rights are given for the condition (`event/staff/#`), and since a round trip for each badge would stall a site.
/// Where there are more than there is room for, one of them, by chance, makes place: a topic that is forgotten is tried
/// alone again, which costs a round trip, and lets nothing overtake. By chance, since what goes round a circle that is
/// larger than the room would find none of them were the oldest to go.
struct AcceptedTopics {
    let capacity: Int
    private var topics: [[UInt8]] = []
    private var places: [[UInt8]: Int] = [:]
    private var random = SplitMix(state: 1)

    init(capacity: Int) { self.capacity = max(capacity, 1) }

    var count: Int { topics.count }

    /// Whether the broker took this topic, or another of the same condition.
    ///
    /// - Parameter topic: UTF-8 with a zero octet behind.
    /// - Returns: `false` where it has not taken one yet.
    func contains(_ topic: [UInt8]) -> Bool { places[Self.subtree(of: topic)] != nil }

    /// The broker took this topic.
    mutating func insert(_ topic: [UInt8]) {
        let subtree = Self.subtree(of: topic)
        guard places[subtree] == nil else { return }
        if topics.count < capacity {
            places[subtree] = topics.count
            topics.append(subtree)
        } else {
            let place = Int(random.next() % UInt64(capacity))
            places[topics[place]] = nil
            places[subtree] = place
            topics[place] = subtree
        }
    }

    mutating func removeAll() {
        guard !topics.isEmpty else { return }
        topics = []
        places = [:]
    }

    /// `topic` as it is, or without the three levels of a beacon: a UUID with hyphens, and two numbers.
    static func subtree(of topic: [UInt8]) -> [UInt8] {
        var end = topic.count - 1
        for _ in 0..<2 {
            var start = end
            while start > 0, (0x30...0x39).contains(topic[start - 1]) { start -= 1 }
            guard (1...5).contains(end - start), start > 1, topic[start - 1] == UInt8(ascii: "/") else { return topic }
            end = start - 1
        }
        let start = end - 36
        guard start > 1, topic[start - 1] == UInt8(ascii: "/"),
            ProximityUUID(utf8: topic.span.extracting(start..<end)) != nil
        else { return topic }
        return Array(topic[..<(start - 1)]) + [0]
    }
}
