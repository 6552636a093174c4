import BeaconMonitoring
import Foundation
import ProgramSupport
import Reports
import SystemPackage
import Testing

/// Who is here: no more than the files can know.
@Suite struct PresentTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// What is known at a time on the writers' timeline.
    private func report(_ paths: String..., at time: Double) throws -> PresentReport {
        let offset = LineWriter().offset
        return try PresentReport.read(
            VisitsOptions(paths: paths.map { FilePath($0) }), now: WallDate(microseconds: Int64((offset + time) * 1e6))
        ).report
    }

    private func seconds(_ date: WallDate?) -> Double? {
        date.map { Double($0.microseconds) / 1e6 - LineWriter().offset }
    }

    @Test func `who has come and not left is here, since when and where`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.stay("staff", 100, 200, minor: 2)
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        let report = try report(scratch.folder(writer, aliveAt: 5000), at: 5060)
        #expect(report.presences.count == 1 && report.hereCount == 1)
        let presence = try #require(report.presences.first)
        #expect(presence.beacon?.minor == 1 && presence.identifiers == ["staff"] && presence.gateways == ["g"])
        #expect(seconds(presence.since) == 300 && presence.notKnownSince == nil)
        #expect(report.gateways.first?.isAlive == true && seconds(report.gateways.first?.asOf) == 5000)
    }

    @Test(arguments: [(120.0, true), (120.001, false)])
    func `a gateway that was not heard of for two minutes is not known to be alive`(
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

    @Test func `a gateway that was stopped knows nothing since, however lately`() throws {
        var writer = LineWriter()
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        writer.stopped(400)
        let report = try report(scratch.folder(writer), at: 401)
        #expect(report.gateways.first?.isStopped == true && seconds(report.presences.first?.notKnownSince) == 400)
    }

    @Test func `where no adapter listens nobody is known to be here, though the gateway is alive`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        writer.adapter("deaf", 900, since: 840)
        let report = try report(scratch.folder(writer, aliveAt: 1000), at: 1000)
        #expect(seconds(report.gateways.first?.deafSince) == 840)
        #expect(seconds(report.presences.first?.notKnownSince) == 840)
    }

    @Test func `whom the gateway lost sight of is not known since then`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        writer.event("staff", "unknown", 700, minor: 1, seen: 600)
        #expect(
            seconds(try report(scratch.folder(writer, aliveAt: 900), at: 900).presences.first?.notKnownSince) == 600)
    }

    @Test func `a badge under two conditions is one person, and its condition is not another`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("building", "satisfied", 100, seen: 100)
        writer.event("building", "satisfied", 100, minor: 1, seen: 100)
        writer.event("desk", "satisfied", 200, minor: 1, seen: 200)
        let presences = try report(scratch.folder(writer, aliveAt: 300), at: 300).presences
        #expect(presences.count == 1 && presences.first?.identifiers == ["building", "desk"])
        #expect(seconds(presences.first?.since) == 100)
    }

    @Test func `a condition without beacons of its own is here itself`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.event("desk", "satisfied", 200, seen: 200)
        let presences = try report(scratch.folder(writer, aliveAt: 300), at: 300).presences
        #expect(presences.count == 1 && presences.first?.beacon == nil && presences.first?.identifiers == ["desk"])
    }

    @Test func `of two gateways the one that knows counts, since the first of them heard it`() throws {
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

    // MARK: As it is told

    @Test func `files of days ago say as of when, and that nothing is known since`() throws {
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

    @Test func `table, JSON, CSV and page tell of the same people`() throws {
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

    @Test func `that nobody is here only a gateway says that hears`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 10)
        writer.stay("staff", 100, 200, minor: 1)
        let text = try Gateway.run("visits", "--now", "--utc", try scratch.folder(writer)).text
        #expect(text.hasPrefix("None present at the last known time."), "\(text)")
    }

    @Test func `--now takes no range`() throws {
        #expect(try Gateway.run("visits", "--now", "--from", "2026-11-21", "/").status == 64)
    }
}
