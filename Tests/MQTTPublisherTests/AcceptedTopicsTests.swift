import EventLog
import Testing

@testable import MQTTPublisher

@Suite struct AcceptedTopicsTests {
    private static let badge = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/7"

    private func bytes(_ topic: String) -> [UInt8] { Array(topic.utf8) + [0] }

    @Test func `the beacons of a condition count as one topic with the condition, and as no other topic`() {
        var topics = AcceptedTopics(capacity: 8)
        topics.insert(bytes("beacons/lobby/event/staff/\(Self.badge)"))
        #expect(topics.contains(bytes("beacons/lobby/event/staff/f7826da6-4fa2-4e98-8024-bc5b71e0893e/0/65535")))
        #expect(topics.contains(bytes("beacons/lobby/event/staff")))
        #expect(!topics.contains(bytes("beacons/lobby/visit/staff/\(Self.badge)")))
        #expect(!topics.contains(bytes("beacons/lobby/event/staf/\(Self.badge)")))
        #expect(topics.count == 1)
    }

    @Test(arguments: [
        "a", "/", "1", "1/2", "a/1/2", "beacons/lobby/event/7/8",
        "beacons/lobby/event/F7826DA6-4FA2-4E98-8024-BC5B71E0893E",
        "beacons/lobby/event/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/7", "event/F7826DA604FA2-4E98-8024-BC5B71E0893E/1/2",
        "event/G7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/2", "event/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/123456",
        "F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/2", "/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/2",
    ])
    func `a topic that is not a condition's topic with the three levels of a beacon is not shortened`(topic: String) {
        #expect(AcceptedTopics.subtree(of: bytes(topic)) == bytes(topic))
    }

    @Test func `a full table removes one topic for each new one, and never contains a topic that was not accepted`() {
        var topics = AcceptedTopics(capacity: 100)
        var found = 0
        // Repeats a cycle of 110 topics with room for 100. In later rounds many of them are still found. In the first
        // round none is found before it is inserted.
        for round in 0..<5 {
            for number in 0..<110 {
                let topic = bytes("event/c\(number)")
                if round == 0 { #expect(!topics.contains(topic)) }
                if topics.contains(topic) { found += 1 } else { topics.insert(topic) }
                #expect(topics.contains(topic))
                #expect(topics.count <= 100)
            }
        }
        #expect(found > 200, "\(found) of 440")
        topics.removeAll()
        #expect(!topics.contains(bytes("event/c109")))
    }
}
