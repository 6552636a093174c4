import Foundation
import Glibc
import ProgramSupport
import Testing

/// `run` with a broker, over a private bus.
@Suite struct PublishingTests {
    private func mqtt(_ status: [String: Any]) -> [String: Any] { status["mqtt"] as? [String: Any] ?? [:] }

    @Test func `if the broker is down at the start, the gateway scans, writes and reports it, then publishes`() throws {
        let fixture = try LiveFixture()
        let broker = try LocalBroker()
        let file = try fixture.write(
            "g.yaml", fixture.configuration("mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}"))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("staff is satisfied") { status in
            ((status["output"] as? [String: Any])?["durableSequence"] as? Int ?? 0) >= 4
        }
        try gateway.until("the status has the reason why the broker has nothing") {
            (mqtt($0)["trouble"] as? String)?.contains("can't be reached") == true
        }
        let waiting = mqtt(try gateway.status())
        #expect(waiting["shipped"] as? Int == 0)
        #expect(waiting["backlog"] as? Int ?? 0 >= 4)
        try Schema.expectValid(Gateway.run("status", "--json", "--config", file).output, "--kind", "status")
        #expect(try Gateway.run("status", "--config", file).text.contains("can't be reached"))
        try broker.start()
        try gateway.until("all lines are published") {
            mqtt($0)["state"] as? String == "connected" && mqtt($0)["backlog"] as? Int == 0
        }
        let retained = try broker.messages(1, of: "beacons/lobby/availability")
        #expect(retained == ["beacons/lobby/availability online"])
        let state = try broker.messages(1, of: "beacons/lobby/state/staff")
        #expect(state.first?.contains("\"satisfied\"") == true, "\(state)")
        let status = try broker.messages(1, of: "beacons/lobby/status")
        let report = try object(String(try #require(status.first).dropFirst("beacons/lobby/status ".count)))
        #expect(report["type"] as? String == "status")
        // At an orderly end, the gateway publishes that it is offline.
        #expect(gateway.end() == 0)
        #expect(try broker.messages(1, of: "beacons/lobby/availability") == ["beacons/lobby/availability offline"])
    }

    @Test func `a killed gateway is offline by its will; restarted, it continues to publish and is online`() throws {
        let fixture = try LiveFixture()
        let broker = try LocalBroker()
        try broker.start()
        let file = try fixture.write(
            "g.yaml",
            fixture.configuration("mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s, home_assistant: true}")
        )
        for _ in 0..<2 {
            let gateway = try RunningGateway(fixture, configuration: file)
            try gateway.log.line(with: "hci0 is listening")
            fixture.advertise()
            try gateway.until("all lines are published") {
                mqtt($0)["state"] as? String == "connected" && mqtt($0)["backlog"] as? Int == 0
            }
            #expect(try broker.messages(1, of: "beacons/lobby/availability") == ["beacons/lobby/availability online"])
            let discovery = try broker.messages(1, of: "homeassistant/binary_sensor/#")
            #expect(discovery.first?.contains("\"availability\"") == true)
            #expect(gateway.end(by: SIGKILL) == -SIGKILL)
            // The broker publishes the will when it detects the lost connection.
            try broker.waitForMessage(with: "beacons/lobby/availability offline", of: "beacons/lobby/availability")
        }
    }

    @Test func `the broker gets names only with mqtt.names, new ones after a reload; lines have no names`() throws {
        let fixture = try LiveFixture()
        let broker = try LocalBroker()
        try broker.start()
        func configuration(_ name: String, _ names: Bool) -> String {
            fixture.configuration(
                """
                mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s, home_assistant: true, names: \(names)}
                beacons: [{major: 100, minor: 7, name: \(name), group: crew}]
                """, exitTimeout: "3600s")
        }
        let badge = "\(LiveFixture.uuid)/100/7"
        let topic = "beacons/lobby/state/staff/\(badge)"
        func reported(_ gateway: RunningGateway, _ name: String) throws {
            try gateway.until("\(name) is published") { _ in
                try broker.messages(1, of: topic).first?.contains(#""name":"\#(name)","group":"crew""#) == true
            }
        }
        let file = try fixture.write("g.yaml", configuration("Ada", true))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise(minor: 7)
        try reported(gateway, "Ada")
        let entity = try broker.messages(1, of: "homeassistant/device_tracker/#")
        #expect(entity.first?.contains(#""name":"staff Ada""#) == true, "\(entity)")
        _ = try fixture.write("g.yaml", configuration("Ben", true))
        gateway.signal(SIGHUP)
        try reported(gateway, "Ben")
        #expect(!(try Gateway.run("status", "--json", "--config", file).text.contains("Ben")))
        #expect(gateway.end() == 0)
        for line in try fixture.lines() {
            #expect(!line.contains("Ada") && !line.contains("Ben") && !line.contains("crew"))
        }
        // The setting is off again, so no message at the broker has a name any more.
        _ = try fixture.write("g.yaml", configuration("Ben", false))
        let next = try RunningGateway(fixture, configuration: file)
        try next.log.line(with: "hci0 is listening")
        try next.until("the state is published without a name") { _ in
            try broker.messages(1, of: topic).first?.contains(#""name""#) == false
        }
        #expect(try broker.messages(1, of: "homeassistant/device_tracker/#").first?.contains("Ben") == false)
        #expect(next.end() == 0)
    }

    @Test func `check warns of a password file that all users can read, and of nothing else`() throws {
        let scratch = try Scratch()
        let password = try scratch.write("password", "x\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: password)
        let file = try scratch.write(
            "g.yaml",
            """
            mqtt: {host: localhost, username: u, password_file: \(password)}
            conditions: [{identifier: staff, uuid: \(LiveFixture.uuid)}]

            """)
        let ending = try Gateway.run("check", file)
        #expect(ending.status == 0)
        #expect(ending.errors == "warning: all users can read \(password): sudo chmod o= \(password)\n")
    }
}

/// `publish` from the command line, and event files that only mosquitto's client publishes.
@Suite struct PublishCommandTests {
    private static func line(_ number: Int) -> String {
        #"{"topic":"beacons/lobby/event/staff","qos":1,"retain":false,"payload":{"version":2,"type":"event","#
            + #""gateway":"lobby","boot":"aaaaaaaa-00000001","sequence":\#(number),"date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1}}"#
    }

    private struct Fixture {
        let scratch: Scratch
        let broker: LocalBroker
        let configuration: String

        init() throws {
            scratch = try Scratch()
            broker = try LocalBroker()
            try broker.start()
            try FileManager.default.createDirectory(atPath: scratch.path("events"), withIntermediateDirectories: true)
            _ = try scratch.write(
                "events/events-000000000001-20261121T074627Z.jsonl",
                (1...20).map { PublishCommandTests.line($0) + "\n" }.joined())
            configuration = try scratch.write(
                "g.yaml",
                """
                gateway: {name: lobby}
                mqtt: {host: 127.0.0.1, port: \(broker.port)}
                conditions: [{identifier: staff, uuid: \(LiveFixture.uuid)}]

                """)
        }

        /// Returns the messages that a subscriber receives while `body` publishes.
        func received(_ count: Int, _ topic: String, _ body: () throws -> Void) throws -> [String] {
            let session = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-i", "s", "-c", "-q", "1", "-t", topic]
            #expect(try run(LocalBroker.subscriber, session + ["-E"]).status == 0)
            try body()
            let ending = try run(LocalBroker.subscriber, session + ["-v", "-C", "\(count)", "-W", "300"])
            #expect(ending.status == 0, "\(ending.lines)")
            return ending.lines
        }
    }

    private static func payload(_ number: Int) throws -> String {
        let line = line(number)
        let start = try #require(line.range(of: "\"payload\":")).upperBound
        return String(line[start...].dropLast())
    }

    private static func expect(
        _ lines: [String], _ numbers: ClosedRange<Int>, topic: String = "beacons/lobby/event/staff",
        location: SourceLocation = #_sourceLocation
    ) throws {
        let expected = try numbers.map { "\(topic) \(try payload($0))" }
        #expect(lines == expected, sourceLocation: location)
    }

    @Test func `publish sends a folder once, and with --from again`() throws {
        let fixture = try Fixture()
        let events = fixture.scratch.path("events")
        let first = try fixture.received(20, "beacons/#") {
            let ending = try Gateway.run("publish", events, "--config", fixture.configuration)
            #expect(ending.status == 0, "\(ending.errors)")
            #expect(
                ending.errors.contains("20 lines were published; the broker has all lines up to 20"), "\(ending.errors)"
            )
        }
        try Self.expect(first, 1...20)
        let again = try Gateway.run("publish", events, "--config", fixture.configuration)
        #expect(again.errors.contains("0 lines were published; the broker has all lines up to 20"), "\(again.errors)")
        let some = try fixture.received(3, "beacons/#") {
            let ending = try Gateway.run("publish", events, "--config", fixture.configuration, "--from", "18")
            #expect(ending.status == 0, "\(ending.errors)")
        }
        try Self.expect(some, 18...20)
    }

    @Test func `publish fails with a reason and an exit code if it cannot publish`() throws {
        let fixture = try Fixture()
        let absent = try Gateway.run("publish", fixture.scratch.path("absent"), "--config", fixture.configuration)
        #expect(absent.status == 66)
        #expect(try Gateway.run("publish", fixture.scratch.path("events"), "--from", "0").status == 64)
        let without = try fixture.scratch.write(
            "n.yaml", "conditions: [{identifier: staff, uuid: \(LiveFixture.uuid)}]\n")
        let nowhere = try Gateway.run("publish", fixture.scratch.path("events"), "--config", without)
        #expect(nowhere.status == 78)
        #expect(nowhere.errors.contains("has no broker"))
        _ = try fixture.scratch.write("events/publish.json", "{}")
        let damaged = try Gateway.run("publish", fixture.scratch.path("events"), "--config", fixture.configuration)
        #expect(damaged.status == 1)
        #expect(damaged.errors.contains("does not contain the last published line"), "\(damaged.errors)")
    }

    @Test func `jq and mosquitto_pub alone can publish the event files`() throws {
        let fixture = try Fixture()
        let lines = try fixture.received(20, "beacons/lobby/events") {
            let ending = try run(
                "/bin/bash",
                [
                    "-c",
                    """
                    cd "\(fixture.scratch.path("events"))"
                    jq -c 'select(.topic) | .payload' events-*.jsonl |
                      split -l 7 --filter='mosquitto_pub -h 127.0.0.1 -p \(fixture.broker.port) -q 1 -t beacons/lobby/events -l'
                    """,
                ])
            #expect(ending.status == 0, "\(ending.errors)")
        }
        try Self.expect(lines, 1...20, topic: "beacons/lobby/events")
        let topics = try fixture.received(20, "beacons/lobby/event/#") {
            let ending = try run(
                "/bin/bash",
                [
                    "-c",
                    #"""
                    cd "\#(fixture.scratch.path("events"))"
                    jq -r 'select(.topic) | [.topic, (.payload | tostring)] | @tsv' events-*.jsonl |
                      while IFS=$'\t' read -r topic payload; do
                        mosquitto_pub -h 127.0.0.1 -p \#(fixture.broker.port) -q 1 -t "$topic" -m "$payload"
                      done
                    """#,
                ])
            #expect(ending.status == 0, "\(ending.errors)")
        }
        try Self.expect(topics, 1...20)
    }
}
