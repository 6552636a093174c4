import BeaconMonitoring
import Foundation
import ProgramSupport
import Reports
import SystemPackage
import Testing

/// The beacons that are present. Reports must not state more than the files show.
@Suite struct PresentTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Returns the report at a time on the writers' timeline.
    private func report(_ paths: String..., at time: Double) throws -> PresentReport {
        let offset = LineWriter().offset
        return try PresentReport.read(
            VisitsOptions(paths: paths.map { FilePath($0) }), now: WallDate(microseconds: Int64((offset + time) * 1e6))
        ).report
    }

    private func seconds(_ date: WallDate?) -> Double? {
        date.map { Double($0.microseconds) / 1e6 - LineWriter().offset }
    }

    @Test func `a beacon that entered and did not exit is present, with its time, condition and gateway`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.completeVisit("staff", 100, 200, minor: 2)
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        let report = try report(scratch.folder(writer, aliveAt: 5000), at: 5060)
        #expect(report.presences.count == 1 && report.hereCount == 1)
        let presence = try #require(report.presences.first)
        #expect(presence.beacon?.minor == 1 && presence.identifiers == ["staff"] && presence.gateways == ["g"])
        #expect(seconds(presence.since) == 300 && presence.notKnownSince == nil)
        #expect(report.gateways.first?.isAlive == true && seconds(report.gateways.first?.asOf) == 5000)
    }

    @Test(arguments: [(120.0, true), (120.001, false)])
    func `a gateway is not known to be alive if its last proof is more than 120 s old`(
        age: Double, isAlive: Bool
    ) throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        let report = try report(scratch.folder(writer, aliveAt: 5000), at: 5000 + age)
        #expect(report.gateways.first?.isAlive == isAlive)
        #expect(seconds(report.presences.first?.notKnownSince) == (isAlive ? nil : 5000))
        #expect(report.hereCount == (isAlive ? 1 : 0))
    }

    @Test func `after a gateway was stopped, beacons are unknown since the stop, even if it is 1 s ago`() throws {
        var writer = LineWriter()
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        writer.stopped(400)
        let report = try report(scratch.folder(writer), at: 401)
        #expect(report.gateways.first?.isStopped == true && seconds(report.presences.first?.notKnownSince) == 400)
    }

    @Test func `if no adapter scans, no beacon is known to be present, although the gateway is alive`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        writer.adapter("deaf", 900, since: 840)
        let report = try report(scratch.folder(writer, aliveAt: 1000), at: 1000)
        #expect(seconds(report.gateways.first?.deafSince) == 840)
        #expect(seconds(report.presences.first?.notKnownSince) == 840)
    }

    @Test func `a beacon whose state became unknown is unknown since its last sighting`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        writer.event("staff", "unknown", 700, minor: 1, seen: 600)
        #expect(
            seconds(try report(scratch.folder(writer, aliveAt: 900), at: 900).presences.first?.notKnownSince) == 600)
    }

    @Test func `a badge under two conditions is listed once, and the condition that it satisfies is not listed`() throws
    {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("building", "satisfied", 100, seen: 100)
        writer.event("building", "satisfied", 100, minor: 1, seen: 100)
        writer.event("desk", "satisfied", 200, minor: 1, seen: 200)
        let presences = try report(scratch.folder(writer, aliveAt: 300), at: 300).presences
        #expect(presences.count == 1 && presences.first?.identifiers == ["building", "desk"])
        #expect(seconds(presences.first?.since) == 100)
    }

    @Test func `a condition without beacons of its own is listed itself`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("desk", "satisfied", 200, seen: 200)
        let presences = try report(scratch.folder(writer, aliveAt: 300), at: 300).presences
        #expect(presences.count == 1 && presences.first?.beacon == nil && presences.first?.identifiers == ["desk"])
    }

    @Test func `with two gateways, the one that knows the state counts, with the earliest arrival of both`() throws {
        var (hall, yard) = (LineWriter(), LineWriter())
        hall.gateway = "hall"
        yard.gateway = "yard"
        hall.adapter("listening", 10)
        hall.event("staff", "satisfied", 100, minor: 1, seen: 100)
        yard.adapter("listening", 10)
        yard.event("staff", "satisfied", 400, minor: 1, seen: 400)
        let places = [
            try scratch.folder(hall, aliveAt: 500, name: "hall"), try scratch.folder(yard, aliveAt: 5000, name: "yard"),
        ]
        let presence = try #require(try report(places[0], places[1], at: 5010).presences.first)
        #expect(presence.notKnownSince == nil && presence.gateways == ["yard"] && seconds(presence.since) == 100)
    }

    // MARK: Output

    @Test func `the report of old files has the time of the last proof, and beacons are unknown since then`() throws {
        var writer = LineWriter()
        writer.offset = 1_433_116_800
        writer.adapter("listening", 10)
        writer.event("staff", "satisfied", 3600, minor: 1, seen: 3600)
        let path = try scratch.folder(writer, aliveAt: 63_730)
        let text = try Gateway.run("visits", "--now", "--utc", path).text
        #expect(text.hasPrefix("None known to be present, 1 unknown."), "\(text)")
        #expect(
            text.contains("As of 2015-06-01 17:42:10, ")
                && text.contains(" d ago: g was last known to be alive at this time"))
        #expect(text.contains("unknown since 2015-06-01 17:42:10"))
        let page = scratch.path("now.html")
        #expect(try Gateway.run("visits", "--now", "--utc", "--html", page, path).status == 0)
        let html = try String(contentsOfFile: page, encoding: .utf8)
        #expect(html.contains("class=\"alarm\"") && html.contains("unknown since 2015-06-01 17:42:10"))
    }

    @Test func `table, JSON, CSV and page have the same number of beacons`() throws {
        var writer = LineWriter()
        writer.offset = Date().timeIntervalSince1970.rounded() - 400
        writer.adapter("listening", 10)
        for minor in 1...3 { writer.event("staff", "satisfied", 100, minor: minor, seen: 100) }
        let path = try scratch.folder(writer, aliveAt: 400)
        let table = try Gateway.run("visits", "--now", "--utc", path).text
        #expect(table.hasPrefix("3 present.") && table.contains("g is alive."), "\(table)")
        let json = try Gateway.run("visits", "--now", "--json", path).lines.map(object)
        #expect(json.count { $0["kind"] as? String == "present" && $0["notKnownSince"] == nil } == 3)
        #expect(json.first { $0["kind"] as? String == "asOf" }?["alive"] as? Bool == true)
        let csv = try Gateway.run("visits", "--now", "--csv", "--utc", path).text.split(separator: "\r\n")
        #expect(csv.count == 4 && csv.dropFirst().allSatisfy { $0.contains(",true,,g,") }, "\(csv)")
        let page = try Gateway.run("visits", "--now", "--utc", "--html", "-", path).text
        #expect(
            page.contains("<h1>3 present</h1>") && page.components(separatedBy: "<tr class=\"present\">").count == 4)
    }

    @Test func `if the gateway is not alive, visits --now reports that none was present at the last known time`() throws
    {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.completeVisit("staff", 100, 200, minor: 1)
        let text = try Gateway.run("visits", "--now", "--utc", try scratch.folder(writer)).text
        #expect(text.hasPrefix("None present at the last known time."), "\(text)")
    }

    @Test func `--now with a range fails with 64`() throws {
        #expect(try Gateway.run("visits", "--now", "--from", "2026-11-21", "/").status == 64)
    }
}
