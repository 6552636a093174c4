import BrokerSupport
import EventLog
import Foundation
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import MQTTPublisher

/// The retained topics of a real broker during the life of a condition, as a later subscriber receives them.
@Suite struct ConditionLifeTests {
    /// The lines of a gateway in event files, its publisher, and the broker.
    private final class Fixture {
        var engine: PresentFixture
        let folder: TestFolder
        let broker: Broker
        let publisher: RunningPublisher
        private var written = 0

        init() throws {
            engine = try PresentFixture()
            folder = try TestFolder()
            broker = try Broker(folder)
            try FileManager.default.createDirectory(
                atPath: folder.file("events"), withIntermediateDirectories: true)
            let mark = ["-p", "\(broker.port)", "-h", "127.0.0.1", "-q", "1", "-r", "-t", "end", "-m", "of all"]
            #expect(try Child(BrokerTools.publish, mark).wait() == 0)
            var options = PublisherOptions(folder, port: broker.port)
            let present = try PresentOptions.make()
            options.retained = PublisherOptions.Retained(
                stem: "beacons/lobby", file: FilePath(folder.file("present.json")), state: present,
                lastWritten: .max)
            publisher = try RunningPublisher(options)
            try publisher.remark(with: "accepts lines from 1 on")
        }

        /// Appends the new lines of the engine to the event file.
        func write() throws {
            let path = folder.file("events/events-000000000001-20261121T074627Z.jsonl")
            var text = Data()
            for line in engine.lines[written...] { text += Data(line) + Data([0x0A]) }
            written = engine.lines.count
            if !FileManager.default.fileExists(atPath: path) {
                _ = FileManager.default.createFile(atPath: path, contents: nil)
            }
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.seekToEnd()
            try file.write(contentsOf: text)
            try file.close()
        }

        /// Returns all retained messages by topic, as a new subscriber receives them.
        func retained() throws -> [String: String] {
            // The broker sends them in the order of the subscriptions, so all have arrived when the last one arrives.
            let subscriber = try Child(
                BrokerTools.subscribe,
                [
                    "-p", "\(broker.port)", "-h", "127.0.0.1", "-q", "1", "--retained-only", "-v", "-t", "beacons/#",
                    "-t", "homeassistant/#", "-t", "end",
                ])
            try subscriber.line(with: "end of all")
            subscriber.end(SIGKILL)
            return subscriber.said.reduce(into: [:]) { topics, line in
                let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
                if parts.count == 2, parts[0] != "end" { topics[parts[0]] = parts[1] }
            }
        }

        /// Returns all retained topics as soon as the states are `states`, the gateway is `online`, and Home Assistant
        /// has this number of entities. The keys of `states` are topics without `beacons/lobby/`, such as
        /// `state/staff`. The publisher sends states before entities.
        func retained(once states: [String: String], entities: Int) async throws -> [String: String] {
            var topics: [String: String] = [:]
            var now: [String: String] = [:]
            try await until(
                "\(states) and \(entities) entities are retained", saw: "\(now), \(Self.entities(topics)) entities"
            ) {
                topics = try retained()
                now = [:]
                for (topic, payload) in topics {
                    guard let short = topic.split(separator: "beacons/lobby/").last,
                        topic.contains("lobby/state/")
                            || topic.contains("lobby/tracker/")
                    else { continue }
                    now[String(short)] = try presentObject(payload)["state"] as? String
                }
                return now == states && topics["beacons/lobby/availability"] == "online"
                    && Self.entities(topics) == entities
            }
            return topics
        }

        static func entities(_ topics: [String: String]) -> Int {
            topics.keys.count { $0.hasPrefix("homeassistant/") }
        }

        /// Returns the states of the presence and the tracker in a Home Assistant that has just started. A state is
        /// `nil` if it has no such entity.
        func shown(_ topics: [String: String]) throws -> [String?] {
            let steps = topics.keys.sorted().map { ["do": "publish", "topic": $0, "payload": topics[$0] ?? ""] }
            let shown = try #require(try HomeAssistantSimulator.run(steps + [["do": "show"]]).last)
            return [ConditionLifeTests.presence, ConditionLifeTests.tracker].map { shown[$0]?.state }
        }
    }

    private static let beacon = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E/100/7"
    private static let presence = "condition_-staff"
    private static let tracker = "beacon_-staff_-F7826DA6-4FA2-4E98-8024-BC5B71E0893E_-100_-7"
    private static let discovery = [
        "homeassistant/binary_sensor/beacons_2Flobby/\(presence)/config",
        "homeassistant/device_tracker/beacons_2Flobby/\(tracker)/config",
    ]

    @Test func `a broker retains each state: configured, satisfied, outage, back, exited, removed while it is down`()
        async throws
    {
        let fixture = try Fixture()
        let health = HomeAssistantHealth.all.count
        func topics(_ states: [String: String], entities: Int = 2) async throws -> [String: String] {
            try fixture.write()
            return try await fixture.retained(once: states, entities: health + entities)
        }
        func expect(_ states: [String: String], shows shown: [String?]) async throws {
            let topics = try await topics(states)
            #expect(try fixture.shown(topics) == shown, "\(states)")
        }
        try fixture.engine.add("staff", perBeacon: true, at: 1)
        let configured = try await topics(["state/staff": "unknown"], entities: 1)
        #expect(try fixture.shown(configured) == ["unavailable", nil])
        #expect(Fixture.entities(configured) == health + 1)
        #expect(configured[Self.discovery[0]] != nil)

        fixture.engine.sighted(at: 2)
        let both = ["state/staff", "state/staff/\(Self.beacon)", "tracker/staff/\(Self.beacon)"]
        func all(_ state: String) -> [String: String] { Dictionary(uniqueKeysWithValues: both.map { ($0, state) }) }
        let satisfied = try await topics(all("satisfied"))
        #expect(try fixture.shown(satisfied) == ["on", "home"])
        #expect(Self.discovery.allSatisfy { satisfied[$0] != nil })

        fixture.engine.listening(false, at: 3)
        fixture.engine.advance(to: 63)
        try await expect(all("unknown"), shows: ["unavailable", "unavailable"])

        fixture.engine.listening(true, at: 100)
        fixture.engine.sighted(at: 101)
        let back = try await topics(all("satisfied"))
        #expect(try fixture.shown(back) == ["on", "home"])
        #expect(try presentObject(back["beacons/lobby/state/staff"] ?? "")["date"] as? String != nil)

        // The beacon is forgotten, so its state is cleared (P1). The topic for Home Assistant stays.
        fixture.engine.advance(to: 131)
        let gone = try await topics(["state/staff": "unsatisfied", "tracker/staff/\(Self.beacon)": "unsatisfied"])
        #expect(try fixture.shown(gone) == ["off", "not_home"])
        fixture.engine.sighted(at: 140)
        try await expect(all("satisfied"), shows: ["on", "home"])

        fixture.broker.stop()
        try fixture.engine.remove("staff", at: 150)
        try fixture.write()
        try fixture.broker.start()
        let removed = try await fixture.retained(once: [:], entities: health)
        #expect(try fixture.shown(removed) == [nil, nil])
        #expect(removed.keys.filter { $0.contains("staff") }.isEmpty)
        #expect(Fixture.entities(removed) == health)

        // A normal stop publishes `offline`.
        try fixture.publisher.stop()
        #expect(try fixture.retained()["beacons/lobby/availability"] == "offline")
    }
}
