import Foundation
import ProgramSupport
import Testing

/// The number of beacons that were present at once, from event files alone.
@Suite struct OccupancyTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func rows(_ arguments: String..., zone: String = "UTC") throws -> [[String: Any]] {
        let ending = try run("/usr/bin/env", ["TZ=\(zone)", Gateway.path, "occupancy", "--json"] + arguments)
        #expect(ending.status == 0, "\(ending.errors)")
        return try ending.lines.map(object).filter { $0["kind"] as? String == "occupancy" }
    }

    @Test func `the peak, mean, arrivals and departures of an interval are those of its visits`() throws {
        var writer = LineWriter()
        writer.started(0)
        writer.completeVisit("staff", 3600, 4500, minor: 1)
        writer.completeVisit("staff", 3600 + 600, 3600 + 1200, minor: 2)
        let path = try scratch.folder(writer, alive: writer.alive(7200))
        let row = try #require(try rows("--every", "1h", path).first { $0["from"] as? String == writer.date(3600) })
        #expect(number(row, "peak") == 2 && number(row, "mean") == 0.42)
        #expect(number(row, "arrivals") == 2 && number(row, "departures") == 2 && number(row, "distinct") == 2)
        #expect(number(row, "known") == 3600)
        let table = try Gateway.run("occupancy", "--utc", "--every", "1h", path).text
        #expect(table.contains("2026-11-21 00:00–01:00        0     0.00     0     0         0\n"), "\(table)")
        #expect(table.contains("2026-11-21 01:00–02:00        2     0.42     2     2         2\n"), "\(table)")
        #expect(table.contains("As of 2026-11-21 02:00:00: g was last known to be alive at this time."), "\(table)")
    }

    @Test func `a beacon under two conditions, or received by two gateways, counts once`() throws {
        var (hall, yard) = (LineWriter(), LineWriter())
        (hall.gateway, yard.gateway) = ("hall", "yard")
        hall.started(0)
        yard.started(0)
        hall.completeVisit("staff", 600, 1200, minor: 1)
        hall.completeVisit("everybody", 600, 1200, minor: 1)
        yard.completeVisit("staff", 1210, 1800, minor: 1)
        let places = [
            try scratch.folder(hall, alive: hall.alive(3600), name: "hall"),
            try scratch.folder(yard, alive: yard.alive(3600), name: "yard"),
        ]
        let row = try #require(try rows("--every", "1h", places[0], places[1]).first)
        #expect(number(row, "peak") == 1 && number(row, "distinct") == 1)
        #expect(number(row, "arrivals") == 1 && number(row, "departures") == 1)
        #expect(number(row, "mean") == 0.33)
        let conditions = try rows("--every", "1h", "--by", "condition", places[0], places[1])
        #expect(conditions.map { $0["condition"] as? String } == ["everybody", "staff"])
        let gateways = try rows("--every", "1h", "--by", "gateway", places[0], places[1])
        #expect(gateways.map { $0["gateway"] as? String } == ["hall", "yard"])
        #expect(gateways.map { number($0, "arrivals") } == [1, 1])
    }

    @Test func `conditions without beacons count their own visits, and are never added to beacons`() throws {
        var writer = LineWriter()
        writer.started(0)
        writer.completeVisit("staff", 600, 1200, minor: 1)
        // The condition's own visit is the same as that of its beacon.
        writer.completeVisit("staff", 600, 1200)
        writer.completeVisit("desk", 600, 1200)
        let path = try scratch.folder(writer, alive: writer.alive(3600))
        let all = try rows("--every", "1h", path)
        #expect(all.map { $0["scope"] as? String } == ["beacon", "condition"])
        #expect(all.map { number($0, "peak") } == [1, 1])
        let each = try rows("--every", "1h", "--by", "condition", path)
        #expect(each.map { $0["condition"] as? String } == ["staff", "desk"])
        #expect(each.map { $0["scope"] as? String } == ["beacon", "condition"])
    }

    @Test func `a time in which no adapter scanned is unknown, not zero`() throws {
        var writer = LineWriter()
        writer.started(0)
        writer.adapter("listening", 1)
        writer.event("staff", "satisfied", 600, minor: 1, seen: 600)
        writer.adapter("deaf", 3610, since: 3600)
        writer.adapter("listening", 7200 + 1800)
        let path = try scratch.folder(writer, alive: writer.alive(10_000))
        let all = try rows("--every", "1h", path)
        #expect(all.map { number($0, "known") } == [3600, 0, 1000])
        #expect(
            all[1]["peak"] == nil && all[1]["mean"] == nil && all[1]["arrivals"] == nil && all[1]["distinct"] == nil)
        #expect(number(all[2], "mean") == 1 && number(all[2], "peak") == 1)
        let table = try Gateway.run("occupancy", "--utc", "--every", "1h", path).text
        #expect(table.contains("01:00–02:00        -        -     -     -         -    100.0 %\n"), "\(table)")
        let csv = try Gateway.run("occupancy", "--utc", "--every", "1h", "--csv", path).text
        #expect(
            csv.contains("2026-11-21 01:00:00,2026-11-21 02:00:00,beacon,,,,,,,1.000,0.000,+00:00,+00:00\r\n"), "\(csv)"
        )
    }

    @Test func `if one of two gateways does not scan, the time counts as partly known`() throws {
        var (hall, yard) = (LineWriter(), LineWriter())
        (hall.gateway, yard.gateway) = ("hall", "yard")
        hall.adapter("listening", 0)
        yard.adapter("listening", 0)
        hall.adapter("off", 900)
        hall.adapter("listening", 1800)
        let places = [
            try scratch.folder(hall, alive: hall.alive(3600), name: "hall"),
            try scratch.folder(yard, alive: yard.alive(3600), name: "yard"),
        ]
        let row = try #require(try rows("--every", "1h", places[0], places[1]).first)
        #expect(number(row, "known") == 3600 && number(row, "partlyKnown") == 900)
    }

    @Test func `intervals after the time at which the gateway was last known to be alive are unknown`() throws {
        var writer = LineWriter()
        writer.started(0)
        writer.completeVisit("staff", 600, 1200, minor: 1)
        let path = try scratch.folder(writer, alive: writer.alive(3600))
        let all = try rows("--every", "1h", "--to", "2026-11-21T03:00", path)
        #expect(all.count == 3)
        #expect(all.dropFirst().allSatisfy { number($0, "known") == 0 && $0["peak"] == nil })
    }

    @Test(arguments: [
        ("2026-03-29", "1h", 23), ("2026-03-29", "15m", 92), ("2026-03-29", "6h", 4), ("2026-03-29", "1d", 1),
        ("2026-10-25", "1h", 25), ("2026-10-25", "15m", 100), ("2026-10-25", "6h", 4), ("2026-10-25", "1d", 1),
        ("2026-11-21", "7m", 206),
    ]) func `a day of 23 or 25 hours has its intervals from midnight to midnight`(
        day: String, every: String, count: Int
    ) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "Europe/Vienna"))
        let parts = day.split(separator: "-").compactMap { Int($0) }
        let begin = try #require(calendar.date(from: DateComponents(year: parts[0], month: parts[1], day: parts[2])))
        let end = try #require(calendar.date(byAdding: .day, value: 1, to: begin))
        var writer = LineWriter()
        writer.offset = begin.timeIntervalSince1970 - 7200
        writer.adapter("listening", 0)
        let length = end.timeIntervalSince(begin)
        let path = try scratch.folder(writer, alive: writer.alive(length + 14_400))
        let next = String(format: "%04d-%02d-%02d", parts[0], parts[1], parts[2] + 1)
        let all = try rows("--every", every, "--from", day, "--to", next, path, zone: "Europe/Vienna")
        #expect(all.count == count)
        #expect(all.first?["from"] as? String == writer.date(7200))
        #expect(all.last?["to"] as? String == writer.date(7200 + length))
        #expect(all.allSatisfy { number($0, "known") ?? 0 > 0 })
        for (row, following) in zip(all, all.dropFirst()) {
            #expect(row["to"] as? String == following["from"] as? String)
        }
        guard every == "6h" else { return }
        let text = try run(
            "/usr/bin/env",
            [
                "TZ=Europe/Vienna", Gateway.path, "occupancy", "--csv", "--every", every, "--from", day, "--to", next,
                path,
            ])
        for hour in ["00", "06", "12", "18"] { #expect(text.text.contains("\n\(day) \(hour):00:00,"), "\(text.text)") }
    }

    private func table(_ every: String, zone: String, _ arguments: String...) throws -> [String] {
        var writer = LineWriter()
        writer.started(0)
        writer.completeVisit("staff", 20 * 3600, 26 * 3600, minor: 1)
        let path = try scratch.folder(writer, alive: writer.alive(50 * 3600), name: "g")
        let text = try Gateway.run(["occupancy", "--zone", zone, "--every", every] + arguments + [path]).text
        return text.split(separator: "\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }.map(String.init)
    }

    @Test func `titles are above their columns, also if intervals end on another day`() throws {
        #expect(
            try table("1d", zone: "UTC") == [
                "TIME                           PEAK     MEAN    IN   OUT   BEACONS    UNKNOWN",
                "2026-11-21 00:00–11-22 00:00      1     0.17     1     0         1",
                "2026-11-22 00:00–11-23 00:00      1     0.08     0     1         1",
                "2026-11-23 00:00–11-24 00:00      0     0.00     0     0         0     91.7 %",
            ])
        #expect(
            try table("12h", zone: "UTC", "--to", "2026-11-22T12:00") == [
                "TIME                           PEAK     MEAN    IN   OUT   BEACONS    UNKNOWN",
                "2026-11-21 00:00–12:00            0     0.00     0     0         0",
                "2026-11-21 12:00–11-22 00:00      1     0.33     1     0         1",
                "2026-11-22 00:00–12:00            1     0.17     0     1         1",
            ])
        // Without such an interval, the column has its usual width.
        #expect(
            try table("1h", zone: "UTC", "--from", "2026-11-21T19:00", "--to", "2026-11-21T22:00") == [
                "TIME                       PEAK     MEAN    IN   OUT   BEACONS    UNKNOWN",
                "2026-11-21 19:00–20:00        0     0.00     0     0         0",
                "2026-11-21 20:00–21:00        1     1.00     1     0         1",
                "2026-11-21 21:00–22:00        1     1.00     0     0         1",
            ])
    }

    @Test func `titles are above their columns, also if the zone's offset changes or times have seconds`() throws {
        // Clocks go back on 2026-11-22 at 03:00.
        #expect(
            try table("1d", zone: "CET-1CEST,M3.5.0,M11.4.0/3") == [
                "TIME                                        PEAK     MEAN    IN   OUT   BEACONS    UNKNOWN",
                "2026-11-21 00:00–11-22 00:00 +0200             1     0.09     1     0         1      8.3 %",
                "2026-11-22 00:00 +0200–11-23 00:00 +0100       1     0.16     0     1         1",
                "2026-11-23 00:00–11-24 00:00 +0100             0     0.00     0     0         0     87.5 %",
            ])
        #expect(
            try table("1h", zone: "UTC", "--from", "2026-11-21T23:00:30", "--to", "2026-11-22T01:00:00") == [
                "TIME                              PEAK     MEAN    IN   OUT   BEACONS    UNKNOWN",
                "2026-11-21 23:00:30–11-22 00:00      1     1.00     0     0         1",
                "2026-11-22 00:00–01:00               1     1.00     0     0         1",
            ])
    }

    @Test(arguments: [
        (["--from", "2030-01-01"], 65, "there is no data for the time from 2030-01-01"),
        (["--condition", "stafff"], 65, "did you mean “staff”?"),
        (["--from", "2026-11-22", "--to", "2026-11-21"], 64, "must be before --to"),
        (["--every", "30s"], 64, "from 1m to 1d"), (["--every", "2d"], 64, "from 1m to 1d"),
        (["--every", "15"], 64, "15s"), (["--by", "place"], 64, "expected condition"),
        (["--json", "--csv"], 64, "use only one of"),
        (["--every", "1m", "--to", "2027-11-21"], 64, "use longer intervals with --every"),
    ]) func `a range, filter or option without a result fails with its own error`(
        arguments: [String], status: Int32, words: String
    ) throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 100, 400, minor: 1)
        let ending = try Gateway.run(["occupancy", "--utc"] + arguments + [try scratch.folder(writer)])
        #expect(ending.status == status && ending.output.isEmpty, "\(ending.text)")
        let errors = ending.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(errors.contains(words), "\(ending.errors)")
    }

    @Test func `an empty folder fails with 66 and a capture with 65, instead of reporting zero`() throws {
        let path = scratch.path("empty")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(try Gateway.run("occupancy", path).status == 66)
        let ending = try Gateway.run("occupancy", Fixtures.path(Fixtures.rooms[2]))
        #expect(ending.status == 65 && ending.output.isEmpty && ending.errors.contains("holds no event lines"))
    }
}
