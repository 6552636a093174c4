import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import JSON
import OperatorLogging

/// A column of a report: the formats that have it, and the value of a row in each format.
///
/// Tables, pages and CSV have their columns in the order of the numbers for this format. JSON has its members in the
/// order of the list.
struct ReportColumn<Row> {
    /// The value for programs. If the function returns `nil`, JSON omits the member, and the field of CSV is empty.
    enum Value {
        case text((Row) -> String?)
        /// An array in JSON; in CSV one text with `+` between the elements.
        case texts((Row) -> [String])
        case integer((Row) -> Int?)
        /// A number in units of its last decimal, with 1…6 decimals. JSON omits zeros at its end.
        case decimal(Int, (Row) -> Int64?)
        /// Seconds with a fraction; the function returns microseconds.
        case seconds((Row) -> Int64?)
        case boolean((Row) -> Bool)
        /// A ``boolean(_:)`` that JSON has only if it is `true`.
        case flag((Row) -> Bool)
        /// UTC in JSON. In CSV it is in the zone of the report, with the offset from UTC in a separate field.
        case date((Row) -> WallDate?)
        /// An object in JSON; in CSV the fields `uuid`, `major` and `minor`.
        case beacon((Row) -> BeaconIdentity?)
        /// The object `rssi` in JSON; in CSV the fields `rssi_minimum`, `rssi_mean` and `rssi_maximum`.
        case strength((Row) -> Visit.Strength?)
        /// The column is only for people.
        case none
    }

    /// The place of the value in a record of CSV, from 1. A beacon and a strength need three places.
    struct Field {
        var place: Int
        /// The heading. A beacon and a strength have fixed headings.
        var name: String
        /// The place of a date's offset from UTC; `nil` means the next place.
        var offsetPlace: Int?

        init(_ place: Int, _ name: String = "", offset: Int? = nil) {
            (self.place, self.name, offsetPlace) = (place, name, offset)
        }
    }

    /// A cell for people.
    struct Cell {
        /// The title on pages. Tables have it in capitals.
        var title: String
        /// The place in a row of the table, from 1; `nil` if tables do not have the column.
        var table: Int?
        /// The place in a row of the page, from 1; `nil` if pages do not have the column.
        var page: Int?
        /// The minimum width in tables, in characters.
        var width = 0
        /// Whether the text is aligned to the right in tables.
        var isNumber = false
        /// The plain text in both formats. If the function returns `nil`, a table has `-`, and a page has `–`.
        var text: (Row) -> String?
        /// The HTML on the page, instead of ``text``.
        var html: ((Row) -> String?)?
    }

    var value: Value
    var json: StaticString?
    var csv: Field?
    var cell: Cell?

    init(_ value: Value = .none, json: StaticString? = nil, csv: Field? = nil, cell: Cell? = nil) {
        (self.value, self.json, self.csv, self.cell) = (value, json, csv, cell)
    }
}

/// The columns of a report in the order of each format.
struct ReportColumns<Row> {
    private struct Field {
        var place: Int
        var name: String
        var write: (Row, inout LineBuffer) -> Void
    }

    private let members: [(key: StaticString, value: ReportColumn<Row>.Value)]
    private let fields: [Field]
    private let tableCells: [ReportColumn<Row>.Cell]
    private let pageCells: [ReportColumn<Row>.Cell]

    /// Creates the columns. Dates in CSV are in the zone of `time`.
    init(_ columns: [ReportColumn<Row>], _ time: ZonedTime) {
        members = columns.compactMap { column in column.json.map { ($0, column.value) } }
        fields = columns.flatMap { column in column.csv.map { Self.fields(column.value, $0, time) } ?? [] }
            .sorted { $0.place < $1.place }
        let cells = columns.compactMap(\.cell)
        tableCells = cells.filter { $0.table != nil }.sorted { $0.table ?? 0 < $1.table ?? 0 }
        pageCells = cells.filter { $0.page != nil }.sorted { $0.page ?? 0 < $1.page ?? 0 }
    }

    // MARK: JSON

    /// Writes the members of the object of `row`.
    func writeMembers(_ row: Row, into buffer: inout LineBuffer) {
        for (key, value) in members {
            switch value {
            case .text(let text): buffer.write(key, text(row))
            case .texts(let texts): buffer.write(key, texts(row))
            case .integer(let number): if let number = number(row) { buffer.write(key, number) }
            case .decimal(let digits, let number):
                let unit = (digits..<6).reduce(into: Int64(1)) { unit, _ in unit *= 10 }
                if let number = number(row) { buffer.write(key, millionths: number * unit) }
            case .seconds(let microseconds):
                if let microseconds = microseconds(row) { buffer.write(key, millionths: microseconds) }
            case .boolean(let isTrue): buffer.write(key, isTrue(row))
            case .flag(let isTrue): if isTrue(row) { buffer.write(key, true) }
            case .date(let date): buffer.write(key, date(row))
            case .beacon(let beacon): if let beacon = beacon(row) { buffer.object(key) { $0.write(beacon) } }
            case .strength(let strength): if let strength = strength(row) { buffer.write(strength) }
            case .none: break
            }
        }
    }

