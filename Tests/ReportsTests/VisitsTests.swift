import Foundation
import ProgramSupport
import Testing

/// The visits of beacons, from event files alone.
@Suite struct VisitsTests {
    /// Returns a folder with one segment that contains these lines.
    private static func folder(_ lines: [String], in scratch: Scratch) throws -> String {
        let path = scratch.path("events")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(
            to: URL(fileURLWithPath: path + "/events-000000000001-20261121T000000Z.jsonl"))
        return path
    }

    private typealias Writer = LineWriter

    private func visits(_ writer: Writer, _ arguments: String...) throws -> [[String: Any]] {
        let scratch = try Scratch()
        let ending = try Gateway.run(["visits", "--json"] + arguments + [try Self.folder(writer.lines, in: scratch)])
        #expect(ending.status == 0, "\(ending.errors)")
        return try ending.lines.map(object)
    }

    private func visitTexts(_ rows: [[String: Any]]) -> [String] {
        rows.filter { $0["kind"] as? String == "visit" }.map { row in
            let beacon = (row["beacon"] as? [String: Any]).map { "/\($0["minor"] ?? "")" } ?? ""
            func text(_ key: String) -> String {
                (row[key] as? String).map { String($0.dropFirst(11).prefix(8)) } ?? "-"
            }
            let duration = (row["duration"] as? NSNumber).map { "\($0.intValue)" } ?? "-"
            return
                "\(row["identifier"] ?? "")\(beacon) \(text("arrival")) \(text("departure")) \(duration) \(row["end"] ?? "")"
        }
    }

