import BeaconMonitoring
import CommandSupport
import ProgramSupport
import Reports
import SystemPackage
import TestSupport
import Testing

@testable import ReportServing

/// Following the lines and reading all files use the same code, so they must give the same report.
@Suite struct FollowingEqualityTests {
    /// Writes random lines of up to a day: events and visits of conditions and beacons, adapters that stop and start,
    /// steps of the clock, stops and restarts of the gateway.
    static func lines(_ generator: inout SeededGenerator, _ writer: inout LineWriter) {
        var time = 10.0
        writer.started(1)
        writer.adapter("listening", 2)
        for _ in 0..<Int.random(in: 20...120, using: &generator) {
            time += Double.random(in: 1...600, using: &generator)
            let minor = Int.random(in: 0..<6, using: &generator)
            let condition = ["staff", "visitors", "a&b"].randomElement(using: &generator) ?? ""
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<7: writer.event(condition, "satisfied", time, minor: minor, seen: time)
            case 7..<10: writer.event(condition, "unsatisfied", time, minor: minor, seen: time - 1)
            case 10..<12: writer.visit(condition, time, arrival: time - 9, departure: time - 1, minor: minor)
            case 12: writer.event(condition, "satisfied", time, seen: time)
            case 13: writer.event(condition, "unknown", time, minor: minor, seen: time - 1)
            case 14: writer.adapter("deaf", time, since: time - 1)
            case 15: writer.adapter("listening", time)
            case 16: writer.adapter("gone", time)
            case 17: writer.clock(time, to: writer.offset + Double.random(in: -5000...5000, using: &generator))
            case 18: writer.stopped(time)
            default:
                writer.boot = "aaaaaaaa-0000000\(Int.random(in: 1...9, using: &generator))"
                writer.started(time, until: time - 1)
                writer.adapter("listening", time)
            }
        }
        writer.event("staff", "satisfied", time + 1, minor: 9, seen: time + 1)
    }

    @Test func `the page and visits --now have the same present beacons and gateways for random lines`() async throws {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        for run in 0..<40 {
            let fixture = try ServedFixture()
            Self.lines(&generator, &fixture.writer)
            try fixture.flush()
            try fixture.live(100_000)
            try await fixture.turn(until: "all lines are read") {
                !fixture.served.following.isReading
                    && fixture.served.following.state.counts.sequence == fixture.writer.sequence
            }
            for seconds in [1.0, 1000] {
                fixture.time = 100_000 + seconds
                let now = WallDate(microseconds: Int64((fixture.writer.offset + fixture.time) * 1_000_000))
                let following = fixture.served.following
                let live = following.state.present.report(following.proof, now: now, BeaconDirectory())
                let read = try PresentReport.read(
                    VisitsOptions(paths: [FilePath(fixture.scratch.url.path)]), now: now
                ).report
                #expect(live.presences == read.presences, "\(run)")
                #expect(live.gateways == read.gateways, "\(run)")
                #expect(!read.presences.isEmpty)
            }
        }
    }
}
