import CommandSupport
import EventLoops
import Foundation
import Glibc
import JSON
import ProgramSupport
import SystemPackage
import TestSupport
import Testing

@testable import ReportServing

/// Metrics with values from the status of the gateway.
@Suite struct DaemonStatusTests {
    /// A status socket that accepts requests, and answers them with a text of the test or not at all.
    private final class Desk {
        let listener: UnixSocket.Listener
        private(set) var asked: [FileDescriptor] = []

        init(_ path: String) throws { listener = try UnixSocket.Listener(at: path) }

        deinit { for each in asked { try? each.close() } }

        func look() throws { while let next = try listener.accept() { asked.append(next) } }

        func say(_ text: String) throws {
            for each in asked {
                try each.writeAll(text.utf8)
                try each.close()
            }
            asked = []
        }
    }

    private static let said = #"""
        {"version":2,"type":"status","uptime":12.5,"diagnostics":["clockUnsynchronized"],"adapters":[{"name":"hci0",\#
        "state":"listening","reports":70,"lost":3},{"name":"hci1","state":"off","reports":5,"lost":0}],"monitors":[],\#
        "output":{"directory":"/e","sequence":40,"durableSequence":37,"waiting":2,"lines":40,"dropped":1,\#
        "droppedUnnumbered":0,"deletedUnshipped":0,"failures":4,"trouble":"full"},"mqtt":{"host":"b","state":"draining",\#
        "backlog":9,"inFlight":4,"acknowledged":31,"refusals":0,"missed":0,"connections":2,"failures":1},\#
        "counters":{"reports":75,"sightings":60,"reportsOfOthers":15,"lateInputs":0,"untrackedBeacons":0,\#
        "refusedBeacons":0}}

