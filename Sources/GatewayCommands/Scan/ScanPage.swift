import BeaconMonitoring
import BluetoothLE
import JSON
import OperatorLogging

/// The output of `scan` at one time, as lines of text.
struct ScanPage {
    /// The headings of the columns.
    let heading: String
    /// The rows, one line each.
    let lines: [String]

    // If there is no room for a complete UUID, its first eight digits distinguish deployments.
    private static let shortUUID = 10
    private static let wholeUUID = 36
    /// The minimum width of a terminal for complete UUIDs, without a column for names. It has room for the other
    /// columns, and some for conditions.
    static let wideMin = 104
    private static let nameWidth = 20

    /// Creates the page of beacons. UUIDs are shortened if `width` columns are not enough; `nil` means no limit. If a
    /// beacon has a name, there is a column for names.
    init(_ rows: [BeaconTable.Row], width: Int? = nil) {
        let isNamed = rows.contains { $0.name != nil }
        let isWide = width.map { $0 >= Self.wideMin + (isNamed ? Self.nameWidth + 1 : 0) } ?? true
        let uuidWidth = isWide ? Self.wholeUUID : Self.shortUUID
        func line(
            _ uuid: String, _ major: String, _ minor: String, _ strength: String, _ proximity: String,
            _ distance: String, _ rate: String, _ age: String, _ name: String, _ conditions: String
        ) -> String {
            ([
                ScanText.column(uuid, uuidWidth), ScanText.column(major, 5, isNumber: true),
                ScanText.column(minor, 5, isNumber: true), ScanText.column(strength, 6, isNumber: true),
                ScanText.column(proximity, 9), ScanText.column(distance, 6, isNumber: true),
                ScanText.column(rate, 6, isNumber: true), ScanText.column(age, 5, isNumber: true),
            ] + (isNamed ? [ScanText.column(name, Self.nameWidth)] : []) + [conditions]).joined(separator: " ")
        }
        heading = line("UUID", "MAJOR", "MINOR", "RSSI", "PROXIMITY", "METRES", "RATE/S", "AGE", "NAME", "CONDITIONS")
        lines = rows.map { row in
            let uuid = row.beacon.uuid.description
            return line(
                isWide ? uuid : uuid.prefix(8) + "..", "\(row.beacon.major)", "\(row.beacon.minor)",
                row.strength.map(ScanText.tenths) ?? "-", row.proximity.rawValue, ScanText.distance(row.distance),
                ScanText.tenths(row.rate), ScanText.seconds(row.age), PlainText.safe(row.name ?? ""),
                PlainText.safe(row.conditions.joined(separator: ", ")))
        }
    }

    /// Creates the page of advertisers.
    init(_ rows: [AdvertiserTable.Row]) {
        func line(
            _ address: String, _ type: String, _ strength: String, _ rate: String, _ age: String, _ company: String,
            _ name: String
        ) -> String {
            [
                ScanText.column(address, 17), ScanText.column(type, 10), ScanText.column(strength, 6, isNumber: true),
                ScanText.column(rate, 6, isNumber: true), ScanText.column(age, 5, isNumber: true),
                ScanText.column(company, 20), name,
            ].joined(separator: " ")
        }
        heading = line("ADDRESS", "TYPE", "RSSI", "RATE/S", "AGE", "COMPANY", "NAME")
        lines = rows.map { row in
            let beacon = row.beacon.map { "iBeacon \($0.texts.joined(separator: " "))" }
            return line(
                row.address?.description ?? "anonymous", row.address?.kind.word.map { "\($0)" } ?? "",
                row.strength.map(ScanText.tenths) ?? "-", ScanText.tenths(row.rate), ScanText.seconds(row.age),
                row.company.map(Companies.words) ?? "",
                [row.name, beacon].compactMap { $0 }.joined(separator: "  "))
        }
    }

    /// Returns the page for a terminal: at most `rows` lines, none of them wider than the terminal.
    ///
    /// - Parameters:
    ///   - title: the first line.
    ///   - footing: the last line.
    ///   - columns: the width of the terminal.
    ///   - rows: the height of the terminal.
    /// - Returns: the lines, from the top.
    func fitted(title: String, footing: String, columns: Int, rows: Int) -> [String] {
        let columns = max(columns, 1)
        // The title, a blank line, the heading and the footing need four lines.
        let room = max(rows - 4, 0)
        var page = [title, "", heading]
        if lines.count <= room {
            page += lines
        } else {
            page += lines.prefix(max(room - 1, 0))
            page.append("... and \(lines.count - max(room - 1, 0)) more")
        }
        page = Array(page.prefix(max(rows - 1, 1)))
        while page.count < rows - 1 { page.append("") }
        if rows > 1 { page.append(footing) }
        return page.map { ScanText.cut($0, to: columns) }
    }
}
