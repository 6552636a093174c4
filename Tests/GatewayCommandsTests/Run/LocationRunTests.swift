import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// `run` with a location source, as a separate process.
@Suite(.serialized) struct LocationRunTests {
    private static let depot = "- {identifier: depot, center: [48.2082, 16.3738], radius: 200}"

    private func payloads(_ fixture: LiveFixture, type: String) throws -> [[String: Any]] {
        try fixture.lines().map { try #require(try object($0)["payload"] as? [String: Any]) }
            .filter { $0["type"] as? String == type }
    }

    private func states(_ fixture: LiveFixture) throws -> [String] {
        try payloads(fixture, type: "event").compactMap { $0["state"] as? String }
    }

    private func state(_ status: [String: Any]) -> String? {
        let monitors = status["monitors"] as? [[String: Any]] ?? []
        return (monitors.first?["conditions"] as? [[String: Any]])?.first?["state"] as? String
    }

    @Test func `a played track makes events and is in the status, and a restart keeps the state`() throws {
        let fixture = try LiveFixture()
        let track = try fixture.write("ride.gpx", Fixtures.ride)
        let location = "location: {source: gpx, file: \(track), speed: 100}"
        let file = try fixture.write("g.yaml", fixture.configuration(location, conditions: Self.depot))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        try gateway.until("the gateway is outside again") { _ in try states(fixture).count >= 3 }
        #expect(try states(fixture) == ["unsatisfied", "satisfied", "unsatisfied"])
        let status = try gateway.status()
        let reported = try #require(status["location"] as? [String: Any])
        #expect(reported["source"] as? String == "gpx")
        #expect((reported["fixes"] as? Int ?? 0) > 50)
        try Schema.expectValid(Gateway.run("status", "--json", "--config", file).output, "--kind", "status")
        #expect(gateway.end() == 0)
        #expect(try payloads(fixture, type: "visit").map { $0["reason"] as? String } == ["left"])
        #expect(try payloads(fixture, type: "adapter").contains { $0["adapter"] as? String == "gpx" })
        // After the restart, the gateway is still outside. So the same track makes two more events, and none at the
        // start.
        let next = try RunningGateway(fixture, configuration: file)
        try next.log.line(with: "hci0 is listening")
        try next.until("the gateway is outside again, a second time") { _ in try states(fixture).count >= 5 }
        #expect(next.end() == 0)
        #expect(try states(fixture) == ["unsatisfied", "satisfied", "unsatisfied", "satisfied", "unsatisfied"])
    }

    @Test func `a reload adds a location source, and another reload removes it`() throws {
        let fixture = try LiveFixture()
        let track = try fixture.write("ride.gpx", Fixtures.ride)
        let file = try fixture.write("g.yaml", fixture.configuration(conditions: Self.depot))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        try gateway.until("the condition is unmonitored") { self.state($0) == "unmonitored" }
        let location = "location: {source: gpx, file: \(track), speed: 0.01}"
        _ = try fixture.write("g.yaml", fixture.configuration(location, conditions: Self.depot))
        gateway.signal(SIGHUP)
        try gateway.until("the gateway is outside") { self.state($0) == "unsatisfied" }
        _ = try fixture.write("g.yaml", fixture.configuration(conditions: Self.depot))
        gateway.signal(SIGHUP)
        try gateway.until("the condition is unmonitored again") { self.state($0) == "unmonitored" }
        #expect(gateway.end() == 0)
        #expect(try states(fixture) == ["unmonitored", "unknown", "unsatisfied", "unmonitored"])
    }

    @Test func `a track that cannot be read is logged, and beacons are monitored nevertheless`() throws {
        let fixture = try LiveFixture()
        let location = "location: {source: gpx, file: /nowhere/ride.gpx}"
        let staff = "- {identifier: staff, uuid: \(LiveFixture.uuid)}"
        let file = try fixture.write("g.yaml", fixture.configuration(location, conditions: staff + "\n" + Self.depot))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "/nowhere/ride.gpx")
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("staff is satisfied") { self.state($0) == "satisfied" }
        #expect(gateway.end() == 0)
        let event = try #require(try payloads(fixture, type: "event").first)
        #expect((event["diagnostics"] as? [String])?.contains("locationUnavailable") == true)
    }

    private static let gpsfake = Fixtures.tests.appendingPathComponent("Fixtures/gpsd/gpsfake.py").path

    @Test func `with a real gpsd, a receiver that moves through the circle makes an entry and an exit`() throws {
        let fixture = try LiveFixture()
        // 25 m per second, from 700 m south of the center to 700 m north of it.
        let log = (0..<57).map { second in
            let minutes = (48.2082 - 48) * 60 + (Double(second) * 25 - 700) / 1852
            let place = String(format: "48%08.5f,N,01622.42800,E", minutes)
            return [
                "GPGGA,0746%02d.00,\(place),1,08,0.9,180.0,M,43.0,M,,",
                "GPRMC,0746%02d.00,A,\(place),48.6,000.0,211126,,,A",
            ]
            .map { text in
                let text = text.replacing("%02d", with: String(format: "%02d", second))
                return "$\(text)*\(String(format: "%02X", text.utf8.reduce(0 as UInt8) { $0 ^ $1 }))\r\n"
            }.joined()
        }.joined()
        let nmea = try fixture.write("ride.nmea", log)
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let location = "location: {source: gpsd, host: 127.0.0.1, port: \(held.number)}"
        let file = try fixture.write("g.yaml", fixture.configuration(location, conditions: Self.depot))
        let daemon = try SpawnedProcess(
            Tool.python, [Self.gpsfake, "-q", "-c", "0.05", "-P", "\(held.number)", nmea], output: .null, errors: .null)
        // gpsfake ends its gpsd if it gets SIGINT.
        defer { daemon.endWithDescendants(SIGINT) }
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        try gateway.until("the gateway drove in and out") { _ in
            let states = try states(fixture)
            return states.contains("satisfied") && states.last == "unsatisfied"
        }
        #expect(gateway.end() == 0)
        let entering = try #require(
            try payloads(fixture, type: "event").first { $0["state"] as? String == "satisfied" })
        #expect(entering["lastSeen"] != nil)
        #expect(entering["sighting"] == nil)
        #expect(try payloads(fixture, type: "adapter").contains { $0["adapter"] as? String == "gpsd" })
    }
}
