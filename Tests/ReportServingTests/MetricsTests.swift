import Foundation
import ProgramSupport
import Testing

@testable import ReportServing

@Suite struct MetricsTests {
    /// Returns the values of samples by their names and labels.
    static func samples(_ text: String) -> [String: Double] {
        var samples: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " ") else { continue }
            samples[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        return samples
    }

    @Test func `counters equal the counts of the lines after 10,001 events, and after a restart`() async throws {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.adapter("listening", 2)
            for number in 0..<2500 {
                $0.completeVisit("staff", Double(number) * 40, Double(number) * 40 + 5, minor: number % 50)
                $0.completeVisit("lobby", Double(number) * 40, Double(number) * 40 + 5)
            }
            $0.event("staff", "satisfied", 200_000, minor: 60, seen: 200_000)
        }
        try fixture.live(200_001)
        for _ in 0..<2 {
            let samples = Self.samples(try await fixture.get("/metrics").body)
            #expect(samples["beacon_gateway_lines_total{type=\"event\"}"] == 10_001)
            #expect(samples["beacon_gateway_lines_total{type=\"visit\"}"] == 5000)
            for (condition, scope, extra) in [("staff", "beacon", 1.0), ("lobby", "condition", 0.0)] {
                let labels = "condition=\"\(condition)\",scope=\"\(scope)\""
                #expect(samples["beacon_gateway_events_total{\(labels),state=\"satisfied\"}"] == 2500 + extra)
                #expect(samples["beacon_gateway_events_total{\(labels),state=\"unsatisfied\"}"] == 2500)
                #expect(samples["beacon_gateway_visits_total{\(labels)}"] == 2500)
            }
            #expect(samples["beacon_gateway_adapter_listening{adapter=\"hci0\"}"] == 1)
            #expect(samples["beacon_gateway_alive"] == 1)
            #expect(samples["beacon_gateway_lines_missed_total"] == 0)
            try fixture.start()
        }
    }

    @Test func `no beacon has its own series: 2 and 500 beacons give the same number of series`() async throws {
        func series(_ beacons: Int) async throws -> Int {
            let fixture = try ServedFixture {
                for number in 0..<beacons { $0.event("staff", "satisfied", 10, minor: number, seen: 10) }
            }
            try fixture.live(11)
            return Self.samples(try await fixture.get("/metrics").body).count
        }
        let (few, many) = (try await series(2), try await series(500))
        #expect(few == many)
    }

    @Test func `promtool reports no error and no warning`() async throws {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.adapter("listening", 2)
            $0.completeVisit(#"odd \" name\\"#, 10, 20)
            $0.completeVisit("staff", 10, 20, minor: 7)
        }
        try fixture.live(100)
        let ending = try run(
            "/usr/bin/promtool", ["check", "metrics"], input: Array(try await fixture.get("/metrics").body.utf8))
        #expect(ending.status == 0 && ending.errors.isEmpty && ending.text.isEmpty, "\(ending.errors)\(ending.text)")
    }
}
