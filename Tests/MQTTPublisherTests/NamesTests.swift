import BluetoothLE
import BrokerSupport
import Foundation
import PublisherProtocol
import Testing

@testable import BeaconMonitoring
@testable import MQTTPublisher

/// Checks which names of beacons a broker receives.
struct NamesTests {
    private static let ada = [BeaconIdentity.badge(7): PublishedName("Ada", group: "crew")]

    private func state(names: Bool = true) throws -> (PresentFixture, PresentState, RetainingBroker) {
        var fixture = try PresentFixture()
        try fixture.add("staff", perBeacon: true, at: 1)
        fixture.sighted(.badge(7), at: 2)
        fixture.sighted(.badge(8), at: 3)
        var state = PresentState(try PresentOptions.make(names: names))
        state.follow(fixture)
        return (fixture, state, RetainingBroker())
    }

    private func object(_ broker: RetainingBroker, _ topic: String) throws -> [String: Any] {
        try presentObject(broker.retained[topic] ?? "")
    }

    private static let own = "beacons/lobby/state/staff/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/7"
    private static let unnamed = "beacons/lobby/state/staff/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/8"
    private static let tracker = "beacons/lobby/tracker/staff/F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/7"
    private static let entity =
        "homeassistant/device_tracker/beacons_2Flobby/beacon_-staff_-F7826DA6-4FA2-4E98-8024-BC5B71E0893E_-100_-7/config"

    @Test func `states and trackers of a named beacon have its name and group, those of others do not`() throws {
        var (_, state, broker) = try state()
        state.name(Self.ada)
        state.deliver(to: &broker)
        for topic in [Self.own, Self.tracker] {
            let said = try object(broker, topic)
            #expect(said["name"] as? String == "Ada")
            #expect(said["group"] as? String == "crew")
        }
        #expect(try object(broker, Self.unnamed)["name"] == nil)
        let condition = try object(broker, "beacons/lobby/state/staff")
        let minor = (condition["refinement"] as? [String: Any])?["minor"] as? Int
        #expect(condition["name"] as? String == (minor == 7 ? "Ada" : nil))
        let entity = try object(broker, Self.entity)
        #expect(entity["name"] as? String == "staff Ada")
        #expect((entity["json_attributes_template"] as? String)?.contains("value_json.name") == true)
    }

    @Test func `without mqtt.names, an entity has the numbers of its beacon, and no template reads a name`() throws {
        var (_, state, broker) = try state(names: false)
        state.deliver(to: &broker)
        for (topic, payload) in broker.retained where !topic.contains("/health_") {
            #expect(!payload.contains("value_json.name"), "\(topic)")
        }
        #expect(try object(broker, Self.entity)["name"] as? String == "staff 100/7")
    }

    @Test func `a changed name publishes the messages that contain it again, and no others`() throws {
        var (_, state, broker) = try state()
        state.name(Self.ada)
        state.deliver(to: &broker)
        var count = broker.messages.count
        state.name(Self.ada)
        #expect(!state.hasChanges)
        state.name([.badge(7): PublishedName("Ben")])
        state.deliver(to: &broker)
        let reported = Set(broker.messages[count...].map(\.topic)).subtracting(["beacons/lobby/state/staff"])
        #expect(reported == [Self.own, Self.tracker, Self.entity])
        #expect(try object(broker, Self.own)["name"] as? String == "Ben")
        #expect(try object(broker, Self.own)["group"] == nil)
        count = broker.messages.count
        state.name([:])
        state.deliver(to: &broker)
        #expect(!broker.retained.values.contains { $0.contains("Ben") })
        #expect(try object(broker, Self.entity)["name"] as? String == "staff 100/7")
    }

    @Test func `names are not stored, and the tracker of an exited badge has its name after a restart`() throws {
        var (fixture, state, broker) = try state()
        state.name(Self.ada)
        state.deliver(to: &broker)
        fixture.advance(to: 100)
        state.follow(fixture)
        state.deliver(to: &broker)
        #expect(try object(broker, Self.tracker)["state"] as? String == "unsatisfied")
        let kept = state.encoded
        #expect(!String(decoding: kept, as: UTF8.self).contains("Ada"))
        var next = try PresentState(try PresentOptions.make(names: true), decoding: kept)
        next.name(Self.ada)
        next.repeatAll()
        var later = RetainingBroker()
        next.deliver(to: &later)
        #expect(try object(later, Self.tracker)["name"] as? String == "Ada")
        #expect(try object(later, Self.entity)["name"] as? String == "staff Ada")
    }

    @Test func `messages with names match the schema, and Home Assistant shows name and group`() throws {
        var home = try HomeAssistantFixture(names: true)
        home.state.name(Self.ada)
        try home.fixture.add("staff", perBeacon: true, at: 1)
        home.fixture.sighted(at: 2)
        home.deliver()
        home.show()
        let shown = try HomeAssistantSimulator.run(home.steps)
        let badge = "beacon_-staff_-F7826DA6-4FA2-4E98-8024-BC5B71E0893E_-100_-7"
        for entity in [badge, "condition_-staff"] {
            #expect(shown[0][entity]?.attributes["called"] as? String == "Ada")
            #expect(shown[0][entity]?.attributes["group"] as? String == "crew")
        }
    }

    @Test func `100,000 names are encoded in messages of at most 32 KiB, and decoded again`() throws {
        let long = String(repeating: "n", count: 128)
        let names = (0..<100_000).map { number in
            (
                BeaconIdentity.badge(
                    UInt16(truncatingIfNeeded: number), major: UInt16(truncatingIfNeeded: number >> 16)),
                PublishedName(
                    "\(number)" + long.dropFirst("\(number)".count), group: number % 3 == 0 ? nil : "g\(number % 7)")
            )
        }
        let messages = PublishedNames.messages(names)
        #expect(messages.allSatisfy { $0.count <= 32 << 10 })
        #expect(messages.count < PublishedNames.messagesMax)
        var reader = PublishedNamesReader()
        var read: [BeaconIdentity: PublishedName]?
        // The names of an incomplete sequence are discarded when a new sequence starts.
        #expect(reader.take([1] + messages[1].dropFirst()) { _ in })
        for (index, message) in messages.enumerated() {
            #expect(read == nil)
            let isTaken = reader.take(message[...]) { read = $0 }
            if !isTaken { Issue.record("message \(index) was refused") }
        }
        #expect(read == Dictionary(uniqueKeysWithValues: names))
        var none: [BeaconIdentity: PublishedName]?
        for message in PublishedNames.messages([]) { #expect(reader.take(message[...]) { none = $0 }) }
        #expect(none == [:])
    }

    @Test func `names that are cut off are refused, and damaged ones are refused or read without a trap`() {
        let message = PublishedNames.messages([(.badge(7), PublishedName("Ada", group: "crew"))])[0]
        for count in 0..<message.count {
            var reader = PublishedNamesReader()
            let isTaken = reader.take(message[..<count]) { _ in }
            // The first byte alone is a valid message without names.
            #expect(isTaken == (count == 1), "\(count)")
        }
        for place in message.indices {
            for byte in [0, 1, 0x7F, 0xFF] as [UInt8] {
                var damaged = message
                damaged[place] = byte
                var reader = PublishedNamesReader()
                _ = reader.take(damaged[...]) { _ in }
            }
        }
    }
}
