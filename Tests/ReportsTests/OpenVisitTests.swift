import BeaconMonitoring
import CommandSupport
import Foundation
import ProgramSupport
import Reports
import SystemPackage
import Testing

/// Visits that have not ended: of beacons that are present, and of beacons whose state is unknown.
@Suite struct OpenVisitTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Returns a folder with a badge that entered at 100 s, and its writer. The gateway was last known to be alive at
    /// 4,000 s, 100 s after the present time, so it is alive for the next 220 s.
    private func present(_ change: (inout LineWriter) -> Void = { _ in }) throws -> (path: String, writer: LineWriter) {
        var writer = LineWriter()
        writer.offset = Date().timeIntervalSince1970.rounded() - 3900
        writer.started(10)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        change(&writer)
        return (try scratch.folder(writer, aliveAt: 4000), writer)
    }

    /// Returns the page of a report that is made at a time on the writer's timeline, or the error if there is one.
    private func page(_ paths: String..., made time: Double, from: Double? = nil) throws -> String {
        func date(_ time: Double) -> WallDate { WallDate(microseconds: Int64((LineWriter().offset + time) * 1e6)) }
        var options = VisitsOptions(paths: paths.map { FilePath($0) })
        options.time = ZonedTime(isUTC: true)
        options.made = date(time)
        options.from = from.map(date)
        options.html = FilePath(scratch.path("page.html"))
        var visits = Visits(options)
        do { _ = try visits.run() } catch { return "\(error)" }
        return try String(contentsOfFile: scratch.path("page.html"), encoding: .utf8)
    }

    @Test(arguments: [
        (5120, true), (5120.000_001, false), (4880, true), (4879.999_999, false), (5000, true), (90_000, false),
    ])
    func `a gateway is alive if its last proof is at most two minutes from the report`(made: Double, isHere: Bool)
        throws
    {
        var writer = LineWriter()
        writer.started(10)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        let page = try page(scratch.folder(writer, aliveAt: 5000), made: made)
        #expect(page.contains("<td>present</td>") == isHere && page.contains(": g is alive.</p>") == isHere)
        #expect(page.contains(": g was last known to be alive at this time.</p>") != isHere)
    }

    @Test func `a proof that is more than two minutes in the future lengthens no visit and adds no interval`() throws {
        var writer = LineWriter()
        writer.offset = Date().timeIntervalSince1970.rounded() - 3900
        writer.started(10)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        // A year from now, as from a clock that was wrong.
        let future = try scratch.folder(writer, aliveAt: 31_540_000)
        let day = writer.date(31_540_000).prefix(19).replacing("T", with: " ")
        let remark =
            "the file alive of g has the time \(day), which is in the future; the last line is the newest proof that the "
            + "gateway was alive\n"
        let visits = try Gateway.run("visits", "--json", "--utc", future)
        #expect(visits.errors == remark)
        #expect(try visits.lines.map(object).first.map { number($0, "duration") } == 0)
        let occupancy = try Gateway.run("occupancy", "--every", "1h", "--utc", future)
        #expect(occupancy.errors == remark && occupancy.lines.count < 20, "\(occupancy.text)")
        // A range after the last line is unknown, and the remark has the reason.
        let range = try Gateway.run("visits", "--utc", "--from", writer.date(2000), future)
        #expect(range.status == 65 && range.errors.hasPrefix("there is no data for the time from"), "\(range.errors)")
        #expect(range.errors.hasSuffix("\n\(remark)"))
        let now = try Gateway.run("visits", "--now", "--utc", future)
        #expect(
            now.text.contains(
                " ago: g was last known to be alive at this time. The state of beacons is unknown since then."),
            "\(now.text)")
    }

    @Test func `visits --now reports lines in the future as such, and not as old`() throws {
        var writer = LineWriter()
        writer.offset = Date().timeIntervalSince1970.rounded() + 86_400
        writer.started(10)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        let now = try Gateway.run("visits", "--now", "--utc", scratch.folder(writer))
        #expect(
            now.text.contains(
                " in the future: g was last known to be alive at this time. The state of beacons is unknown since then."
            ),
            "\(now.text)")
    }

    @Test(arguments: [(5030, true), (5060, false), (4990, true)])
    func `a range that starts after the last proof and before the report is made has the badges that are present`(
        from: Double, isKnown: Bool
    ) throws {
        var writer = LineWriter()
        writer.started(10)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        let folder = try scratch.folder(writer, aliveAt: 5000)
        let page = try page(folder, made: 5050, from: from)
        #expect(page.contains("<td>before range</td><td>present</td>") == isKnown, "\(page.suffix(600))")
        #expect(page.contains("there is no data for the time from") != isKnown)
        // `occupancy` fails for an interval of which nothing is known.
        let interval = ["--every", "1m", "--from", writer.date(5040), "--to", writer.date(5100)]
        #expect(try Gateway.run(["occupancy"] + interval + [folder]).status == 65)
    }

    private func rows(_ paths: String..., kind: String = "visit") throws -> [[String: Any]] {
        let ending = try Gateway.run(["visits", "--json", "--utc"] + paths)
        try Schema.expectValid(ending.output, "--kind", "reports")
        return try ending.lines.map(object).filter { $0["kind"] as? String == kind }
    }

    @Test func `visits shows an open visit as present while the gateway is alive, as --now does`() throws {
        let (path, _) = try present()
        let table = try Gateway.run("visits", "--utc", path).text
        let row = try #require(table.split(separator: "\n").first { $0.hasPrefix("     3 ") }, "\(table)")
        #expect(row.hasSuffix("  present"))
        #expect(table.contains("  staff 1/1                         1 visit, 1:05:00, one not ended\n"), "\(table)")
        #expect(table.contains(": g is alive.\n") && !table.contains("unknown"))
        #expect(try Gateway.run("visits", "--now", "--utc", path).text.hasPrefix("1 present."))
    }

    @Test func `JSON, CSV and the page of visits show an open visit as present while the gateway is alive`() throws {
        let (path, _) = try present()
        let visit = try #require(try rows(path).first)
        #expect(visit["end"] as? String == "open" && visit["notKnownSince"] == nil)
        let total = try #require(try rows(path, kind: "total").first)
        #expect(total["open"] as? Int == 1 && total["present"] as? Int == 1)
        let record = try #require(SiteForms.records(Gateway.run("visits", "--csv", "--utc", path).text).first)
        let dates = ["arrival", "departure", "not_known_since"].map { record["\($0)_offset"] }
        #expect(dates == ["+00:00", "", ""] && record["not_known_since"] == "")
        let page = try Gateway.run("visits", "--html", "-", "--utc", path).text
        #expect(page.contains("<td>present</td>") && page.contains(", present</td></tr>"))
        #expect(page.contains(": g is alive.</p>") && !page.contains("unknown since"))
    }

    @Test func `if the gateway was stopped, the state of an open visit is unknown since its last proof`() throws {
        let (path, writer) = try present { $0.stopped(200) }
        let visit = try #require(try rows(path).first)
        #expect(visit["notKnownSince"] as? String == writer.date(4000))
        #expect(try rows(path, kind: "total").first?["present"] == nil)
        let table = try Gateway.run("visits", "--utc", path).text
        #expect(
            table.contains(", unknown since then\n") && table.contains(": g was stopped at this time.\n"), "\(table)")
    }

    @Test func `if no adapter scans, an open visit lasts until the last one stopped, and is unknown since then`() throws
    {
        let (path, writer) = try present { $0.adapter("deaf", 210, since: 200) }
        let visit = try #require(try rows(path).first)
        #expect(visit["notKnownSince"] as? String == writer.date(200))
        #expect(visit["until"] as? String == writer.date(200) && number(visit, "duration") == 100)
        let table = try Gateway.run("visits", "--utc", path).text
        let time = writer.date(200).dropFirst(11).prefix(8)
        #expect(table.contains("present at \(time), unknown since then\n"), "\(table)")
        #expect(table.contains(", one whose state is unknown\n"))
    }

    @Test(arguments: [(120, 520), (120, 540), (520, 560), (545, 556), (560, 575)])
    func `a badge that a gateway holds is present, whatever another one reports`(arrival: Double, departure: Double)
        throws
    {
        var (hall, yard) = (LineWriter(), LineWriter())
        (hall.gateway, yard.gateway) = ("hall", "yard")
        hall.event("staff", "satisfied", 100, minor: 1, seen: 100)
        yard.completeVisit("staff", arrival, departure, minor: 1)
        let places = [
            try scratch.folder(hall, aliveAt: 530, name: "hall"), try scratch.folder(yard, aliveAt: 610, name: "yard"),
        ]
        for paths in [places, places.reversed()] {
            let page = try page(paths[0], paths[1], made: 620)
            #expect(page.contains("1 visit of 1 beacon") && page.contains("<td>present</td>"), "\(page.suffix(900))")
            #expect(page.contains("hall is alive.</p>") && page.contains("yard is alive.</p>"))
        }
        let now = WallDate(microseconds: Int64((hall.offset + 620) * 1e6))
        let report = try PresentReport.read(VisitsOptions(paths: places.map { FilePath($0) }), now: now).report
        #expect(report.hereCount == 1 && report.presences.first?.gateways == ["hall"])
        // If the first gateway is not known to be alive, the exit counts.
        hall.stopped(530)
        _ = try scratch.folder(hall, aliveAt: 530, name: "hall")
        #expect(try !page(places[0], places[1], made: 620).contains("<td>present</td>"))
    }

    @Test func `occupancy reports that a gateway is alive`() throws {
        let (path, _) = try present()
        #expect(try Gateway.run("occupancy", "--utc", path).text.contains(": g is alive.\n"))
        #expect(try Gateway.run("occupancy", "--utc", "--html", "-", path).text.contains(": g is alive.</p>"))
    }
}
