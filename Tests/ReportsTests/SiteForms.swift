import Foundation
import ProgramSupport
import Testing

/// Reads the output of reports about a site: tables, CSV, JSON and pages. Each form is read alone, by its own text.
struct SiteForms {
    /// A visit as reports show it to people.
    struct Visit: Hashable {
        var minor: Int
        var arrival: String
        var lastSighting: String
        var seconds: Int
        var places: Set<String>
    }

    /// The total of the visits of a badge.
    struct Total: Hashable {
        var visits: Int
        var seconds: Int
    }

    /// A beacon that is present, or was present when this was last known.
    struct Presence: Hashable {
        var minor: Int
        var since: String
        var lastSighting: String
        var notKnownSince: String
        var places: Set<String>
    }

    /// An interval as reports show it to people: its start, then peak, mean, in, out, distinct beacons and the unknown
    /// part.
    struct Interval: Hashable {
        var begin: String
        var cells: [String]
    }

    /// Whether the clocks change within the range of the report. If they do, each printed time must have its offset,
    /// otherwise it must not have one.
    var hasClockChange = true
    private let zone: TimeZone
    private let local: DateFormatter
    private let plain: DateFormatter
    private let utc = ISO8601DateFormatter()

    init() throws {
        let zone: TimeZone = try #require(TimeZone(identifier: SiteFolders.zone))
        self.zone = zone
        local = DateFormatter()
        local.locale = Locale(identifier: "en_US_POSIX")
        local.timeZone = zone
        local.dateFormat = "yyyy-MM-dd HH:mm:ss Z"
        plain = DateFormatter()
        plain.locale = local.locale
        plain.timeZone = zone
        plain.dateFormat = "yyyy-MM-dd HH:mm:ss"
    }

    /// Returns a date as `2026-11-21 08:46:27 +0100`.
    func text(_ seconds: Int) -> String { local.string(from: Date(timeIntervalSince1970: Double(seconds))) }

    /// Returns a printed date with its offset, also if the range of the report has only one offset.
    private func text(printed text: some StringProtocol) -> String {
        let date = plain.date(from: String(text))
        let hasOffset = local.date(from: String(text)) != nil
        #expect(date == nil || !hasClockChange, "\(text) must have an offset")
        #expect(!hasOffset || hasClockChange, "\(text) must have no offset")
        return date.map { local.string(from: $0) } ?? String(text)
    }

    /// Returns the same forms for a report from one time to another.
    func over(from: Int, to: Int) -> SiteForms {
        var forms = self
        let next = zone.nextDaylightSavingTimeTransition(after: Date(timeIntervalSince1970: Double(from)))
        forms.hasClockChange = next.map { Int($0.timeIntervalSince1970) < to } ?? false
        return forms
    }

    /// Returns a date and its offset, two fields of a record, as one text.
    func text(_ row: [String: String], _ name: String) -> String {
        let offset = (row["\(name)_offset"] ?? "").replacing(":", with: "")
        return offset.isEmpty ? row[name] ?? "" : "\(row[name] ?? "") \(offset)"
    }