    // MARK: CSV

    /// Writes the line of headings (RFC 4180).
    func writeHeadings(into buffer: inout LineBuffer) {
        buffer.append(fields.map(\.name).joined(separator: ",") + "\r\n")
    }

    /// Writes the record of `row` (RFC 4180).
    func writeRecord(_ row: Row, into buffer: inout LineBuffer) {
        for (place, field) in fields.enumerated() {
            if place > 0 { buffer.append(",") }
            field.write(row, &buffer)
        }
        buffer.append("\r\n")
    }

    private static func fields(
        _ value: ReportColumn<Row>.Value, _ field: ReportColumn<Row>.Field, _ time: ZonedTime
    ) -> [Field] {
        func fields(_ names: [String], _ texts: [(Row, inout LineBuffer) -> Void]) -> [Field] {
            zip(names, texts).enumerated().map { number, part in
                Field(place: field.place + number, name: part.0, write: part.1)
            }
        }
        func one(_ write: @escaping (Row, inout LineBuffer) -> Void) -> [Field] { fields([field.name], [write]) }
        switch value {
        case .text(let text): return one { row, buffer in buffer.append(text(row).map { PlainText.csv($0) } ?? "") }
        case .texts(let texts): return one { $1.append(PlainText.csv(texts($0).joined(separator: "+"))) }
        case .integer(let number): return one { row, buffer in if let number = number(row) { buffer.append(number) } }
        case .decimal(let decimals, let number):
            return one { $1.append(number($0).map { ReportNumber.text($0, decimals: decimals) } ?? "") }
        case .seconds(let microseconds):
            return one { row, buffer in if let number = microseconds(row) { buffer.append(millionths: number) } }
        case .boolean(let isTrue), .flag(let isTrue): return one { $1.append(isTrue($0) ? "true" : "false") }
        case .date(let date):
            let offset = Field(place: field.offsetPlace ?? field.place + 1, name: field.name + "_offset") {
                $1.append(date($0).map { time.offsetText($0) } ?? "")
            }
            return one { $1.append(date($0).map { time.plainText($0) } ?? "") } + [offset]
        case .beacon(let beacon):
            let parts = BeaconIdentity.Part.allCases
            return fields(
                parts.map { "\($0.key)" },
                parts.map { part in { row, buffer in buffer.append(beacon(row)?.text(of: part) ?? "") } })
        case .strength(let strength):
            return fields(
                ["rssi_minimum", "rssi_mean", "rssi_maximum"],
                [
                    { row, buffer in if let strength = strength(row) { buffer.append(Int(strength.minimum)) } },
                    { row, buffer in if let strength = strength(row) { buffer.append(tenths: strength.meanTenths) } },
                    { row, buffer in if let strength = strength(row) { buffer.append(Int(strength.maximum)) } },
                ])
        case .none: return []
        }
    }

    // MARK: Tables and pages

    /// The titles of a table.
    var tableTitles: [TextTable.Cell] { tableCells.map { Self.cell($0, $0.title.uppercased()) } }

    /// The cells of `row` in a table.
    func tableRow(_ row: Row) -> [TextTable.Cell] { tableCells.map { Self.cell($0, $0.text(row) ?? "-") } }

    private static func cell(_ cell: ReportColumn<Row>.Cell, _ text: String) -> TextTable.Cell {
        TextTable.Cell(text, cell.width, isNumber: cell.isNumber)
    }

    /// Writes the start of the table of a page, with the titles.
    func startTable(into buffer: inout LineBuffer) {
        let titles = pageCells.map { "<th>\($0.title)</th>" }.joined()
        buffer.append("<table><thead><tr>\(titles)</tr></thead><tbody>\n")
    }

    /// Writes a row of a page's table. `attributes` are those of the element `tr`, and must start with a space.
    func writeRow(_ row: Row, _ attributes: String = "", into buffer: inout LineBuffer) {
        buffer.append("<tr\(attributes)>")
        for cell in pageCells {
            let html = if let html = cell.html { html(row) } else { cell.text(row).map { PlainText.html($0) } }
            buffer.append("<td>\(html ?? "–")</td>")
        }
        buffer.append("</tr>\n")
    }
}

/// Formats numbers in reports.
enum ReportNumber {
    /// Returns `number` with this many decimals, at least 1. The number is in units of its last decimal, and must not
    /// be negative.
    static func text(_ number: Int64, decimals: Int) -> String {
        let digits = "\(number)"
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.utf8.count)) + digits
        return "\(padded.dropLast(decimals)).\(padded.suffix(decimals))"
    }

    /// Returns the mean in dBm with one decimal, as lines have it.
    static func text(_ strength: Visit.Strength) -> String {
        let tenths = strength.meanTenths
        return (tenths < 0 ? "-" : "") + text(Int64(tenths.magnitude), decimals: 1)
    }
}