        a page for people
        """#

    private func fixture() throws -> (ServedFixture, Desk) {
        let fixture = try ServedFixture { $0.started(1) }
        fixture.statusSocket = fixture.scratch.path("status.sock")
        let desk = try Desk(fixture.statusSocket)
        try fixture.start()
        return (fixture, desk)
    }

    private func metrics(_ fixture: ServedFixture, _ desk: Desk, _ text: String) async throws -> String {
        try await fixture.turn(until: "all lines are read") { fixture.served.following.isCurrent }
        let peer = try fixture.open("/metrics")
        try await fixture.turn(until: "a request reaches the gateway") {
            try desk.look()
            return !desk.asked.isEmpty
        }
        try desk.say(text)
        try await fixture.turn(until: "an answer") { peer.isAnswered }
        return peer.text
    }

    @Test func `metrics have the values of the gateway's status, and promtool accepts them`() async throws {
        let (fixture, desk) = try fixture()
        let text = try await metrics(fixture, desk, Self.said)
        let samples = MetricsTests.samples(text)
        for (name, value) in [
            "status_known": 1, "uptime_seconds": 12.5, "adapters_listening": 1,
            #"adapter_reports_total{adapter="hci0"}"#: 70, #"adapter_reports_total{adapter="hci1"}"#: 5,
            #"adapter_reports_lost_total{adapter="hci0"}"#: 3, #"diagnostic{flag="clockUnsynchronized"}"#: 1,
            #"diagnostic{flag="persistenceUnavailable"}"#: 0, "journal_undurable_lines": 3, "journal_waiting_lines": 2,
            "journal_trouble": 1, "journal_dropped_lines_total": 1, "journal_failures_total": 4, "broker_connected": 1,
            "broker_trouble": 0, "broker_backlog_lines": 9, "broker_in_flight_lines": 4,
            "broker_acknowledged_lines_total": 31, "broker_connections_total": 2, "broker_failures_total": 1,
            "reports_total": 75, "sightings_total": 60, "reports_of_others_total": 15,
        ] {
            #expect(samples["beacon_gateway_\(name)"] == value, "\(name)")
        }
        let body = try #require(text.split(separator: "\r\n\r\n", maxSplits: 1).last)
        let ending = try run("/usr/bin/promtool", ["check", "metrics"], input: Array(body.utf8))
        #expect(ending.status == 0 && ending.errors.isEmpty && ending.text.isEmpty, "\(ending.errors)\(ending.text)")
    }

    private static let daemonOnly = [
        "uptime", "adapters_listening", "adapter_reports", "diagnostic", "journal", "broker",
    ]

    private func hasNothingOfTheDaemon(_ text: String) {
        #expect(MetricsTests.samples(text)["beacon_gateway_status_known"] == 0)
        for name in Self.daemonOnly { #expect(!text.contains("beacon_gateway_\(name)"), "\(name)") }
    }

    @Test(arguments: ["", "\n", "{\"uptime\":1", "[]x\n", "no JSON at all\n"])
    func `after an empty or invalid status, status_known is 0 and its series are absent`(_ said: String) async throws {
        let (fixture, desk) = try fixture()
        hasNothingOfTheDaemon(try await metrics(fixture, desk, said))
    }

    @Test func `values that are missing in the gateway's status are missing in the metrics`() async throws {
        let (fixture, desk) = try fixture()
        let text = try await metrics(fixture, desk, "{\"counters\":{\"reports\":3}}\n")
        let samples = MetricsTests.samples(text)
        #expect(samples["beacon_gateway_status_known"] == 1 && samples["beacon_gateway_reports_total"] == 3)
        #expect(samples["beacon_gateway_sightings_total"] == nil)
        for name in Self.daemonOnly { #expect(!text.contains("beacon_gateway_\(name)"), "\(name)") }
    }

    @Test func `if no gateway answers at the socket, status_known is 0 and its series are absent`() async throws {
        let fixture = try ServedFixture { $0.started(1) }
        fixture.statusSocket = fixture.scratch.path("nobody.sock")
        try fixture.start()
        hasNothingOfTheDaemon(try await fixture.get("/metrics").body)
    }

    @Test func `5 scrapes of a hanging gateway send it at most 2 requests, and do not delay a page`() async throws {
        let (fixture, desk) = try fixture()
        try await fixture.turn(until: "all lines are read") { fixture.served.following.isCurrent }
        let peers = try (0..<5).map { _ in try fixture.open("/metrics") }
        try await fixture.turn(until: "a request reaches the gateway") {
            try desk.look()
            return !desk.asked.isEmpty
        }
        #expect(try await fixture.get("/").head.hasPrefix("HTTP/1.1 200"))
        for peer in peers {
            try await fixture.turn(until: "an answer") {
                try desk.look()
                return peer.isAnswered
            }
            hasNothingOfTheDaemon(peer.text)
        }
        #expect(desk.asked.count <= 2)
    }

    @Test func `a status that does not end counts as no answer`() async throws {
        let (fixture, desk) = try fixture()
        try await fixture.turn(until: "all lines are read") { fixture.served.following.isCurrent }
        let peer = try fixture.open("/metrics")
        try await fixture.turn(until: "a request reaches the gateway") {
            try desk.look()
            return !desk.asked.isEmpty
        }
        let asked = try #require(desk.asked.first)
        let part = [UInt8](repeating: 0x20, count: 65_536)
        try await fixture.turn(until: "an answer") {
            _ = part.withUnsafeBytes { send(asked.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            return peer.isAnswered
        }
        hasNothingOfTheDaemon(peer.text)
    }

    @Test func `metrics of a running gateway have the values of its status`() async throws {
        let live = try LiveFixture()
        let gateway = try RunningGateway(live, configuration: live.write("g.yaml", live.configuration()))
        try gateway.log.line(with: "hci0 is listening")
        live.advertise()
        try gateway.until("a beacon was received") {
            (($0["counters"] as? [String: Any])?["sightings"] as? Int ?? 0) > 0
        }
        let fixture = try ServedFixture { $0.started(1) }
        fixture.statusSocket = live.path("status.sock")
        try fixture.start()
        let samples = MetricsTests.samples(try await fixture.get("/metrics").body)
        let status = try gateway.status()
        let counters = try #require(status["counters"] as? [String: Any])
        #expect(samples["beacon_gateway_sightings_total"] == (counters["sightings"] as? Int).map(Double.init))
        #expect(samples["beacon_gateway_adapters_listening"] == 1)
        #expect(samples[#"beacon_gateway_adapter_reports_total{adapter="hci0"}"#] == 1)
        #expect(samples["beacon_gateway_journal_trouble"] == 0)
        #expect(samples["beacon_gateway_status_known"] == 1)
        // No broker is configured, so the metrics must not have its series.
        #expect(!samples.keys.contains { $0.contains("broker") })
        #expect(gateway.end() == 0)
    }
}