    /// Returns a date of JSON in the zone of the site.
    private func text(utc text: Any?) throws -> String? {
        guard let text = text as? String else { return nil }
        let whole = text.replacing(#/\.000000Z$/#, with: "Z")
        return self.text(Int(try #require(utc.date(from: whole), "\(text)").timeIntervalSince1970))
    }

    /// Returns the seconds of a duration such as `1d 02:03:04` or `2:03:04`.
    static func seconds(_ clock: some StringProtocol) throws -> Int {
        let parts = String(clock).components(separatedBy: CharacterSet(charactersIn: "d :")).compactMap { Int($0) }
        return try #require(
            parts.count >= 3
                ? parts.reversed().enumerated().reduce(0) { sum, part in
                    sum + part.element * [1, 60, 3600, 86_400][part.offset]
                } : nil, "\(clock)")
    }

    private static func minor(_ text: some StringProtocol) throws -> Int {
        try #require(Int(text.split(separator: "/").last ?? ""), "\(text)")
    }

    private static func places(_ text: some StringProtocol) -> Set<String> {
        Set(String(text).components(separatedBy: CharacterSet(charactersIn: "+, ")).filter { !$0.isEmpty })
    }

    // MARK: JSON

    func visits(json: [String]) throws -> [Visit] {
        try json.map(object).filter { $0["kind"] as? String == "visit" }.map { row in
            let arrival = try #require(try text(utc: row["arrival"]))
            let isGoingOn = row["goesOn"] != nil
            let departure = try text(utc: row["departure"])
            return Visit(
                minor: try #require((row["beacon"] as? [String: Any])?["minor"] as? Int),
                arrival: row["beganBefore"] == nil ? arrival : "before range",
                lastSighting: isGoingOn ? "continues" : departure ?? "-",
                seconds: try #require((row["duration"] as? NSNumber)?.intValue),
                places: Set(try #require(row["gateways"] as? [String])))
        }
    }

    func totals(json: [String]) throws -> [Int: Total] {
        let rows = try json.map(object).filter { $0["kind"] as? String == "total" }
        #expect(rows.allSatisfy { $0["scope"] as? String == "beacon" })
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (
                    try #require((row["beacon"] as? [String: Any])?["minor"] as? Int),
                    Total(
                        visits: try #require(row["visits"] as? Int),
                        seconds: try #require((row["duration"] as? NSNumber)?.intValue))
                )
            })
    }

    func presences(json: [String]) throws -> [Presence] {
        try json.map(object).filter { $0["kind"] as? String == "present" }.map { row in
            Presence(
                minor: try #require((row["beacon"] as? [String: Any])?["minor"] as? Int),
                since: try #require(try text(utc: row["since"])),
                lastSighting: try #require(try text(utc: row["lastHeard"])),
                notKnownSince: try text(utc: row["notKnownSince"]) ?? "",
                places: Set(try #require(row["gateways"] as? [String])))
        }
    }

    // MARK: CSV

    /// Returns the records after the headings, each field by its heading. No text of a site needs quotation marks.
    static func records(_ csv: String) -> [[String: String]] {
        let lines = csv.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        let headings = lines.first?.components(separatedBy: ",") ?? []
        return lines.dropFirst().map { line in
            let fields = line.components(separatedBy: ",")
            #expect(fields.count == headings.count, "\(line)")
            return Dictionary(uniqueKeysWithValues: zip(headings, fields))
        }
    }

    func visits(csv: String) throws -> [Visit] {
        try Self.records(csv).map { row in
            let departure = text(row, "departure")
            return Visit(
                minor: try #require(Int(row["minor"] ?? "")),
                arrival: row["began_before"] == "true" ? "before range" : text(row, "arrival"),
                lastSighting: row["goes_on"] == "true" ? "continues" : departure.isEmpty ? "-" : departure,
                seconds: try #require(Int(row["duration"]?.replacing(#/\.0+$/#, with: "") ?? "")),
                places: Self.places(row["gateway"] ?? ""))
        }
    }

    func presences(csv: String) throws -> [Presence] {
        try Self.records(csv).map { row in
            #expect((row["here"] == "false") == !(row["not_known_since"] ?? "").isEmpty)
            return Presence(
                minor: try #require(Int(row["minor"] ?? "")), since: text(row, "since"),
                lastSighting: text(row, "last_heard"), notKnownSince: text(row, "not_known_since"),
                places: Self.places(row["gateway"] ?? ""))
        }
    }

    // MARK: Tables

    func visits(table: [String], isSite: Bool) throws -> [Visit] {
        let row =
            #/ *(?:[0-9]+|-)  +(?<from>before range|[-0-9]{10} [:0-9]{8}(?: [-+][0-9]{4})?)  +(?<to>continues|[-0-9]{10} [:0-9]{8}(?: [-+][0-9]{4})?|-)  +(?<time>(?:[0-9]+d )?[0-9]+:[0-9]{2}:[0-9]{2})  +staff 1/(?<minor>[0-9]+)  +(?:[0-9]+|-)  +(?:-[.0-9]+|-)  +(?<rest>.*)/#
        return try table.compactMap { try row.wholeMatch(in: $0) }.map { found in
            Visit(
                minor: try #require(Int(found.minor)), arrival: text(printed: found.from),
                lastSighting: text(printed: found.to),
                seconds: try Self.seconds(found.time),
                places: isSite ? Self.places(found.rest.prefix { $0 != " " }) : ["hall"])
        }
    }

    func totals(table: [String]) throws -> [Int: Total] {
        let row = #/  staff 1/(?<minor>[0-9]+) +(?<visits>[0-9]+) visits?, (?<time>(?:[0-9]+d )?[:0-9]+).*/#
        return try Dictionary(
            uniqueKeysWithValues: table.compactMap { try row.wholeMatch(in: $0) }.map { found in
                (
                    try #require(Int(found.minor)),
                    Total(visits: try #require(Int(found.visits)), seconds: try Self.seconds(found.time))
                )
            })
    }

    func presences(table: [String]) throws -> [Presence] {
        let row =
            #/ *[0-9]+  +(?<since>[-0-9]{10} [:0-9]{8}(?: [-+][0-9]{4})?)  +(?<lastSighting>[-0-9]{10} [:0-9]{8}(?: [-+][0-9]{4})?)  +1/(?<minor>[0-9]+)  +(?<place>\S+)  +unknown since (?<until>[-0-9]{10} [:0-9]{8}(?: [-+][0-9]{4})?)/#
        return try table.compactMap { try row.wholeMatch(in: $0) }.map { found in
            Presence(
                minor: try #require(Int(found.minor)), since: text(printed: found.since),
                lastSighting: text(printed: found.lastSighting), notKnownSince: text(printed: found.until),
                places: Self.places(found.place))
        }
    }

    func intervals(table: [String]) throws -> [Interval] {
        let row =
            #/(?<begin>[-0-9]{10} [:0-9]{5})(?: [-+][0-9]{4})?–(?:[0-9]{2}-[0-9]{2} )?[:0-9]{5}(?<zone> [-+][0-9]{4})? +(?<cells>.*)/#
        return try table.compactMap { try row.wholeMatch(in: $0) }.map { found in
            #expect((found.zone != nil) == hasClockChange)
            let cells = found.cells.replacing(" %", with: "%").split(separator: " ").map(String.init)
            return Interval(begin: String(found.begin), cells: cells + (cells.count == 5 ? [""] : []))
        }
    }

    // MARK: Pages

    /// Returns the rows of the tables in a part of a page, cell by cell, without tags.
    static func rows(_ html: Substring) -> [[String]] {
        html.matches(of: #/<tr[^>]*>(?<cells>(?:<t[dh][^>]*>.*?</t[dh]>)+)</tr>/#).map { row in
            row.cells.matches(of: #/<t[dh][^>]*>(?<text>.*?)</t[dh]>/#).map { cell in
                String(cell.text).replacing(#/<[^>]*>/#, with: "").replacing("&amp;", with: "&")
            }
        }
    }

    private static func part(_ html: String, from begin: String, to end: String) throws -> Substring {
        let from = try #require(html.range(of: begin), "\(begin)").upperBound
        let to = try #require(html.range(of: end, range: from..<html.endIndex)).lowerBound
        return html[from..<to]
    }

    func visits(html: String) throws -> [Visit] {
        let rows = try Self.rows(Self.part(html, from: "<section class=\"list\">", to: "</section>"))
        let headings = try #require(rows.first)
        return try rows.dropFirst().map { cells in
            try #require(cells.count == headings.count && Set(headings).count == headings.count)
            let row = Dictionary(uniqueKeysWithValues: zip(headings, cells))
            let lastSighting = try #require(row["Last sighting"])
            return Visit(
                minor: try Self.minor(row["Name"] ?? ""), arrival: text(printed: try #require(row["Arrival"])),
                lastSighting: lastSighting.hasPrefix("present at ") ? "-" : text(printed: lastSighting),
                seconds: try Self.seconds(row["Time"] ?? ""),
                places: Self.places(row["Gateway"] ?? ""))
        }
    }

    func totals(html: String) throws -> [Int: Total] {
        let rows = try Self.rows(Self.part(html, from: "<h2>Totals</h2>", to: "</table>")).dropFirst()
        return try Dictionary(
            uniqueKeysWithValues: rows.map { cells in
                (
                    try Self.minor(cells[0]),
                    Total(visits: try #require(Int(cells[1])), seconds: try Self.seconds(cells[2]))
                )
            })
    }

    func presences(html: String) throws -> [Presence] {
        try Self.rows(html[...]).filter { $0.count == 6 && $0[0] != "Name" }.map { cells in
            Presence(
                minor: try Self.minor(cells[0]), since: text(printed: cells[1]), lastSighting: text(printed: cells[2]),
                notKnownSince: text(printed: cells[4].replacing("unknown since ", with: "")),
                places: Self.places(cells[3]))
        }
    }

    func intervals(html: String) throws -> [Interval] {
        let numbers = try Self.part(html, from: "<details class=\"list\">", to: "</details>")
        return Self.rows(numbers).dropFirst().map { cells in
            Interval(begin: String(cells[0].prefix(16)), cells: cells.dropFirst().map { $0.replacing(" %", with: "%") })
        }
    }
}
