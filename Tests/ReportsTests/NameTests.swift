import CommandSupport
import Foundation
import ProgramSupport
import Testing

@testable import Reports

/// Names of beacons are in all output for people. In output for programs, they are only in addition to the beacon's
/// numbers.
@Suite struct NameTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Returns the path of a configuration with names for beacons 1, 2 and 3. The last two names are equal.
    private func configuration() throws -> String {
        let path = scratch.path("gateway.yaml")
        try Data(
            """
            conditions:
              - {identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, per_beacon: true}
            beacons:
              - {major: 1, minor: 1, name: Ada, group: nurses}
              - {major: 1, minor: 2, name: Grace}
              - {major: 1, minor: 3, name: Grace}
            """.utf8
        ).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func fixture() throws -> [String] {
        var writer = LineWriter()
        writer.completeVisit("staff", 3600, 7200, minor: 1)
        writer.completeVisit("staff", 7300, 7400, minor: 2)
        writer.completeVisit("staff", 7500, 7600, minor: 3)
        writer.completeVisit("staff", 7700, 7800, minor: 9)
        return ["--config", try configuration(), try scratch.folder(writer)]
    }

    private func visits(_ arguments: [String]) throws -> Ending {
        try Gateway.run(["visits", "--utc"] + arguments)
    }

    @Test func `the table and its totals have names, with the numbers if two beacons have the same name`() throws {
        let text = try visits(try fixture()).text
        #expect(text.contains("  Ada (staff)  "), "\(text)")
        #expect(text.contains("Grace 1/2 (staff)") && text.contains("Grace 1/3 (staff)"))
        #expect(text.contains("staff 1/9"))
        #expect(!text.contains("staff 1/1"))
        #expect(text.split(separator: "\n").contains { $0.contains("Ada (staff)") && $0.contains("1 visit, 1:00:00") })
    }

    @Test func `wide and long names do not shift the rows of the table and of the totals`() throws {
        var writer = LineWriter()
        for minor in 1...3 {
            writer.completeVisit("staff", Double(minor * 4000), Double(minor * 4000 + 3600), minor: minor)
        }
        let long = String(repeating: "山", count: 20)
        let path = try scratch.write(
            "wide.yaml",
            """
            conditions:
              - {identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, per_beacon: true}
            beacons:
              - {major: 1, minor: 1, name: "Zoe\\u0308 👩‍🔧"}
              - {major: 1, minor: 2, name: 山田太郎}
              - {major: 1, minor: 3, name: \(long)}
            """)
        let text = try visits(["--config", path, try scratch.folder(writer)]).text
        let space = String(repeating: " ", count: 20)
        let times = ["01:06:40  2026-11-21 02:06:40", "02:13:20  2026-11-21 03:13:20", "03:20:00  2026-11-21 04:20:00"]
        #expect(
            text.hasPrefix(
                """
                  LINE  ARRIVAL              LAST SIGHTING            DURATION  NAME                \(space)          SIGHTINGS    RSSI  END
                     2  2026-11-21 \(times[0])       1:00:00  Zoe\u{308} 👩‍🔧 (staff)      \(space)                  7   -66.7  left
                     5  2026-11-21 \(times[1])       1:00:00  山田太郎 (staff)    \(space)                  7   -66.7  left
                     8  2026-11-21 \(times[2])       1:00:00  \(long) (staff)          7   -66.7  left

                Totals of beacons:
                  Zoe\u{308} 👩‍🔧 (staff)      \(space)          1 visit, 1:00:00
                  山田太郎 (staff)    \(space)          1 visit, 1:00:00
                  \(long) (staff)  1 visit, 1:00:00

                """), "\(text)")
    }

    @Test func `the page has the names`() throws {
        let page = scratch.path("page.html")
        #expect(try visits(["--html", page] + fixture()).status == 0)
        let text = try String(contentsOfFile: page, encoding: .utf8)
        #expect(text.contains("<div class=\"name\">Ada (staff)</div>"))
        #expect(text.contains("<td>Ada (staff)</td>"))
    }

    @Test func `CSV has scope, name, group, gateway, hours as a number, and local dates`() throws {
        let fixture = try fixture()
        let rows = try Gateway.run(["visits", "--csv", "--zone", "Europe/Vienna"] + fixture).text
            .split(separator: "\r\n").map {
                $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
        let ada = Dictionary(uniqueKeysWithValues: zip(rows[0], rows[1]))
        #expect(ada["scope"] == "beacon" && ada["name"] == "Ada" && ada["group"] == "nurses" && ada["gateway"] == "g")
        #expect(ada["hours"] == "1.0000")
        #expect(ada["arrival"] == "2026-11-21 02:00:00" && ada["departure"] == "2026-11-21 03:00:00")
        #expect(rows.allSatisfy { $0.count == rows[0].count })
    }

    @Test func `JSON has name and group if they are known`() throws {
        let rows = try visits(["--json"] + fixture()).lines.map(object).filter { $0["kind"] as? String == "visit" }
        #expect(rows.map { $0["name"] as? String } == ["Ada", "Grace", "Grace", nil])
        #expect(rows.map { $0["group"] as? String } == ["nurses", nil, nil, nil])
    }

    @Test(arguments: ["Ada", "ada", "ADA"]) func `--beacon finds a name in upper or lower case`(name: String) throws {
        let rows = try visits(["--json", "--beacon", name] + fixture()).lines.map(object)
        #expect(rows.count { $0["kind"] as? String == "visit" } == 1)
        #expect(rows.first?["name"] as? String == "Ada")
    }

    @Test func `the error for a name of two beacons lists both, and that for an unknown name has the nearest`() throws {
        let fixture = try fixture()
        for command in [["visits", "--beacon", "Grace"], ["explain", "Grace"]] {
            let ending = try Gateway.run(command + fixture)
            #expect(ending.status == 65 && ending.output.isEmpty)
            #expect(ending.errors.contains("2 beacons have the name “Grace”"), "\(ending.errors)")
            #expect(ending.errors.contains("/1/2") && ending.errors.contains("/1/3"))
        }
        for command in [["visits", "--beacon", "Adda"], ["explain", "Adda"]] {
            let ending = try Gateway.run(command + fixture)
            #expect(ending.status == 65 && ending.errors.contains("did you mean “Ada”?"), "\(ending.errors)")
        }
    }

    @Test func `explain and --beacon list all names if none matches, and accept an unambiguous part of one`() throws {
        let fixture = try fixture()
        for command in [["visits", "--beacon", "Zoe"], ["explain", "Zoe"]] {
            let ending = try Gateway.run(command + fixture)
            #expect(ending.status == 65 && ending.output.isEmpty)
            #expect(
                ending.errors.contains("; the configuration has the names Ada, Grace 1/2, Grace 1/3"),
                "\(ending.errors)")
        }
        for part in ["Ad", "DA", "race 1/2", "grace 1/2"] {
            let name = part.count == 2 ? "Ada" : "Grace 1/2"
            let explained = try Gateway.run(["explain", "--utc", part] + fixture)
            #expect(
                explained.text == (try Gateway.run(["explain", "--utc", name] + fixture).text), "\(explained.errors)")
            let listed = try Gateway.run(["visits", "--utc", "--beacon", part] + fixture)
            #expect(listed.text == (try Gateway.run(["visits", "--utc", "--beacon", name] + fixture).text))
            if part != "grace 1/2" {
                #expect(explained.errors == "“\(part)” matches \(name)\n")
                #expect(listed.errors == "--beacon \(part) matches \(name)\n")
            }
        }
        for command in [["visits", "--beacon", "race"], ["explain", "race"]] {
            let ending = try Gateway.run(command + fixture)
            #expect(ending.status == 65 && ending.output.isEmpty)
            #expect(
                ending.errors == "“race” matches 2 names: Grace 1/2, Grace 1/3; use a longer part of one\n",
                "\(ending.errors)")
        }
    }

    @Test func `explain at a date before the first event of a name reports this, and not that no line contains it`()
        throws
    {
        let fixture = try fixture()
        let early = ["--utc", "--at", "2026-11-21T02:00Z"]
        for name in ["Grace 1/3", "staff 1/3", "1/3", "\(Log.uuid)/1/3"] {
            let ending = try Gateway.run(["explain", name] + early + fixture)
            #expect(ending.status == 65)
            #expect(
                ending.errors.hasPrefix("there is no event of “\(name)” at or before 2026-11-21 02:00:00 UTC in "),
                "\(ending.errors)")
        }
        let absent = try Gateway.run(["explain", "1/4"] + early + fixture)
        #expect(absent.errors.hasPrefix("no line contains “1/4”; "), "\(absent.errors)")
    }

    @Test func `erase refuses a name that is also the numbers of another beacon, but not its own numbers`() throws {
        let fixture = try fixture()
        let config = try scratch.write(
            "c.yaml",
            """
            conditions: [{identifier: staff, uuid: \(Log.uuid), per_beacon: true}]
            beacons: [{major: 1, minor: 3, name: 1/2}, {major: 1, minor: 1, name: 1/1}, {major: 1, minor: 9, name: a/1/2},
              {major: 1, minor: 2, name: 00000000-0000-0000-0000-000000000001/1/2}]
            """)
        let ending = try Gateway.run("erase", "1/2", "--config", config, fixture[2])
        #expect(ending.status == 64)
        #expect(
            ending.errors.hasPrefix(
                "1/2 is the name of \(Log.uuid)/1/3, and also the numbers of another beacon: use UUID/MAJOR/MINOR\n"))
        let other = "00000000-0000-0000-0000-000000000001/1/2"
        #expect(
            try Gateway.run("erase", other, "--config", config, fixture[2]).errors.hasPrefix(
                "\(other) is the name of \(Log.uuid)/1/2, and also the numbers of another beacon: change that name\n"))
        for name in ["1/1", "a/1/2"] {
            #expect(try Gateway.run("erase", name, "--dry-run", "--config", config, fixture[2]).status == 0)
        }
    }

    @Test func `a condition has priority over a part of a name, also if its identifier is only similar`() throws {
        var writer = LineWriter()
        writer.completeVisit("ad", 100, 200)
        writer.completeVisit("staff", 300, 400, minor: 1)
        writer.completeVisit("dax", 500, 600)
        let (config, folder) = (try configuration(), try scratch.folder(writer))
        let ending = try Gateway.run("explain", "--utc", "ad", "--config", config, folder)
        #expect(ending.status == 0 && ending.errors == "" && ending.text.contains("“ad” became unsatisfied"))
        let near = try Gateway.run("explain", "da", "--config", config, folder)
        #expect(near.status == 65 && near.errors == "no line contains “da”; did you mean “ad”?\n", "\(near.errors)")
    }

    @Test(arguments: ["a", "1", "/", "1/", " ", "12"]) func `a part of a name needs two characters and a letter`(
        part: String
    ) throws {
        let ending = try Gateway.run(["visits", "--beacon", part] + fixture())
        #expect([64, 65].contains(ending.status) && ending.errors.hasPrefix("no beacon has the name “\(part)”; "))
    }

    @Test func `if a part matches a name that is in no line, the error has the part and the name`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 300, 400, minor: 9)
        let ending = try Gateway.run("explain", "ad", "--config", try configuration(), try scratch.folder(writer))
        #expect(ending.status == 65)
        #expect(
            ending.errors == "“ad” matches Ada, but no line contains “Ada”; the files contain 1/9, staff\n",
            "\(ending.errors)")
    }

    @Test(arguments: ["Ad", "ada", "ADA", "race", "Grace 1/2"])
    func `erase accepts a name only if it is complete and exact, also in upper and lower case`(name: String) throws {
        let fixture = try fixture()
        let before = try Gateway.run(["visits", "--csv"] + fixture).text
        let ending = try Gateway.run(["erase", name] + fixture)
        #expect(ending.status == 64 && ending.output.isEmpty)
        #expect(ending.errors.hasPrefix("\(name) is not a beacon; use UUID/MAJOR/MINOR"), "\(ending.errors)")
        if name.hasPrefix("A") || name == "ada" {
            #expect(ending.errors.contains("; a name must be complete and exact: Ada\n"), "\(ending.errors)")
        }
        #expect(try Gateway.run(["visits", "--csv"] + fixture).text == before)
    }

    @Test(arguments: ["Ada", "ada", "Ada (staff)", "Grace 1/2", "Grace 1/2 (staff)", "staff 1/9"])
    func `explain accepts every name that the table prints, and prints it`(name: String) throws {
        let ending = try Gateway.run(["explain", "--utc", name] + fixture())
        #expect(ending.status == 0, "\(ending.errors)")
        if name.lowercased().hasPrefix("ada") {
            #expect(ending.text.contains("beacon Ada (F7826DA6-"), "\(ending.text)")
        }
    }

    @Test func `if there are no names, the error of --beacon points to --config`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 3600, 7200, minor: 1)
        let ending = try Gateway.run("visits", "--beacon", "Ada", try scratch.folder(writer))
        #expect(ending.status == 64 && ending.errors.contains("--config FILE"), "\(ending.errors)")
    }

    // MARK: One person

    @Test func `overlapping visits of a badge under two conditions are one visit of eight hours in the total`() throws {
        var writer = LineWriter()
        writer.event("building", "satisfied", 0, minor: 1, seen: 0)
        writer.completeVisit("desk", 3600, 7200, minor: 1)
        writer.completeVisit("desk", 9000, 10_800, minor: 1)
        writer.event("building", "unsatisfied", 28_830, minor: 1, seen: 28_800)
        writer.visit("building", 28_830, arrival: 0, departure: 28_800, minor: 1)
        let path = try scratch.folder(writer)
        let totals = try visits(["--json", path]).lines.map(object).filter { $0["kind"] as? String == "total" }
        #expect(totals.count == 1 && totals.first?["visits"] as? Int == 1)
        #expect((totals.first?["duration"] as? NSNumber)?.intValue == 28_800)
        #expect(totals.first?["identifiers"] as? [String] == ["building", "desk"])
        let table = try visits([path]).text
        #expect(table.contains("building+desk 1/1") && table.contains("1 visit, 8:00:00"), "\(table)")
    }

    @Test(arguments: 1...20) func `the total of a badge counts overlapping times of visits once`(seed: Int) throws {
        var random = Numbers(state: UInt64(seed))
        var writer = LineWriter()
        var covered = Set<Int>()
        var subjectVisits: [(name: String, from: Int, to: Int)] = []
        for name in ["a", "b", "c"] {
            var time = random(200) + 100
            while time < 5000 {
                let to = time + random(400) + 1
                subjectVisits.append((name, time, to))
                covered.formUnion(time..<to)
                time = to + 40 + random(300)
            }
        }
        // The lines are in the order of their times. If times are equal, entries are before exits.
        let edges =
            subjectVisits.map { ($0.from, 0, $0) } + subjectVisits.map { ($0.to + 30, 1, $0) }
        for (time, kind, subjectVisit) in edges.sorted(by: { ($0.0, $0.1) < ($1.0, $1.1) }) {
            if kind == 0 {
                writer.event(subjectVisit.name, "satisfied", Double(time), minor: 1, seen: Double(time))
            } else {
                writer.event(subjectVisit.name, "unsatisfied", Double(time), minor: 1, seen: Double(subjectVisit.to))
                writer.visit(
                    subjectVisit.name, Double(time), arrival: Double(subjectVisit.from),
                    departure: Double(subjectVisit.to), minor: 1)
            }
        }
        let totals = try visits(["--json", try scratch.folder(writer)]).lines.map(object)
            .filter { $0["kind"] as? String == "total" }
        #expect(
            totals.count == 1 && (totals.first?["duration"] as? NSNumber)?.intValue == covered.count, "seed \(seed)")
    }

    // MARK: Zones

    @Test func `visits refuses an unknown zone, and --zone together with --utc`() throws {
        let fixture = try fixture()
        let unknown = try Gateway.run(["visits", "--zone", "Europe/Wien"] + fixture)
        #expect(unknown.status == 64 && unknown.errors.contains("--zone is Europe/Wien"), "\(unknown.errors)")
        #expect(try Gateway.run(["visits", "--zone", "Europe/Vienna", "--utc"] + fixture).status == 64)
    }

    @Test func `times have offsets if the offset changes, and given dates are in the zone of --zone`() throws {
        var writer = LineWriter()
        // 2026-10-24 22:00 UTC is midnight in Vienna, in the night in which summer time ends.
        writer.offset = 1_792_879_200
        writer.completeVisit("staff", 3600, 14_400, minor: 1)
        let path = try scratch.folder(writer)
        let text = try Gateway.run("visits", "--zone", "Europe/Vienna", path).text
        #expect(text.contains("2026-10-25 01:00:00 +0200  2026-10-25 03:00:00 +0100"), "\(text)")
        #expect(text.contains("Times are local, +0200, from 2026-10-25 02:00:00 on +0100."), "\(text)")
        #expect(text.contains("1 visit, 3:00:00"))
        let clipped = try Gateway.run(
            "visits", "--zone", "Europe/Vienna", "--from", "2026-10-25T02:30", "--to", "2026-10-25T03:00", path
        ).text
        #expect(clipped.contains("before range"))
        let explained = try Gateway.run("explain", "--zone", "Europe/Vienna", "--at", "2026-10-25T01:30", "1/1", path)
        #expect(explained.text.contains("became satisfied at 2026-10-25 01:00:00.000"), "\(explained.text)")
    }
}

/// Random numbers below a bound (SplitMix64). The same seed gives the same numbers.
private struct Numbers {
    var state: UInt64

    mutating func callAsFunction(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}

@Suite struct NameSuggestionTests {
    @Test(arguments: [
        ("ana", "Anna"), ("Anan", "Anna"), ("bret", "Bert"), ("Gbert", "Bert"), ("xyz", nil), ("", nil),
        ("Pallet jakc 4", "Pallet jack 4"),
    ])
    func `the nearest name is suggested if it differs by a typing error`(name: String, suggestion: String?) {
        #expect(NameSuggestion.nearest(to: name, among: ["Anna", "Bert", "Pallet jack 4"]) == suggestion)
    }
}
