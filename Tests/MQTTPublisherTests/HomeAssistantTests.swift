import Foundation
import PublisherProtocol
import Testing

@testable import BeaconMonitoring
@testable import MQTTPublisher

@Suite struct HomeAssistantTests {
    private let presence = "condition_-staff"
    private let badge = "beacon_-staff_-F7826DA6-4FA2-4E98-8024-BC5B71E0893E_-100_-7"

    @Test func `a presence shows a condition's life: configured, satisfied, outage, back, exited, removed`() throws {
        var home = try HomeAssistantFixture()
        var expected: [String?] = []
        func step<Failure: Error>(
            _ state: String?, _ body: (inout HomeAssistantFixture) throws(Failure) -> Void
        ) throws(Failure) {
            try body(&home)
            home.deliver()
            home.show()
            expected.append(state)
        }
        // No beacon was received yet, so the state is unknown.
        try step("unavailable") { try $0.fixture.add("staff", at: 1) }
        step("on") { $0.fixture.sighted(at: 2) }
        step("on") { $0.fixture.listening(false, at: 3) }
        step("unavailable") { $0.fixture.advance(to: 63) }
        step("unavailable") { $0.fixture.listening(true, at: 100) }
        step("on") { $0.fixture.sighted(at: 101) }
        step("unavailable") { $0.availability("offline") }
        step("on") { $0.availability("online") }
        step("off") { $0.fixture.advance(to: 131) }
        step("off") { $0.restartHomeAssistant() }
        step("on") { $0.fixture.sighted(at: 140) }
        try step(nil) { try $0.fixture.remove("staff", at: 141) }
        step(nil) { $0.restartHomeAssistant() }
        let shown = try HomeAssistantSimulator.run(home.steps)
        #expect(shown.map { $0[presence]?.state } == expected)
        #expect(home.broker.topics("staff").isEmpty)
        let on = try #require(shown[1][presence])
        #expect(on.attributes["since"] as? String == "2026-11-21T07:46:29.000000Z")
        #expect(on.attributes["last_seen"] as? String == "2026-11-21T07:46:29.000000Z")
        #expect((on.attributes["beacon"] as? [String: Any])?["minor"] as? Int == 7)
        #expect(on.attributes["assumed"] as? Bool == false)
    }

    // Released versions read the state topic, the proposed change reads zones. Trackers with only zones show nothing in
    // released versions.
    @Test(arguments: [(HomeAssistantOptions.Trackers.state, false), (.state, true), (.zones, true)])
    func `a tracker shows not_home after an exit, also after a restart of Home Assistant, but not in an outage`(
        trackers: HomeAssistantOptions.Trackers, readsZones: Bool
    ) throws {
        var home = try HomeAssistantFixture(trackers: trackers)
        var expected: [String?] = []
        func step<Failure: Error>(
            _ state: String?, _ body: (inout HomeAssistantFixture) throws(Failure) -> Void
        ) throws(Failure) {
            try body(&home)
            home.deliver()
            home.show()
            expected.append(state)
        }
        try step(nil) { try $0.fixture.add("staff", perBeacon: true, at: 1) }
        step("home") { $0.fixture.sighted(at: 2) }
        step("unavailable") {
            $0.fixture.listening(false, at: 3)
            $0.fixture.advance(to: 70)
        }
        step("unavailable") { $0.restartHomeAssistant() }
        step("home") {
            $0.fixture.listening(true, at: 100)
            $0.fixture.sighted(at: 101)
        }
        step("not_home") { $0.fixture.advance(to: 131) }
        #expect(home.broker.topics("/state/staff/").isEmpty, "P1: the beacon is forgotten after it is unsatisfied")
        step("not_home") { $0.restartHomeAssistant() }
        step("unavailable") { $0.availability("offline") }
        step("not_home") { $0.availability("online") }
        step("home") { $0.fixture.sighted(at: 200) }
        try step(nil) { try $0.fixture.remove("staff", at: 201) }
        let shown = try HomeAssistantSimulator.run(home.steps, zones: readsZones)
        #expect(shown.map { $0[badge]?.state } == expected)
        #expect(home.broker.topics("staff").isEmpty)
    }

