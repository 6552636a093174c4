import Foundation
import ProgramSupport
import Testing

/// Reports must not state more than the files show.
@Suite struct HonestReportTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func rows(_ arguments: String..., kind: String = "visit") throws -> [[String: Any]] {
        let ending = try Gateway.run(["visits", "--json", "--utc"] + arguments)
        #expect(ending.status == 0, "\(ending.errors)")
        return try ending.lines.map(object).filter { $0["kind"] as? String == kind }
    }

    private func seconds(_ row: [String: Any]?) -> Int? { number(row, "duration").map { Int($0) } }

    // MARK: The end of a report

    @Test
    func `a badge that entered at 8:00 without a later line has a visit of 8 h if the gateway was alive at 16:00`()
        throws
    {
        var writer = LineWriter()
        writer.started(28_000)
        writer.event("staff", "satisfied", 28_800, minor: 1, seen: 28_800)
        let path = try scratch.folder(writer, alive: writer.alive(57_600))
        let visitRow = try #require(try rows(path).first)
        #expect(seconds(visitRow) == 28_800)
        #expect(visitRow["until"] as? String == writer.date(57_600))
        let proof = try #require(try rows(path, kind: "asOf").first)
        #expect(proof["gateway"] as? String == "g" && proof["date"] as? String == writer.date(57_600))
        let table = try Gateway.run("visits", "--utc", path).text
        #expect(table.contains("present at 16:00:00, unknown since then"), "\(table)")
        #expect(table.contains("As of 2026-11-21 16:00:00: g was last known to be alive at this time."), "\(table)")
    }

    @Test func `in files of 2015, an open visit is present at the last known time, and unknown since then`() throws {
        var writer = LineWriter()
        writer.offset = 1_433_116_800
        writer.event("staff", "satisfied", 50, minor: 1, seen: 50)
        writer.adapter("listening", 3600)
        let page = scratch.path("page.html")
        let path = try scratch.folder(writer)
        #expect(try Gateway.run("visits", "--utc", "--html", page, path).status == 0)
        for text in [try Gateway.run("visits", "--utc", path).text, try String(contentsOfFile: page, encoding: .utf8)] {
            #expect(text.contains("present at 01:00:00, unknown since then"), "\(text)")
            #expect(text.contains("As of 2015-06-01 01:00:00"))
        }
    }

    @Test func `after a restart, only the time between the two runs is an outage, not the quiet evening before`() throws
    {
        var writer = LineWriter()
        writer.started(100)
        writer.completeVisit("staff", 50_000, 54_000, minor: 1)
        writer.boot = "aaaaaaaa-00000002"
        writer.adapter("off", 111_590)
        writer.started(111_600, until: 111_540)
        let silence = try #require(try rows(scratch.folder(writer), kind: "silence").first { $0["adapter"] == nil })
        #expect(silence["from"] as? String == writer.date(111_540))
        #expect(silence["to"] as? String == writer.date(111_590))
        #expect(silence["vague"] == nil)
    }

    @Test func `over a restart of the machine, too, the outage starts at the until of the gateway line`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 50_000, 54_000, minor: 1)
        let start = writer.offset
        writer.boot = "bbbbbbbb-00000001"
        writer.offset = start + 100_000
        writer.started(20, until: -40)
        let silence = try #require(try rows(scratch.folder(writer), kind: "silence").first)
        #expect(silence["from"] as? String == LineWriter.date(start + 99_960))
    }

    @Test func `if no line has the time of the stop, a restart is reported as vague, without that time`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 50_000, 54_000, minor: 1)
        writer.boot = "aaaaaaaa-00000002"
        writer.adapter("listening", 111_600)
        let path = try scratch.folder(writer)
        #expect(try rows(path, kind: "silence").first?["vague"] as? Bool == true)
        let table = try Gateway.run("visits", "--utc", path).text
        #expect(table.contains("the gateway was started again; the time of its stop is unknown"))
    }

    @Test func `an open visit of unknown state lasts until its last sighting, not until the gateway was last alive`()
        throws
    {
        var writer = LineWriter()
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        writer.event("staff", "unknown", 700, minor: 1, seen: 600)
        let path = try scratch.folder(writer, alive: writer.alive(9000))
        #expect(seconds(try rows(path).first) == 500)
    }

    @Test func `a damaged alive file is reported, and the last line is used instead`() throws {
        var writer = LineWriter()
        writer.event("staff", "satisfied", 100, minor: 1, seen: 100)
        let ending = try Gateway.run("visits", "--utc", try scratch.folder(writer, alive: "\0\0\0\0"))
        #expect(ending.status == 0 && ending.errors.contains("alive is damaged, or was not written by a gateway"))
        #expect(ending.text.contains("present at 00:01:40, unknown since then"))
    }

    @Test func `a report of replayed files ends at the time in alive, and no line is a gateway line`() throws {
        let path = scratch.path("replayed")
        let replayed = try Gateway.replay([
            "--output", path, "--fields", Fixtures.roomFields, Fixtures.path(Fixtures.rooms[2]),
        ])
        #expect(replayed.status == 0, "\(replayed.errors)")
        let alive = try object(String(decoding: try contents(of: path + "/alive"), as: UTF8.self))
        #expect(alive["type"] as? String == "alive" && alive["boot"] == nil)
        let proof = try #require(try rows(path, kind: "asOf").first)
        #expect(proof["date"] as? String == alive["date"] as? String)
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasPrefix("events-") {
            #expect(try !String(contentsOfFile: path + "/" + name, encoding: .utf8).contains("\"type\":\"gateway\""))
        }
    }

    // MARK: Errors if nothing is found

    @Test(arguments: ["visits", "explain"]) func `a capture fails with 65, and the error names replay --output`(
        command: String
    ) throws {
        let capture = Fixtures.path(Fixtures.rooms[2])
        let arguments = command == "visits" ? [command] : [command, "staff"]
        let ending = try Gateway.run(arguments + [capture])
        #expect(ending.status == 65 && ending.output.isEmpty)
        #expect(ending.errors.contains("holds no event lines") && ending.errors.contains("replay --output"))
        #expect(!ending.errors.contains("damaged"))
    }

    @Test func `visits of a capture writes no page`() throws {
        let page = scratch.path("page.html")
        let ending = try Gateway.run("visits", "--html", page, Fixtures.path(Fixtures.rooms[2]))
        #expect(ending.status == 65)
        #expect(!FileManager.default.fileExists(atPath: page))
    }

    @Test(arguments: ["visits", "explain"]) func `an empty folder fails with 66: it holds no event files`(
        command: String
    ) throws {
        let path = scratch.path("empty")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let ending = try Gateway.run((command == "visits" ? [command] : [command, "staff"]) + [path])
        #expect(ending.status == 66 && ending.output.isEmpty)
        #expect(ending.errors.contains("holds no event files"), "\(ending.errors)")
    }

    @Test(arguments: [
        (["--from", "2030-01-01"], 65, "there is no data for the time from 2030-01-01"),
        (["--to", "2020-01-01"], 65, "there is no data for the time to 2020-01-01"),
        (["--condition", "stafff"], 65, "no line contains the condition “stafff”; did you mean “staff”?"),
        (["--condition", "warehouse"], 65, "the files contain desk, staff"),
        (["--beacon", "1/8"], 65, "no line contains the beacon 1/8; did you mean “1/1”?"),
        (["--from", "2026-11-22", "--to", "2026-11-21"], 64, "must be before --to"),
    ]) func `a range or filter that finds nothing, or is reversed, has its own error, and no page is written`(
        arguments: [String], status: Int32, words: String
    ) throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 100, 400, minor: 1)
        writer.completeVisit("desk", 500, 600)
        let path = try scratch.folder(writer)
        let page = scratch.path("page.html")
        for more in [[], ["--html", page]] {
            let ending = try Gateway.run(["visits", "--utc"] + arguments + more + [path])
            #expect(ending.status == status && ending.output.isEmpty, "\(ending.text)")
            #expect(ending.errors.contains(words), "\(ending.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: page))
    }

    @Test func `a time in which the gateway scanned and no visit took place is reported without an error`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 100, 400, minor: 1)
        let path = try scratch.folder(writer, alive: writer.alive(9000))
        let ending = try Gateway.run("visits", "--utc", "--from", "2026-11-21T01:00", path)
        #expect(ending.status == 0)
        #expect(ending.text.hasPrefix("No visits from 2026-11-21 01:00:00."), "\(ending.text)")
        #expect(ending.text.contains("As of 2026-11-21 02:30:00"))
    }

    // MARK: Ranges and totals

    @Test func `a range of one hour in a night shift counts one hour, with before range and continues`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 3600, 28_800, minor: 1)
        let path = try scratch.folder(writer, alive: writer.alive(40_000))
        let hour = ["--from", "2026-11-21T02:00", "--to", "2026-11-21T03:00"]
        let visitRow = try #require(try rows(hour[0], hour[1], hour[2], hour[3], path).first)
        #expect(seconds(visitRow) == 3600)
        #expect(visitRow["beganBefore"] as? Bool == true && visitRow["goesOn"] as? Bool == true)
        let total = try rows(hour[0], hour[1], hour[2], hour[3], path, kind: "total").first
        #expect(seconds(total) == 3600)
        let table = try Gateway.run(["visits", "--utc"] + hour + [path]).text
        #expect(table.contains("before range") && table.contains("continues"), "\(table)")
        #expect(table.contains("1 visit, 1:00:00"))
    }

    @Test func `rows and totals agree in each hour, and the hours add up to the total`() throws {
        var writer = LineWriter()
        var time = 100.0
        for number in 0..<40 {
            let length = Double(number * 997 % 9000 + 60)
            writer.completeVisit("staff", time, time + length, minor: 1)
            time += length + 31
        }
        let path = try scratch.folder(writer)
        var sum = 0
        for hour in 0..<60 {
            let (from, to) = (writer.date(Double(hour) * 3600), writer.date(Double(hour + 1) * 3600))
            let ending = try Gateway.run("visits", "--json", "--utc", "--from", from, "--to", to, path)
            guard ending.status == 0 else { break }
            let all = try ending.lines.map(object)
            let visits = all.filter { $0["kind"] as? String == "visit" }
            let total = all.first { $0["kind"] as? String == "total" }
            #expect(visits.reduce(0) { $0 + (seconds($1) ?? 0) } == seconds(total) ?? 0)
            sum += seconds(total) ?? 0
        }
        let whole = seconds(try rows(path, kind: "total").first)
        #expect(sum > 0 && sum == whole)
    }

    @Test func `visits at two gateways that overlap or are 10 s apart are one visit of three hours`() throws {
        var (hall, yard) = (LineWriter(), LineWriter())
        hall.gateway = "hall"
        yard.gateway = "yard"
        hall.completeVisit("staff", 3600, 7200, minor: 1)
        // For the gateway `hall`, the badge is present until 7,230 s.
        yard.completeVisit("staff", 7210, 14_400, minor: 1)
        hall.completeVisit("staff", 9000, 9100, minor: 1)
        let places = [try scratch.folder(hall, name: "hall"), try scratch.folder(yard, name: "yard")]
        let visitRows = try rows(places[0], places[1])
        #expect(visitRows.count == 1 && seconds(visitRows.first) == 10_800)
        #expect(visitRows.first?["gateways"] as? [String] == ["hall", "yard"])
        #expect(visitRows.first?["sightings"] as? Int == 21)
        let table = try Gateway.run("visits", "--utc", places[0], places[1]).text
        #expect(table.contains("hall+yard") && table.contains("1 visit, 3:00:00"), "\(table)")
    }

    @Test func `a condition and the beacon that satisfied it have two totals with different scopes`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 100, 400)
        writer.completeVisit("staff", 100, 400, minor: 1)
        let path = try scratch.folder(writer)
        let totals = try rows(path, kind: "total")
        #expect(totals.map { $0["scope"] as? String } == ["beacon", "condition"])
        #expect(totals.allSatisfy { $0["visits"] as? Int == 1 && seconds($0) == 300 })
        let page = scratch.path("page.html")
        #expect(try Gateway.run("visits", "--utc", "--html", page, path).status == 0)
        #expect(try String(contentsOfFile: page, encoding: .utf8).contains("1 visit of 1 beacon"))
        let csv = try Gateway.run("visits", "--utc", "--csv", path).text
        #expect(csv.contains(",scope,") && csv.contains(",left,condition,g,") && csv.contains(",left,beacon,g,"))
    }

    // MARK: From visits to explain

    @Test func `explain accepts the line that visits shows, and the names that it prints`() throws {
        var writer = LineWriter()
        writer.completeVisit("besucher", 100, 400, minor: 12)
        writer.event("besucher", "satisfied", 500, minor: 13, seen: 500)
        let path = try scratch.folder(writer)
        let visitRow = try #require(try rows(path).first)
        let line = try #require(visitRow["sequence"] as? Int)
        for name in ["\(line)", "besucher 1/12", "1/12"] {
            let ending = try Gateway.run("explain", "--utc", name, path)
            #expect(ending.status == 0 && ending.text.contains("/1/12 became unsatisfied"), "\(ending.errors)")
        }
        let missing = try Gateway.run("explain", "besuche", path)
        #expect(missing.status == 65 && missing.errors.contains("did you mean “besucher”?"), "\(missing.errors)")
    }

    @Test func `a line number that two gateways have must have the gateway before it`() throws {
        var (hall, yard) = (LineWriter(), LineWriter())
        (hall.gateway, yard.gateway) = ("hall", "yard")
        hall.completeVisit("staff", 100, 400, minor: 12)
        yard.completeVisit("visitors", 100, 400, minor: 13)
        let places = [try scratch.folder(hall, name: "hall"), try scratch.folder(yard, name: "yard")]
        let ending = try Gateway.run("explain", "2", places[0], places[1])
        #expect(ending.status == 65 && ending.errors.contains("use hall:2 or yard:2"), "\(ending.errors)")
        for (name, who) in [("hall:2", "“staff”"), ("yard:2", "“visitors”")] {
            let ending = try Gateway.run("explain", name, places[0], places[1])
            #expect(ending.status == 0 && ending.text.contains("\(who), beacon"), "\(ending.text)")
        }
        let missing = try Gateway.run("explain", "cellar:2", places[0], places[1])
        #expect(missing.status == 65 && missing.errors.contains("no line of cellar has the number 2"))
    }
}
