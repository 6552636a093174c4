import Foundation
import ProgramSupport
import Testing

/// Occupancy as a page, by group, and in a zone.
@Suite struct OccupancyPageTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func configuration() throws -> String {
        try scratch.write(
            "gateway.yaml",
            """
            conditions:
              - {identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, per_beacon: true}
            beacons:
              - {major: 1, minor: 1, name: Ada, group: nurses}
              - {major: 1, minor: 2, name: Grace, group: doctors}
              - {major: 1, minor: 3, name: Bo, group: nurses}
              - {major: 1, minor: 4, name: Nobody's}
            """)
    }

    /// Returns a folder of a Saturday on which beacons 1 to 5 are present one after another, each for half an hour. In
    /// another half hour, the adapter does not scan.
    private func site() throws -> String {
        var writer = LineWriter()
        writer.started(0)
        for minor in 1...5 {
            writer.completeVisit("staff", Double(minor) * 3600 + 100, Double(minor) * 3600 + 1900, minor: minor)
        }
        writer.adapter("deaf", 30_610, since: 30_600)
        writer.adapter("listening", 32_400)
        return try scratch.folder(writer, aliveAt: 43_200)
    }

    private func page(_ arguments: String...) throws -> String {
        let path = scratch.path("page.html")
        let ending = try Gateway.run(["occupancy", "--html", path] + arguments)
        #expect(ending.status == 0 && ending.output.isEmpty, "\(ending.errors)")
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test func `--by group has a series for each group, and one for beacons without a group`() throws {
        let ending = try Gateway.run(
            "occupancy", "--utc", "--json", "--every", "1d", "--by", "group", "--config", try configuration(),
            try site())
        let rows = try ending.lines.map(object).filter { $0["kind"] as? String == "occupancy" }
        #expect(rows.map { $0["group"] as? String } == ["doctors", "nurses", nil])
        #expect(rows.map { number($0, "distinct") } == [1, 2, 2])
        #expect(rows.map { number($0, "peak") } == [1, 1, 1])
        let table = try Gateway.run(
            "occupancy", "--utc", "--by", "group", "--config", try configuration(), try site()
        ).text
        for title in ["doctors:\n", "nurses:\n", "without a group:\n"] { #expect(table.contains(title), "\(table)") }
    }

    @Test func `--by group fails with 64 if the configuration has no groups`() throws {
        var writer = LineWriter()
        writer.completeVisit("staff", 100, 400, minor: 1)
        let ending = try Gateway.run("occupancy", "--by", "group", try scratch.folder(writer))
        #expect(ending.status == 64 && ending.errors.contains("--by group needs groups"), "\(ending.errors)")
    }

    @Test func `--beacon accepts the name of a beacon`() throws {
        let ending = try Gateway.run(
            "occupancy", "--utc", "--json", "--every", "1d", "--beacon", "Ada", "--config", try configuration(),
            try site())
        let row = try ending.lines.map(object).first { $0["kind"] as? String == "occupancy" }
        #expect(number(row, "distinct") == 1 && number(row, "arrivals") == 1, "\(ending.errors)")
    }

    @Test func `with --zone, intervals are in that zone, whatever the zone of the machine`() throws {
        let path = try site()
        let vienna = try Gateway.run("occupancy", "--csv", "--every", "6h", "--zone", "Europe/Vienna", path).text
        #expect(vienna.contains("\r\n2026-11-21 00:00:00,2026-11-21 06:00:00,beacon,"), "\(vienna)")
        let there = try run(
            "/usr/bin/env", ["TZ=Europe/Vienna", Gateway.path, "occupancy", "--csv", "--every", "6h", path])
        #expect(there.text == vienna)
        #expect(try Gateway.run("occupancy", "--zone", "Europe/Wien", path).status == 64)
    }

    @Test func `the numbers of the page are those of CSV`() throws {
        let path = try site()
        let page = try page("--utc", "--every", "1h", path)
        let csv = try Gateway.run("occupancy", "--utc", "--csv", "--every", "1h", path).text
        let records = csv.components(separatedBy: "\r\n").dropFirst().filter { !$0.isEmpty }.map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let rows = page.matches(of: /<tr><td>2026-11-21 (\d\d):00–\d\d:00<\/td>((?:<td>[^<]*<\/td>)+)<\/tr>/)
        #expect(rows.count >= 9)
        for row in rows {
            let cells = row.output.2.matches(of: /<td>([^<]*)<\/td>/).map { String($0.output.1) }
            let record = try #require(records.first { $0[0] == "2026-11-21 \(row.output.1):00:00" })
            #expect(Array(cells.prefix(5)) == Array(record[4...8]), "\(row.output.0)")
        }
    }

    @Test func `the curve has the peak and the mean, and unknown times are shaded`() throws {
        let page = try page("--utc", "--every", "15m", try site())
        #expect(page.contains("class=\"most\" d=\"M") && page.contains("class=\"here\" d=\"M"))
        #expect(page.contains("aria-label=\"all beacons, at most 1 at once\""))
        // The adapter did not scan in half an hour of twelve hours.
        let deaf = page.matches(of: /class="deaf" x="(\d+)"/).compactMap { Int($0.output.1) }
        let whole = try #require(page.firstMatch(of: /viewBox="0 0 (\d+) 100"/)).output.1
        let columns = try #require(Double(whole))
        #expect(abs(Double(deaf.count) / columns - 1800.0 / 43_200) < 0.02, "\(deaf.count) of \(columns)")
        #expect(deaf.allSatisfy { abs(Double($0) / columns - 31_500.0 / 43_200) < 0.03 })
    }

    @Test func `the week on the page has the mean of each hour, and none if an hour is unknown`() throws {
        let page = try page("--utc", "--every", "1h", try site())
        let saturday = try #require(page.firstMatch(of: /<tr><th>Sat<\/th>(.*)<\/tr>/)).output.1
        let cells = saturday.matches(of: /<td[^>]*>([^<]*)<\/td>/).map { String($0.output.1) }
        // In each of five hours, one beacon was present for half an hour. The files end at noon.
        #expect(
            cells == ["0.0"] + Array(repeating: "0.5", count: 5) + Array(repeating: "0.0", count: 6)
                + Array(repeating: "–", count: 12))
        let sunday = try #require(page.firstMatch(of: /<tr><th>Sun<\/th>(.*)<\/tr>/)).output.1
        #expect(!sunday.contains("0.0"))
    }

    @Test func `a name is escaped on the page, and the page loads nothing`() throws {
        var writer = LineWriter()
        writer.completeVisit("<script>alert(1)</script>", 100, 400)
        let page = try page("--utc", "--by", "condition", try scratch.folder(writer))
        #expect(page.contains("&lt;script&gt;") && !page.contains("<script"))
        #expect(!page.contains("http:") && !page.contains("https:") && !page.contains("src="))
    }

    @Test func `--html - writes the page to standard output`() throws {
        let ending = try Gateway.run("occupancy", "--utc", "--html", "-", try site())
        #expect(ending.status == 0 && ending.text.hasPrefix("<!DOCTYPE html>") && ending.text.hasSuffix("</html>\n"))
    }
}