    @Test func `visits that ended are in the order of their lines, followed by open visits`() throws {
        var writer = Writer()
        writer.event("staff", "satisfied", 50, minor: 9, seen: 50)
        writer.completeVisit("staff", 100, 400, minor: 1)
        writer.completeVisit("desk", 200, 260)
        let rows = try visits(writer, "--utc")
        #expect(
            visitTexts(rows) == [
                "staff/1 00:01:40 00:06:40 300 left", "desk 00:03:20 00:04:20 60 left", "staff/9 00:00:50 - 380 open",
            ])
        let totals = rows.filter { $0["kind"] as? String == "total" }
        #expect(totals.count == 3)
        #expect(
            totals.contains { ($0["beacon"] as? [String: Any])?["minor"] as? Int == 1 && $0["visits"] as? Int == 1 })
        // The visits of beacons do not count in a total of their condition, because the two are never added.
        #expect(totals.filter { $0["scope"] as? String == "condition" }.map { $0["identifier"] as? String } == ["desk"])
    }

    @Test(arguments: [["visits"], ["visits", "--now"]])
    func `columns are aligned, however long a name is, and however many rows there are`(
        command: [String]
    ) throws {
        var writer = Writer()
        let long = "a-condition-with-a-name-that-is-longer-than-its-column"
        for number in 1...110 {
            writer.completeVisit("desk", Double(number) * 40, Double(number) * 40 + 9, minor: 1_000 + number)
            writer.completeVisit(long, Double(number) * 40 + 1, Double(number) * 40 + 8, minor: 1_000 + number)
        }
        // Such long names are unusual. If there is one, the rows of the others do not change.
        writer.completeVisit(String(repeating: "n", count: 100), 7_000, 7_100, minor: 1)
        writer.event("desk", "satisfied", 8_000, minor: 2_000, seen: 8_000)
        writer.event(long, "satisfied", 8_000, minor: 2_001, seen: 8_000)
        let scratch = try Scratch()
        let ending = try Gateway.run(command + ["--utc", try Self.folder(writer.lines, in: scratch)])
        #expect(ending.status == 0, "\(ending.errors)")
        let last = command.count == 1 ? "END" : "STATE"
        var place: Int?
        var rows = 0
        for line in ending.text.split(separator: "\n") {
            if let header = line.range(of: last) {
                place = line.distance(from: line.startIndex, to: header.lowerBound)
            } else if line.contains(/^ +\d+  2026-/), !line.contains("nnn"), let place {
                let column = line.dropFirst(place - 2).prefix(3)
                #expect(column.prefix(2) == "  " && column.last != " ", "\(line)")
                rows += 1
            }
        }
        #expect(rows == (command.count == 1 ? 222 : 2), "\(ending.text)")
    }

    @Test func `T1: a wall clock that jumps from 1970 to today and back by an hour changes no duration of a visit`()
        throws
    {
        var writer = Writer()
        let today = writer.offset
        writer.offset = 0
        writer.completeVisit("staff", 100, 400, minor: 1)
        writer.event("staff", "satisfied", 500, minor: 2, seen: 500)
        writer.clock(600, to: today + 3600)
        writer.event("staff", "unsatisfied", 930, minor: 2, seen: 900)
        writer.visit("staff", 930, arrival: 500, departure: 900, minor: 2)
        writer.event("staff", "satisfied", 950, minor: 3, seen: 950)
        writer.clock(1000, to: today)
        writer.event("staff", "unsatisfied", 1230, minor: 3, seen: 1200)
        writer.visit("staff", 1230, arrival: 950, departure: 1200, minor: 3)
        let rows = try visits(writer)
        #expect(
            visitTexts(rows) == [
                "staff/1 00:01:40 00:06:40 300 left", "staff/2 00:08:20 00:15:00 400 left",
                "staff/3 00:15:50 00:20:00 250 left",
            ])
        #expect(rows.allSatisfy { !(($0["arrival"] as? String) ?? "2026").hasPrefix("1970") })
    }

    @Test func `N4: a visit over a restart of the machine has its arrival by the old timeline and its end by the new`()
        throws
    {
        var writer = Writer()
        let start = writer.offset
        writer.event("staff", "satisfied", 5000, minor: 1, seen: 5000)
        writer.boot = "bbbbbbbb-00000001"
        // The machine has run for ten seconds, when the old timeline would be at 6,000 s. Its clock is not set yet.
        writer.offset = 0
        writer.adapter("listening", 10)
        writer.clock(20, to: start + 5990)
        writer.event("staff", "unsatisfied", 110, minor: 1, seen: 80)
        writer.visit("staff", 110, arrival: -990, departure: 80, minor: 1)
        let rows = try visits(writer)
        #expect(visitTexts(rows) == ["staff/1 01:23:20 01:41:10 1070 left"])
        let silences = rows.filter { $0["kind"] as? String == "silence" }
        #expect(silences.count == 1 && silences[0]["adapter"] == nil)
    }

    @Test func `an open visit ends as lost if its condition is added again, because the gateway lost its state`() throws
    {
        var writer = Writer()
        writer.event("staff", "satisfied", 50, minor: 1, seen: 50)
        writer.line(
            "condition", 500,
            #""monitor":"site","identifier":"staff","change":"added",DATE,\#(Writer.condition),"#
                + #""settings":{"assuming":"unknown","perBeacon":true,"enterCount":1,"enterWindow":10,"exitTimeout":30}"#
        )
        #expect(visitTexts(try visits(writer)) == ["staff/1 00:00:50 - - lost"])
    }

    @Test func `an exit without a visit line gives the end of the visit, by its last sighting`() throws {
        var writer = Writer()
        writer.event("staff", "satisfied", 50, minor: 1, seen: 50)
        writer.event("staff", "unsatisfied", 90, minor: 1, seen: 60)
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        #expect(
            visitTexts(try visits(writer)) == ["staff/1 00:00:50 00:01:00 10 left", "staff/1 00:01:40 - 0 open"])
    }

    @Test func `periods in which an adapter did not scan are listed with the reason`() throws {
        var writer = Writer()
        writer.adapter("listening", 1)
        writer.adapter("deaf", 110, since: 100)
        writer.adapter("listening", 300)
        writer.adapter("off", 400)
        let silences = try visits(writer).filter { $0["kind"] as? String == "silence" }
        #expect(silences.map { "\($0["reason"] ?? "")" } == ["deaf", "off"])
        #expect((silences[0]["from"] as? String)?.contains("00:01:40") == true)
        #expect(silences[1]["to"] == nil)
    }

    @Test func `--from, --to, --condition and --beacon leave out the other visits`() throws {
        var writer = Writer()
        writer.completeVisit("staff", 100, 400, minor: 1)
        writer.completeVisit("staff", 1000, 1400, minor: 2)
        writer.completeVisit("desk", 2000, 2400)
        writer.event("desk", "satisfied", 5000, seen: 5000)
        let day = String(writer.date(0).prefix(10))
        #expect(visitTexts(try visits(writer, "--utc", "--from", "\(day) 00:10")).count == 3)
        #expect(visitTexts(try visits(writer, "--utc", "--to", "\(day)T00:15:00Z")).count == 1)
        #expect(visitTexts(try visits(writer, "--condition", "desk")).count == 2)
        #expect(visitTexts(try visits(writer, "--beacon", "1/2")) == ["staff/2 00:16:40 00:23:20 400 left"])
        #expect(visitTexts(try visits(writer, "--beacon", "F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1")).count == 2)
    }

    @Test(arguments: [
        ["--beacon", "x"], ["--beacon", "1/2/3"], ["--from", "tomorrow"], ["--to", "2026-13-01"], ["--json", "--csv"],
    ])
    func `an invalid beacon, date or pair of options fails with 64`(arguments: [String]) throws {
        #expect(try Gateway.run(["visits"] + arguments).status == 64)
    }

    @Test func `the table has dates, durations, totals and the zone, and files without lines fail with 66`() throws {
        var writer = Writer()
        writer.completeVisit("staff", 100, 400, minor: 1)
        let scratch = try Scratch()
        let table = try Gateway.run("visits", "--utc", try Self.folder(writer.lines, in: scratch)).text
        #expect(table.contains("2026-11-21 00:01:40  2026-11-21 00:06:40       0:05:00  staff 1/1"))
        #expect(table.contains("-66.7  left"))
        #expect(table.contains("1 visit, 0:05:00"))
        #expect(table.hasSuffix("Times are UTC.\n"))
        let empty = try Scratch()
        let nothing = try Gateway.run("visits", try Self.folder([], in: empty))
        #expect(nothing.status == 66 && nothing.text.isEmpty && nothing.errors.contains("there are no lines in"))
    }

    @Test func `CSV quotes special characters, and no cell is a formula`() throws {
        var writer = Writer()
        writer.completeVisit(#"a \"b\", c"#, 100, 400)
        writer.completeVisit("=1+1", 100, 400)
        let scratch = try Scratch()
        let rows = try Gateway.run("visits", "--csv", "--utc", try Self.folder(writer.lines, in: scratch)).text
            .components(separatedBy: "\r\n")
        #expect(rows[0].hasPrefix("monitor,identifier,uuid,major,minor,arrival"))
        #expect(
            rows[1]
                == #"site,"a ""b"", c",,,,2026-11-21 00:01:40,2026-11-21 00:06:40,300.0,7,-80,-66.7,-60,left,condition,g,2,false,false,,,0.0833,+00:00,+00:00,,"#
        )
        #expect(rows[2].hasPrefix(#"site,"'=1+1","#))
    }

    @Test func `the page has its styles, bars, outages and names, escapes text and loads nothing`() throws {
        var writer = Writer()
        writer.adapter("listening", 1)
        writer.completeVisit("staff", 100, 40_000, minor: 1)
        writer.completeVisit("<b>&", 200, 20_000)
        writer.adapter("deaf", 50_010, since: 50_000)
        writer.adapter("listening", 53_600)
        writer.event("staff", "satisfied", 60_000, minor: 2, seen: 60_000)
        writer.completeVisit("desk", 70_000, 71_000)
        let scratch = try Scratch()
        let page = scratch.path("visits.html")
        let ending = try Gateway.run(
            ["visits", "--utc", "--html", page, try Self.folder(writer.lines, in: scratch)])
        #expect(ending.status == 0 && ending.output.isEmpty, "\(ending.errors)")
        let html = try String(contentsOfFile: page, encoding: .utf8)
        for wanted in [
            "<!DOCTYPE html>", "name=\"viewport\"", "prefers-color-scheme:dark", "@media print", "staff 1/1",
            "&lt;b&gt;&amp;",
            "class=\"here\"", "class=\"here open\"", "class=\"deaf\"", "hci0 not scanning", "unknown since then",
            "2026-11-21 00:01:40 – 2026-11-21 11:06:40",
        ] { #expect(html.contains(wanted), "\(wanted)") }
        for unwanted in ["{{", "<script", "http://", "https://", "<b>&", "src=", "url("] {
            #expect(!html.contains(unwanted), "\(unwanted)")
        }
        #expect(html.components(separatedBy: "<rect").count == html.components(separatedBy: "</rect>").count)
    }
}
