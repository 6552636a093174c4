import BluetoothLE

/// The topics that the broker has accepted in this connection: at most `capacity`, compared by all their bytes, so that
/// no topic can be confused with another.
///
/// The beacons of a condition have their own topics below the topic of the condition
/// (`event/staff/<uuid>/<major>/<minor>`). They count as one topic, because permissions are given for the condition
/// (`event/staff/#`), and because a round trip for each badge would delay a site.
///
/// If there are more topics, a random one is removed. The next line of a removed topic is sent alone again, which costs
/// a round trip, but no line overtakes another. The choice is random for this reason: if more topics than `capacity`
/// repeat in a cycle, the oldest would always be removed just before it is needed.
struct AcceptedTopics {
    let capacity: Int
    private var topics: [[UInt8]] = []
    private var places: [[UInt8]: Int] = [:]
    private var random = SplitMix(state: 1)

    init(capacity: Int) { self.capacity = max(capacity, 1) }

    var count: Int { topics.count }

    /// Returns whether the broker has accepted this topic, or another of the same condition.
    ///
    /// - Parameter topic: the topic in UTF-8, followed by a zero byte.
    /// - Returns: `false` if it has not accepted one yet, or if the topic was removed.
    func contains(_ topic: [UInt8]) -> Bool { places[Self.subtree(of: topic)] != nil }

    /// Notes that the broker has accepted this topic.
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

    /// Returns `topic` without the three levels of a beacon (a UUID with hyphens, and two numbers), or unchanged if it
    /// has none.
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
