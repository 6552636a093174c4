import Foundation
import ProgramSupport
import Testing

/// Reports of nights in which clocks change, and dates that clocks show twice or never.
@Suite struct RepeatedHourTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Returns a folder of the night of 2025-10-26 in Vienna. The timeline starts at 02:00 +0200. At 3,600 s, clocks
    /// change from 03:00 to 02:00.
    private func night() throws -> String {
        var writer = LineWriter()
        writer.offset = 1_761_436_800
        writer.started(0)
        writer.completeVisit("staff", 600, 1200, minor: 1)
        writer.completeVisit("staff", 1800, 5400, minor: 3)
        writer.completeVisit("staff", 6000, 7200, minor: 2)
        return try scratch.folder(writer, alive: writer.alive(10_800))
    }

    private func visits(_ arguments: String..., zone: String = "Europe/Vienna") throws -> Ending {
        let ending = try Gateway.run(["visits", "--zone", zone] + arguments)
        #expect(ending.status == 0, "\(ending.errors)")
        return ending
    }

    @Test func `the table has offsets, so that a visit over the repeated hour does not seem to end at its arrival`()
        throws
    {
        let ending = try visits(night())
        #expect(ending.errors == "")
        #expect(
            ending.text == """
                  LINE  ARRIVAL                    LAST SIGHTING                  DURATION  NAME                          SIGHTINGS    RSSI  END
                     4  2025-10-26 02:10:00 +0200  2025-10-26 02:20:00 +0200       0:10:00  staff 1/1                             7   -66.7  left
                     7  2025-10-26 02:30:00 +0200  2025-10-26 02:30:00 +0100       1:00:00  staff 1/3                             7   -66.7  left
                    10  2025-10-26 02:40:00 +0100  2025-10-26 03:00:00 +0100       0:20:00  staff 1/2                             7   -66.7  left

                Totals of beacons:
                  staff 1/1                         1 visit, 0:10:00
                  staff 1/2                         1 visit, 0:20:00
                  staff 1/3                         1 visit, 1:00:00

                The files start at 2025-10-26 02:00:00 +0200.
                As of 2025-10-26 04:00:00 +0100: g was last known to be alive at this time.

                Times are local, +0200, from 2025-10-26 02:00:00 on +0100.

                """)
    }

    @Test func `CSV has the offsets of its times in separate columns, whatever the range`() throws {
        let uuid = Log.uuid
        let row = "7,-80,-66.7,-60,left,beacon,g"
        #expect(
            try visits("--csv", night()).text.components(separatedBy: "\r\n") == [
                "monitor,identifier,uuid,major,minor,arrival,departure,duration,sightings,rssi_minimum,rssi_mean,"
                    + "rssi_maximum,end,scope,gateway,sequence,began_before,goes_on,name,group,hours,"
                    + "arrival_offset,departure_offset,not_known_since,not_known_since_offset",
                "site,staff,\(uuid),1,1,2025-10-26 02:10:00,2025-10-26 02:20:00,600.0,\(row),4,false,false,,,0.1667,+02:00,+02:00,,",
                "site,staff,\(uuid),1,3,2025-10-26 02:30:00,2025-10-26 02:30:00,3600.0,\(row),7,false,false,,,1.0000,+02:00,+01:00,,",
                "site,staff,\(uuid),1,2,2025-10-26 02:40:00,2025-10-26 03:00:00,1200.0,\(row),10,false,false,,,0.3333,+01:00,+01:00,,",
                "",
            ])
        let utc = try Gateway.run("visits", "--csv", "--utc", night()).text.components(separatedBy: "\r\n")
        #expect(utc[2].contains(",2025-10-26 00:30:00,2025-10-26 01:30:00,") && utc[2].hasSuffix(",+00:00,+00:00,,"))
    }

    @Test func `the page has the offsets in its rows, its bars and its title`() throws {
        let page = try visits("--html=-", night()).text
        #expect(page.contains("<td>2025-10-26 02:30:00 +0200</td><td>2025-10-26 02:30:00 +0100</td><td>1:00:00</td>"))
        #expect(page.contains("<title>2025-10-26 02:30:00 +0200 – 2025-10-26 02:30:00 +0100</title>"))
        #expect(page.contains("<title>Visits 2025-10-26 02:10:00 +0200 – 2025-10-26 04:00:00 +0100</title>"))
        #expect(page.contains("+0100 · +0200, from 2025-10-26 02:00:00 on +0100 ·"))
    }

    @Test func `the axis has ticks in both of the hours, and the offset at the first tick of each`() throws {
        func ticks(_ arguments: String...) throws -> [String] {
            let ending = try Gateway.run(["visits", "--zone", "Europe/Vienna", "--html=-"] + arguments + [night()])
            return ending.text.matches(of: /<span class="hour[^>]*>([^<]*)</).map { String($0.1) }
        }
        #expect(try ticks("--to", "2025-10-26T02:15") == ["02:15 +0200", "02:30", "02:45", "02:00 +0100"])
        #expect(try ticks() == ["02:00 +0100", "03:00"])
        // In the Azores, clocks show midnight twice, and the day starts with the first.
        let azores = try Gateway.run("visits", "--zone", "Atlantic/Azores", "--html=-", night())
        let labels = azores.text.matches(of: /<span class="(?:hour|day)[^>]*>([^<]*)</).map { String($0.1) }
        #expect(labels == ["00:00 -0100", "01:00"])
        #expect(try ticks("--from", "2025-10-26T01:30Z") == ["02:45", "03:00", "03:15", "03:30", "03:45"])
    }

    @Test(arguments: ["an empty file first", "an empty file last", "zeros at the end", "a long line at the end"])
    func `the table has the same offsets as the page, whatever the first and the last file contain`(damage: String)
        throws
    {
        var writer = LineWriter()
        writer.offset = 1_761_436_800
        writer.started(0)
        writer.completeVisit("staff", 1800, 5400, minor: 3)
        let path = try scratch.folder(writer)
        let text = writer.lines.map { $0 + "\n" }.joined()
        func write(_ number: Int, _ text: String) throws {
            _ = try scratch.write("events/events-00000000000\(number)-20251026T000000Z.jsonl", text)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        switch damage {
        case "an empty file first":
            try write(1, "")
            try write(2, text)
        case "an empty file last":
            try write(1, text)
            try write(9, "\n")
        case "zeros at the end": try write(1, text + String(repeating: "\0", count: 700_000))
        default: try write(1, text + String(repeating: "x", count: 700_000) + "\n")
        }
        let row = "  2025-10-26 02:30:00 +0200  2025-10-26 02:30:00 +0100       1:00:00  staff 1/3"
        let table = try visits(path).text
        #expect(table.contains(row), "\(table)")
        #expect(table.contains("\nThe files start at 2025-10-26 02:00:00 +0200.\n"))
        #expect(try visits("--html=-", path).text.contains("<td>2025-10-26 02:30:00 +0200</td>"))
    }

    @Test func `if the offset does not change within the range, rows have no offsets`() throws {
        let ending = try visits("--from", "2025-10-26T03:00", night())
        #expect(ending.text.contains("\nTimes are local, +0100.\n"), "\(ending.text)")
        #expect(ending.text.contains("    10  before range         2025-10-26 03:00:00  "))
        // The files start before the range, at another offset.
        #expect(ending.text.contains("The files start at 2025-10-26 02:00:00 +0200.\n"))
        let before = try visits("--to", "2025-10-26T02:30+02:00", night())
        #expect(before.text.contains("     4  2025-10-26 02:10:00  2025-10-26 02:20:00  "), "\(before.text)")
        #expect(before.text.contains("As of 2025-10-26 04:00:00 +0100: g was"))
        let utc = try Gateway.run("visits", "--utc", night()).text
        #expect(utc.contains("     7  2025-10-26 00:30:00  2025-10-26 01:30:00  ") && !utc.contains("+0"))
    }

    @Test func `an interval of occupancy over the change has the offsets of both ends, and in CSV each interval`()
        throws
    {
        func occupancy(_ form: String...) throws -> Ending {
            try Gateway.run(["occupancy", "--zone", "Europe/Vienna", "--every", "30m"] + form + [night()])
        }
        let ending = try occupancy()
        #expect(
            ending.text == """
                TIME                                        PEAK     MEAN    IN   OUT  DISTINCT    UNKNOWN
                """.replacing("  DISTINCT", with: "   BEACONS") + """

                    2025-10-26 02:00–02:30 +0200                   1     0.33     1     1         1
                    2025-10-26 02:30 +0200–02:00 +0100             1     1.00     1     0         1
                    2025-10-26 02:00–02:30 +0100                   1     1.00     0     0         1
                    2025-10-26 02:30–03:00 +0100                   1     0.67     1     1         2
                    2025-10-26 03:00–03:30 +0100                   1     0.00     0     1         1
                    2025-10-26 03:30–04:00 +0100                   0     0.00     0     0         0

                    The files start at 2025-10-26 02:00:00 +0200.
                    As of 2025-10-26 04:00:00 +0100: g was last known to be alive at this time.
                    Times are local, +0200, from 2025-10-26 02:00:00 on +0100.

                    """)
        let records = try occupancy("--csv").text.components(separatedBy: "\r\n")
        #expect(records[0].hasSuffix(",not_known,partly_known,from_offset,to_offset"))
        #expect(
            records[2].hasPrefix("2025-10-26 02:30:00,2025-10-26 02:00:00,") && records[2].hasSuffix(",+02:00,+01:00"))
        let page = try occupancy("--html=-").text
        #expect(page.contains("<tr><td>2025-10-26 02:30 +0200–02:00 +0100</td>"))
    }

    @Test func `visits --now has offsets if the clocks changed since an arrival`() throws {
        var writer = LineWriter()
        // 2025-10-25 22:00 +0200 until 2025-10-26 03:00 +0100.
        writer.offset = 1_761_422_400
        writer.started(0)
        writer.event("staff", "satisfied", 600, minor: 1, seen: 600)
        let path = try scratch.folder(writer, alive: writer.alive(21_600))
        let ending = try visits("--now", path)
        #expect(
            ending.text.contains("     3  2025-10-25 22:10:00 +0200  2025-10-25 22:10:00 +0200  1/1"), "\(ending.text)")
        #expect(ending.text.contains("unknown since 2025-10-26 03:00:00 +0100\n"))
        #expect(ending.text.contains("Times are local, +0200, from 2025-10-26 02:00:00 on +0100, from "))
        let records = try visits("--now", "--csv", path).text.components(separatedBy: "\r\n")
        #expect(records[0].hasSuffix(",gateway,sequence,since_offset,last_heard_offset,not_known_since_offset"))
        #expect(records[1].hasSuffix(",g,3,+02:00,+02:00,+01:00"))
    }

    @Test func `an explanation has the offset of each time, unless it is the offset of its event`() throws {
        let ending = try Gateway.run("explain", "--zone", "Europe/Vienna", "7", night())
        #expect(
            ending.text.hasPrefix(
                "Line 7: “staff”, beacon \(Log.uuid)/1/3 became unsatisfied at 2025-10-26 02:30:30.000.\n"))
        #expect(ending.text.contains("hci0: listening since 2025-10-26 02:00:00.000 +0200"), "\(ending.text)")
        #expect(ending.text.hasSuffix("\nTimes are local, +0100.\n"))
    }

    // MARK: dates that clocks show twice

    @Test func `--from takes the first of two instants and --to the second, and both choices are reported`() throws {
        let ending = try visits("--from", "2025-10-26T02:30", "--to", "2025-10-26 02:30:00", night())
        #expect(
            ending.errors == """
                --from is 2025-10-26T02:30, a local time that occurs twice; the first was used, 2025-10-26T02:30:00+02:00; the other is 2025-10-26T02:30:00+01:00
                --to is 2025-10-26 02:30:00, a local time that occurs twice; the second was used, 2025-10-26T02:30:00+01:00; the other is 2025-10-26T02:30:00+02:00

                """)
        #expect(
            ending.text.contains(
                "     7  2025-10-26 02:30:00 +0200  2025-10-26 02:30:00 +0100       1:00:00  staff 1/3"))
        let fraction = try visits("--from", "2025-10-26T02:30:00.25", night())
        #expect(
            fraction.errors
                == "--from is 2025-10-26T02:30:00.25, a local time that occurs twice; the first was used, "
                + "2025-10-26T02:30:00.25+02:00; the other is 2025-10-26T02:30:00.25+01:00\n")
        // An explicit offset selects the instant, and nothing is reported.
        for (from, duration) in [("2025-10-26T02:30+01:00", nil), ("2025-10-26T02:15+02:00", "0:05:00")]
            as [(String, String?)]
        {
            let exact = try visits("--from", from, "--to", "2025-10-26T03:30", night())
            #expect(exact.errors == "")
            #expect(exact.text.contains("staff 1/1") == (duration != nil) && exact.text.contains(duration ?? "0:20:00"))
        }
    }

    @Test func `the same date means the same instant, whatever zone and dates were used before`() throws {
        // mktime(3) with an unknown tm_isdst uses the rule of the previous call.
        let both = try visits("--from", "2025-10-26T02:10", "--to", "2025-10-26T02:20", "--json", night()).lines.map(
            object)
        #expect(both.filter { $0["kind"] as? String == "visit" }.count == 2)
        for command in ["visits", "occupancy"] {
            let lines = try Gateway.run(
                command, "--zone", "Europe/Vienna", "--from", "2025-10-26T02:10", "--to", "2025-10-26T02:20", "--json",
                night())
            #expect(lines.lines.count { $0.contains("ambiguousDate") } == 2)
            let valid = try Schema.validate(Array(lines.output), ["--kind", "reports"])
            #expect(valid.status == 0, "\(valid.errors)")
        }
        let dates = both.filter { $0["kind"] as? String == "ambiguousDate" }
        #expect(dates.map { $0["option"] as? String } == ["from", "to"])
        #expect(dates.map { $0["text"] as? String } == ["2025-10-26T02:10", "2025-10-26T02:20"])
        #expect(dates.map { $0["taken"] as? String } == ["2025-10-26T00:10:00.000000Z", "2025-10-26T01:20:00.000000Z"])
        #expect(dates.map { $0["other"] as? String } == ["2025-10-26T01:10:00.000000Z", "2025-10-26T00:20:00.000000Z"])
        // Another date in summer or in winter changes nothing: up to 01:20 UTC, the visit lasts 50 minutes.
        for from in ["2025-07-01", "2025-03-01", "2025-10-26T01:59"] {
            let reported = try visits("--from", from, "--to", "2025-10-26T02:20", night())
            #expect(reported.text.contains("  continues                       0:50:00  staff 1/3"), "\(reported.text)")
        }
    }

    @Test
    func `explain --at takes the second instant, erase --before the first, and the page of visits has the choice`()
        throws
    {
        let at = try Gateway.run("explain", "staff", "--zone", "Europe/Vienna", "--at", "2025-10-26T02:15", night())
        #expect(at.text.hasPrefix("Line 6: "), "\(at.text)")
        for (date, text) in [
            ("2025-10-26T02:05+02:00", "2025-10-26 02:05:00 +0200"),
            ("2025-10-26T02:05+01:00", "2025-10-26 02:05:00 +0100"),
        ] {
            let none = try Gateway.run("explain", "1/2", "--zone", "Europe/Vienna", "--at", date, night())
            #expect(none.errors.contains("there is no event of “1/2” at or before \(text) in"), "\(none.errors)")
        }
        #expect(at.errors.hasPrefix("--at is 2025-10-26T02:15, a local time that occurs twice; the second was used, "))
        let erase = try run(
            "/usr/bin/env",
            [
                "TZ=Europe/Vienna", Gateway.path, "erase", "\(Log.uuid)/1/1", "--before", "2025-10-26T02:15", "--csv",
                "--dry-run", night(),
            ])
        #expect(
            erase.errors.hasPrefix("--before is 2025-10-26T02:15, a local time that occurs twice; the first was used, ")
        )
        #expect(erase.text.contains(",true,2025-10-26 02:15:00,1,0,1,0,"), "\(erase.text)")
        #expect(erase.text.firstMatch(of: #/,\+02:00,\+0[12]:00\r\n$/#) != nil, "\(erase.text)")
        let page = try visits("--from", "2025-10-26T02:30", "--html=-", night()).text
        #expect(
            page.contains(
                "<p class=\"range\">from is 2025-10-26T02:30, a local time that occurs twice; the first was used, "
                    + "2025-10-26T02:30:00+02:00; the other is 2025-10-26T02:30:00+01:00.</p>"))
    }

    @Test func `queries to serve take the same instants, and the answers report the choice`() async throws {
        let server = try await SiteServer(scratch, folder: night())
        defer { server.end() }
        let hour = "from=2025-10-26T02:30&to=2025-10-26T02:30"
        let lines = try server.lines("/api/v1/visits?\(hour)").lines.map(object)
        #expect(lines.first { $0["kind"] as? String == "visit" }?["sequence"] as? Int == 7)
        let dates = lines.filter { $0["kind"] as? String == "ambiguousDate" }
        #expect(dates.map { $0["taken"] as? String } == ["2025-10-26T00:30:00.000000Z", "2025-10-26T01:30:00.000000Z"])
        for page in ["visits", "occupancy"] {
            let page = try server.get("/\(page)?\(hour)")
            #expect(
                page.contains(
                    "from is 2025-10-26T02:30, a local time that occurs twice; the first was used, 2025-10-26T02:30:00+02:00"
                )
            )
            #expect(page.contains("to is 2025-10-26T02:30, a local time that occurs twice; the second was used, "))
        }
        let second = try server.lines("/api/v1/visits?from=2025-10-26T02:45+01:00").lines.map(object)
        #expect(second.filter { $0["kind"] as? String == "visit" }.map { $0["sequence"] as? Int } == [10])
        #expect(!second.contains { $0["kind"] as? String == "ambiguousDate" })
    }

    @Test func `a day is the range of --on, and of --from and --to with the same day, also if it has 25 hours`() throws
    {
        let path = try night()
        for command in [["visits", "--csv"], ["occupancy", "--csv", "--every", "1h"]] {
            func text(_ range: String...) throws -> String {
                let ending = try Gateway.run(command + ["--zone", "Europe/Vienna"] + range + [path])
                #expect(ending.status == 0 && ending.errors.isEmpty, "\(ending.errors)")
                return ending.text
            }
            let day = try text("--from", "2025-10-26", "--to", "2025-10-27")
            #expect(try text("--on", "2025-10-26") == day)
            #expect(try text("--from", "2025-10-26", "--to", "2025-10-26") == day)
            #expect(try text("--from", "2025-10-26T00:00+02:00", "--to", "2025-10-27T00:00+01:00") == day)
            let utc = try text("--on", "2025-10-26Z")
            #expect(try text("--from", "2025-10-26T00:00Z", "--to", "2025-10-27T00:00Z") == utc)
        }
    }

    @Test func `a range with a time, or of other days, is refused if its end is not after its start`() throws {
        let path = try night()
        for (arguments, words) in [
            (
                ["--from", "2025-10-26", "--to", "2025-10-26T00:00"],
                "--from is 2025-10-26; must be before --to, which is 2025-10-26T00:00"
            ),
            (
                ["--from", "2025-10-26", "--to", "2025-10-25"],
                "--from is 2025-10-26; must be before --to, which is 2025-10-25"
            ),
            (["--from", "-1h", "--to", "-1h"], "--from is -1h; must be before --to, which is -1h"),
            (["--on", "2025-10-26T09:00"], "--on is 2025-10-26T09:00; expected a day or a week"),
            (["--on", "-7d"], "--on is -7d; expected a day or a week"),
            (["--on", "2025-10-26", "--to", "2025-10-27"], "--on is a complete range; use it without --from and --to"),
            (["--on", "today", "--now"], "--now reports one moment; use it without --from, --to and --on"),
        ] {
            let ending = try Gateway.run(["visits", "--zone", "Europe/Vienna"] + arguments + [path])
            #expect(ending.status == 64 && ending.output.isEmpty && ending.errors.contains(words), "\(ending.errors)")
        }
    }

    // MARK: dates that do not exist

    @Test(arguments: [
        ("2026-09-31", "2026-09 has 30 days"),
        ("2025-10-26T10:00:99", "hours are 00…23, minutes and seconds 00…59"),
        (
            "2025-03-30T02:30",
            "this local time does not exist: clocks change from 2025-03-30 01:59:59 +0100 to 2025-03-30 03:00:00 +0200"
        ),
        (
            "tomorrow",
            "expected a date such as 2026-11-21 or 2026-11-21T09:00, with an offset from UTC (+01:00) if needed; "
                + "or today, yesterday, this-week, last-week, or -7d for 7 days ago"
        ),
    ])
    func `every option that takes a date refuses one that does not exist`(date: String, words: String) throws {
        let path = try night()
        for (option, arguments) in [
            ("from", ["visits"]), ("to", ["visits"]), ("from", ["occupancy"]), ("to", ["occupancy"]),
            ("at", ["explain", "staff"]),
            ("before", ["erase", "\(Log.uuid)/1/1"]),
        ] {
            let ending = try run(
                "/usr/bin/env", ["TZ=Europe/Vienna", Gateway.path] + arguments + ["--\(option)=\(date)", path])
            #expect(ending.status == 64 && ending.output.isEmpty)
            #expect(ending.errors.hasPrefix("Error: --\(option) is \(date); \(words)\n"), "\(ending.errors)")
        }
    }

    @Test func `a day without a midnight starts with its first instant, and a day that a zone left out is refused`()
        throws
    {
        var writer = LineWriter()
        // 2018-11-03 23:30 in São Paulo. At midnight, clocks changed to 01:00.
        writer.offset = 1_541_298_600
        writer.started(0)
        writer.completeVisit("staff", 600, 3600, minor: 1)
        let path = try scratch.folder(writer, alive: writer.alive(7200))
        let ending = try visits("--from", "2018-11-04", path, zone: "America/Sao_Paulo")
        #expect(ending.text.contains("before range         2018-11-04 01:30:00       0:30:00"), "\(ending.text)")
        // 2010-11-07 in St. John's. At 00:01, clocks changed to 23:01 of the day before.
        writer = LineWriter()
        writer.offset = 1_289_093_400
        writer.started(0)
        writer.completeVisit("staff", 600, 10_800, minor: 1)
        let johns = try scratch.folder(writer, alive: writer.alive(14_400), name: "johns")
        let day = try visits("--from", "2010-11-07", johns, zone: "America/St_Johns")
        #expect(day.errors == "" && day.text.contains("before range"), "\(day.text)")
        #expect(day.text.contains("1 visit, 2:00:00"), "\(day.text)")
        let apia = try Gateway.run("visits", "--zone", "Pacific/Apia", "--from", "2011-12-30", path)
        #expect(
            apia.errors.hasPrefix(
                "Error: --from is 2011-12-30; this local time does not exist: clocks change from 2011-12-29 23:59:59 -1000 to "
                    + "2011-12-31 00:00:00 +1400\n"), "\(apia.errors)")
    }
}