    @Test func `trackers with only zones have no state topic, and changing the setting publishes all of them again`()
        throws
    {
        var home = try HomeAssistantFixture()
        try home.fixture.add("staff", perBeacon: true, at: 1)
        home.fixture.sighted(at: 2)
        home.deliver()
        let topic = try #require(home.broker.topics("device_tracker").first)
        let before = try presentObject(home.broker.retained[topic] ?? "")
        #expect(before["state_topic"] as? String == before["json_attributes_topic"] as? String)
        let kept = home.state.encoded
        home.state = try PresentState(PresentOptions.make(trackers: .zones), decoding: kept)
        #expect(home.state.hasChanges)
        home.deliver()
        home.show()
        let after = try presentObject(home.broker.retained[topic] ?? "")
        #expect(after["state_topic"] == nil && after["value_template"] == nil)
        #expect(after["unique_id"] as? String == before["unique_id"] as? String)
        #expect(try HomeAssistantSimulator.run(home.steps, zones: true).last?[badge]?.state == "home")
        // After this was stored, nothing is published again.
        #expect(try !PresentState(PresentOptions.make(trackers: .zones), decoding: home.state.encoded).hasChanges)
        // An earlier version of the program stored no `trackers`, because it had only zones. So trackers with a state
        // topic must be published again.
        let old = String(decoding: kept, as: UTF8.self).replacing(#","trackers":"state""#, with: "")
        #expect(try PresentState(PresentOptions.make(), decoding: Array(old.utf8)).hasChanges)
    }

    @Test func `an assumed state is shown, and marked as assumed`() throws {
        var home = try HomeAssistantFixture()
        try home.fixture.add("staff", assuming: .unsatisfied, at: 1)
        try home.fixture.add("door", .everyOther, assuming: .satisfied, at: 1)
        home.deliver()
        home.show()
        let shown = try #require(try HomeAssistantSimulator.run(home.steps).last)
        #expect(shown[presence]?.state == "off" && shown[presence]?.attributes["assumed"] as? Bool == true)
        #expect(shown["condition_-door"]?.state == "on")
    }

    @Test func `all entities are unavailable until the gateway publishes online`() throws {
        var home = try HomeAssistantFixture()
        home.availability("")
        home.restartHomeAssistant()
        try home.fixture.add("staff", assuming: .unsatisfied, at: 1)
        home.deliver()
        home.show()
        let shown = try #require(try HomeAssistantSimulator.run(home.steps).last)
        #expect(Set(shown.values.map(\.state)) == ["unavailable"])
        #expect(shown.count == 1 + HomeAssistantHealth.all.count)
    }

    @Test func `missing lines make all known states unavailable, never away`() throws {
        var home = try HomeAssistantFixture()
        try home.fixture.add("staff", perBeacon: true, at: 1)
        home.fixture.sighted(at: 2)
        home.fixture.sighted(.badge(8), at: 2)
        home.fixture.advance(to: 20)
        home.fixture.sighted(.badge(8), at: 20)
        home.fixture.advance(to: 35)
        home.deliver()
        home.show()
        home.fixture.lose(3)
        try home.fixture.add("late", .everyOther, at: 40)
        home.deliver()
        home.show()
        let shown = try HomeAssistantSimulator.run(home.steps)
        #expect(shown[0][presence]?.state == "on" && shown[0][badge]?.state == "not_home")
        #expect(Set(shown[1].filter { !$0.key.hasPrefix("health") }.values.map(\.state)) == ["unavailable"])
    }

    @Test func `entities of the gateway show its status: unavailable before the first, unknown if cleared`() throws {
        var home = try HomeAssistantFixture()
        home.deliver()
        home.show()
        home.publish("status", Self.status)
        home.show()
        home.publish("status", Self.status.replacing(#""diagnostics":[]"#, with: Self.failed))
        home.show()
        home.publish("status", "")
        home.show()
        let shown = try HomeAssistantSimulator.run(home.steps)
        #expect(Set(shown[0].values.map(\.state)) == ["unavailable"])
        #expect(
            shown[1].mapValues(\.state) == [
                "health_-listening": "on", "health_-adapters": "1", "health_-storage": "off", "health_-clock": "off",
                "health_-hearing": "off", "health_-waiting": "2", "health_-backlog": "7",
                "health_-dropped": "5",
                "health_-started": "2026-11-21T07:00:00.000000Z", "health_-uptime": "2787.5",
                "health_-broker": "on", "health_-delivery": "off", "health_-shipped": "33", "health_-missed": "0",
                "health_-refusals": "3", "health_-connections": "4",
            ])
        #expect(["storage", "clock", "hearing"].allSatisfy { shown[2]["health_-\($0)"]?.state == "on" })
        #expect(Set(shown[3].values.map(\.state)) == ["unknown"])
    }

    @Test(arguments: [
        (#"{"backlog":7,"shipped":33,"state":"refused","version":"5","trouble":"it refuses"}"#, "on", "on", "33"),
        (#"{"backlog":7,"shipped":33,"state":"draining","version":"3.1.1","localTrouble":"full"}"#, "on", "on", "33"),
        (#"{"backlog":7,"shipped":0,"state":"waiting"}"#, "off", "off", "0"),
    ])
    func `the entities of the broker show connection, delivery and last line, and are unknown without a broker`(
        mqtt: String, broker: String, delivery: String, published: String
    ) throws {
        var home = try HomeAssistantFixture()
        home.deliver()
        home.publish("status", Self.status.replacing(Self.mqtt, with: mqtt))
        home.show()
        home.publish("status", Self.status.replacing(",\"mqtt\":" + Self.mqtt, with: ""))
        home.show()
        let shown = try HomeAssistantSimulator.run(home.steps)
        let states = ["broker", "delivery", "shipped"].map { shown[0]["health_-\($0)"]?.state }
        #expect(states == [broker, delivery, published])
        // The status of a gateway without a broker has no `mqtt`. No real broker receives it, so the test makes it. All
        // values of the broker are unknown then.
        for name in ["broker", "delivery", "shipped", "backlog", "missed", "refusals", "connections"] {
            #expect(shown[1]["health_-\(name)"]?.state == "unknown", "\(name)")
        }
    }

    private static let failed =
        #""diagnostics":["accuracyLimited","persistenceUnavailable","clockUnsynchronized"]"#
    private static let status = """
        {"version":2,"type":"status","gateway":"lobby","boot":"5f0c","process":1,"uptime":2787.5,\
        "started":"2026-11-21T07:00:00.000000Z","state":"listening","diagnostics":[],"adapters":[\
        {"name":"hci0","state":"listening"},{"name":"hci1","state":"off"}],"monitors":[],"output":{"directory":"/x",\
        "sequence":42,"durableSequence":40,"waiting":9,"lines":42,"dropped":5},"mqtt":\(mqtt)}
        """
    private static let mqtt =
        #"{"state":"connected","version":"5","shipped":33,"backlog":7,"missed":0,"refusals":3,"connections":4}"#

    @Test(arguments: [
        ("staff", "staff"), ("a_b", "a__b"), ("a b", "a_20b"), ("dépôt", "d_C3_A9p_C3_B4t"), ("e\u{301}", "e_CC_81"),
        ("é", "_C3_A9"), ("_20", "__20"), ("_-x", "__-x"), ("Ünïcode\u{1F600}", "_C3_9Cn_C3_AFcode_F0_9F_98_80"),
    ])
    func `different names get different encodings, with characters that discovery allows`(name: String, part: String) {
        #expect(HomeAssistantName.part(name) == part)
    }

    @Test func `conditions with unusual or similar names have separate entities, which match the schema`() throws {
        var home = try HomeAssistantFixture()
        let names = ["a_b", "a b", "a__b", "a_20b", "é", "e\u{301}", #"q"uote\"#, "😀", "_", "__", "{{ 1 }}", "%s"]
        for name in names { try home.fixture.add(name, assuming: .unsatisfied, perBeacon: true, at: 1) }
        home.fixture.sighted(at: 2)
        home.deliver()
        home.show()
        let shown = try #require(try HomeAssistantSimulator.run(home.steps).last)
        #expect(shown.filter { $0.key.hasPrefix("condition") }.map(\.value.state) == names.map { _ in "on" })
        #expect(shown.filter { $0.key.hasPrefix("beacon") }.map(\.value.state) == names.map { _ in "home" })
    }

    @Test func `a renamed gateway keeps its entities, and their state topics have the new name`() throws {
        var home = try HomeAssistantFixture()
        try home.fixture.add("staff", assuming: .unsatisfied, perBeacon: true, at: 1)
        home.fixture.sighted(at: 2)
        home.deliver()
        let before = Set(home.broker.topics("homeassistant/"))
        home.state = try PresentState(
            PresentOptions.make(gateway: "reception", prefix: "site/2"), decoding: home.state.encoded)
        home.deliver()
        home.publish("availability", "online", below: "site/2/reception/")
        home.show()
        #expect(Set(home.broker.topics("homeassistant/")) == before)
        #expect(home.broker.topics("beacons/lobby").isEmpty)
        let shown = try #require(try HomeAssistantSimulator.run(home.steps).last)
        #expect(shown[presence]?.state == "on" && shown[badge]?.state == "home")
    }

    @Test(arguments: [
        (#""unique_id":"#, #""uniq_id":"#), (#""device_class":"presence""#, #""device_class":"people""#),
        (#""availability_mode":"all""#, #""availability_mode":"most""#), (#""identifiers":["#, #""identifiers":[5,"#),
        ("{% if value_json", "{% fi value_json"), (#""qos":1"#, #""qos":"1""#),
    ])
    func `the simulator refuses an invalid discovery message`(part: String, other: String) throws {
        var home = try HomeAssistantFixture()
        try home.fixture.add("staff", assuming: .unsatisfied, at: 1)
        home.deliver()
        var steps = home.steps
        for index in steps.indices {
            steps[index]["payload"] = steps[index]["payload"]?.replacing(part, with: other)
        }
        #expect(steps != home.steps)
        #expect(try HomeAssistantSimulator.refusal(of: home.steps) == nil)
        #expect(try HomeAssistantSimulator.refusal(of: steps) != nil)
    }
}
