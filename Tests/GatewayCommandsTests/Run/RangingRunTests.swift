import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// `ranging` lines of a running gateway.
@Suite struct RangingRunTests {
    private static let conditions =
        "- {identifier: staff, uuid: \(LiveFixture.uuid), ranging: true}\n- {identifier: others, uuid: \(LiveFixture.uuid)}"

    private func rangings(_ fixture: LiveFixture) throws -> [[String: Any]] {
        try payloads(fixture.lines(), type: "ranging")
    }

    @Test func `while a beacon is in view, one line per second is written, then an empty one, then none`() throws {
        let fixture = try LiveFixture()
        let file = try fixture.write(
            "g.yaml", fixture.configuration("ranging: {window: 1s}", conditions: Self.conditions))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("no beacon is in view any more") { _ in
            (try rangings(fixture).last?["beacons"] as? [[String: Any]])?.isEmpty == true
        }
        let status = try gateway.status()
        #expect((status["counters"] as? [String: Any])?["rangingLines"] as? Int == 2)
        try Schema.expectValid(Gateway.run("status", "--json", "--config", file).output, "--kind", "status")
        try Schema.expectValid(Array(fixture.lines().map { $0 + "\n" }.joined().utf8), "--first", "1")
        #expect(gateway.end() == 0)
        let reported = try rangings(fixture)
        #expect(reported.map { $0["identifier"] as? String } == ["staff", "staff"])
        #expect(reported.compactMap { ($0["beacons"] as? [[String: Any]])?.count } == [1, 0])
        let monotonic = reported.compactMap { $0["monotonic"] as? Int }
        #expect(monotonic.allSatisfy { $0 % 1_000_000 == 0 })
        #expect(monotonic.count == 2 && monotonic[1] - monotonic[0] == 1_000_000)
    }

    @Test func `a reload switches ranging on and off`() throws {
        let fixture = try LiveFixture()
        let off = Self.conditions.replacing("ranging: true", with: "ranging: false")
        let file = try fixture.write("g.yaml", fixture.configuration("ranging: {window: 1s}", conditions: off))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("a sighting was received") {
            (($0["counters"] as? [String: Any])?["sightings"] as? Int ?? 0) > 0
        }
        #expect(((try gateway.status())["counters"] as? [String: Any])?["rangingLines"] == nil)
        _ = try fixture.write("g.yaml", fixture.configuration("ranging: {window: 1s}", conditions: Self.conditions))
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "changed: staff")
        fixture.advertise()
        try gateway.until("a ranging line is written") { _ in try !rangings(fixture).isEmpty }
        _ = try fixture.write("g.yaml", fixture.configuration("ranging: {window: 1s}", conditions: off))
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "changed: staff")
        #expect(((try gateway.status())["counters"] as? [String: Any])?["rangingLines"] == nil)
        #expect(gateway.end() == 0)
    }

    @Test func `the broker gets new ranging lines at QoS 0, even if no line with a sequence number follows`() throws {
        let fixture = try LiveFixture()
        let broker = try LocalBroker()
        try broker.start()
        let file = try fixture.write(
            "g.yaml",
            fixture.configuration(
                "ranging: {window: 1s}\nmqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 60s}",
                conditions: Self.conditions))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        try gateway.until("the publisher is connected") {
            ($0["mqtt"] as? [String: Any])?["state"] as? String == "connected"
        }
        let subscriber = try SpawnedProcess(
            LocalBroker.subscriber,
            [
                "-h", "127.0.0.1", "-p", "\(broker.port)", "-q", "1", "-C", "1", "-W", "300", "-t",
                "beacons/lobby/ranging/#", "-F", "%q %r %t %p",
            ], output: .pipe)
        // After the first advertisement, no further one makes a line with a sequence number.
        try gateway.until("a ranging message is received") { _ in
            fixture.advertise()
            return !subscriber.isRunning
        }
        let said = String(decoding: try #require(subscriber.output).readDataToEndOfFile(), as: UTF8.self)
        #expect(
            said.hasPrefix(#"0 0 beacons/lobby/ranging/staff {"version":2,"type":"ranging","gateway":"lobby""#),
            "\(said)")
        #expect(!said.contains("sequence"))
        #expect(gateway.end() == 0)
    }
}
