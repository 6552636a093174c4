import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import JSON
import OperatorMessages

/// Tells stays, silences and totals: as a table, as JSON lines, as CSV.
struct VisitsWriter {
    private let options: VisitsOptions
    private var count = 0
    private var silences = 0

    init(_ options: VisitsOptions) { self.options = options }

    private var time: VisitsTime { options.time }

    func begin(_ buffer: inout LineBuffer) {
        if options.format == .csv {
            buffer.append(
                "monitor,identifier,uuid,major,minor,arrival,departure,duration,sightings,rssi_minimum,rssi_mean,"
                    + "rssi_maximum,end\r\n")
        }
    }

    // MARK: Stays

    mutating func write(_ stay: VisitsBook.Stay, into buffer: inout LineBuffer) {
        switch options.format {
        case .table: writeRow(stay, into: &buffer)
        case .json: writeObject(stay, into: &buffer)
        case .csv: writeRecord(stay, into: &buffer)
        }
        count += 1
    }

    private func writeRow(_ stay: VisitsBook.Stay, into buffer: inout LineBuffer) {
        if count == 0 {
            buffer.append(Self.row("ARRIVAL", "LAST HEARD", "DURATION", "WHO", "HEARD", "RSSI", "END"))
        }
        let departure = stay.end == .open ? "still here" : stay.departure.map { time.text($0) } ?? "-"
        buffer.append(
            Self.row(
                stay.arrival.map { time.text($0) } ?? "-", departure,
                stay.duration.map { Duration.microseconds($0).asClock } ?? "-", Self.name(stay.subject),
                stay.sightings.map { "\($0)" } ?? "-", stay.strength.map { Self.mean($0) } ?? "-", stay.end.word))
    }

    private static let widths = [19, 19, 12, 28, 7, 6, 0]

    private static func row(_ cells: String...) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(128)
        for (cell, width) in zip(cells, widths) {
            // How wide a character is, a terminal knows; most have one octet and one column.
            let octets = PlainText.safe(cell).utf8
            let missing = max(0, width - octets.count { $0 & 0xC0 != 0x80 })
            // Numbers stand to the right.
            let isNumber = width == 12 || width == 7 || width == 6
            if isNumber { line.append(contentsOf: repeatElement(0x20, count: missing)) }
            line.append(contentsOf: octets)
            line.append(contentsOf: repeatElement(0x20, count: (isNumber ? 0 : missing) + 2))
        }
        while line.last == 0x20 { line.removeLast() }
        line.append(0x0A)
        return line
    }

    /// `staff`, `staff 100/7`.
    static func name(_ subject: VisitsBook.Subject) -> String {
        guard let beacon = subject.beacon else { return subject.identifier.text }
        return "\(subject.identifier.text) \(beacon.major)/\(beacon.minor)"
    }

    /// The mean with one decimal, as lines have it.
    static func mean(_ strength: Visit.Strength) -> String {
        var buffer = LineBuffer(capacity: 64)
        buffer.append(tenths: strength.meanTenths)
        return buffer.text
    }

    private func writeObject(_ stay: VisitsBook.Stay, into buffer: inout LineBuffer) {
        Self.line("visit", into: &buffer) { buffer in
            buffer.write("monitor", stay.monitor)
            Self.write(stay.subject, into: &buffer)
            buffer.write("arrival", stay.arrival)
            buffer.write("departure", stay.departure)
            if stay.end == .open { buffer.write("until", stay.until) }
            if let duration = stay.duration { buffer.write("duration", millionths: duration) }
            if let sightings = stay.sightings { buffer.write("sightings", sightings) }
            if let strength = stay.strength { buffer.write(strength) }
            buffer.write("end", stay.end.word)
        }
    }

    private static func line(
        _ kind: StaticString, into buffer: inout LineBuffer, _ body: (inout LineBuffer) -> Void
    ) {
        buffer.object { buffer in
            buffer.write("kind", word: kind)
            body(&buffer)
        }
        buffer.append(octet: 0x0A)
    }

    private static func write(_ subject: VisitsBook.Subject, into buffer: inout LineBuffer) {
        buffer.write("identifier", subject.identifier.text)
        if let beacon = subject.beacon { buffer.object("beacon") { $0.write(beacon) } }
    }

    private func writeRecord(_ stay: VisitsBook.Stay, into buffer: inout LineBuffer) {
        let beacon = stay.subject.beacon
        var fields = [PlainText.csv(stay.monitor), PlainText.csv(stay.subject.identifier.text)]
        fields += [
            beacon.map { "\($0.uuid)" } ?? "", beacon.map { "\($0.major)" } ?? "", beacon.map { "\($0.minor)" } ?? "",
        ]
        fields += [Self.iso(stay.arrival), Self.iso(stay.departure)]
        fields.append(stay.duration.map { Self.decimal($0) } ?? "")
        fields.append(stay.sightings.map { "\($0)" } ?? "")
        fields += [
            stay.strength.map { "\($0.minimum)" } ?? "", stay.strength.map { Self.mean($0) } ?? "",
            stay.strength.map { "\($0.maximum)" } ?? "", stay.end.word,
        ]
        buffer.append(fields.joined(separator: ",") + "\r\n")
    }

    private static func iso(_ date: WallDate?) -> String {
        guard let date else { return "" }
        var buffer = LineBuffer(capacity: 64)
        buffer.append(date)
        return buffer.text
    }

    private static func decimal(_ microseconds: Int64) -> String {
        var buffer = LineBuffer(capacity: 64)
        buffer.append(millionths: microseconds)
        return buffer.text
    }

    // MARK: Silences and totals

    mutating func write(_ silence: VisitsBook.Silence, into buffer: inout LineBuffer) {
        switch options.format {
        case .table:
            if silences == 0 { buffer.append("\nNot heard meanwhile:\n") }
            buffer.append(
                "  \(time.text(silence.from)) … \(silence.to.map { time.text($0) } ?? "now                ")  "
                    + "\(PlainText.safe(silence.adapter.map { "\($0): \(silence.reason ?? "off")" } ?? "the gateway was not running"))\n"
            )
        case .json:
            Self.line("silence", into: &buffer) { buffer in
                buffer.write("adapter", silence.adapter)
                buffer.write("from", silence.from)
                buffer.write("to", silence.to)
                buffer.write("reason", silence.reason)
            }
        case .csv: break
        }
        silences += 1
    }

    func end(
        _ totals: VisitsTotals, now: WallDate?, into buffer: inout LineBuffer
    ) {
        guard options.format != .csv else { return }
        let subjects = totals.sorted
        var conditions: [(identifier: Identifier, beacons: Int, total: VisitsTotals.Total)] = []
        for (subject, total) in subjects {
            if conditions.last?.identifier != subject.identifier {
                conditions.append((subject.identifier, 0, VisitsTotals.Total()))
            }
            let last = conditions.count - 1
            if subject.beacon == nil {
                conditions[last].total = total
            } else {
                conditions[last].beacons += 1
                // Without stays of its own, asked for by beacon, it is what its beacons are.
                if totals[VisitsBook.Subject(identifier: subject.identifier, beacon: nil)] == nil {
                    conditions[last].total.count += total.count
                    conditions[last].total.duration += total.duration
                    conditions[last].total.open += total.open
                    if let date = total.last {
                        conditions[last].total.last = max(conditions[last].total.last ?? date, date)
                    }
                }
            }
        }
        if options.format == .json {
            for (subject, total) in subjects where subject.beacon != nil {
                Self.line("total", into: &buffer) { buffer in
                    Self.write(subject, into: &buffer)
                    Self.write(total, into: &buffer)
                }
            }
            for condition in conditions {
                Self.line("total", into: &buffer) { buffer in
                    buffer.write("identifier", condition.identifier.text)
                    if condition.beacons > 0 { buffer.write("beacons", condition.beacons) }
                    Self.write(condition.total, into: &buffer)
                }
            }
            return
        }
        if count == 0 { return buffer.append("No visits.\n") }
        buffer.append("\nTotals:\n")
        for condition in conditions {
            let beacons =
                condition.beacons > 0 ? ", \(condition.beacons) beacon\(condition.beacons == 1 ? "" : "s")" : ""
            buffer.append(Self.totalRow(condition.identifier.text, condition.total, beacons))
            for (subject, total) in subjects
            where subject.identifier == condition.identifier && subject.beacon != nil {
                buffer.append(Self.totalRow("  " + Self.name(subject), total, ""))
            }
        }
        if let now { buffer.append("\nTimes are \(time.isUTC ? "UTC" : "local, \(time.zone(at: now))").\n") }
    }

    private static func totalRow(_ name: String, _ total: VisitsTotals.Total, _ more: String) -> String {
        let name = PlainText.safe(name)
        let padding = String(repeating: " ", count: max(0, 32 - name.count))
        let open = total.open > 0 ? ", \(total.open == 1 ? "one" : "\(total.open)") still here" : ""
        return "  \(name)\(padding)  \(total.count) \(total.count == 1 ? "visit" : "visits"), "
            + "\(Duration.microseconds(total.duration).asClock)\(more)\(open)\n"
    }

    private static func write(_ total: VisitsTotals.Total, into buffer: inout LineBuffer) {
        buffer.write("visits", total.count)
        buffer.write("open", total.open)
        buffer.write("duration", millionths: total.duration)
        buffer.write("last", total.last)
    }
}

extension LineBuffer {
    /// Appends text as it is.
    mutating func append(_ text: String) { append(text: text) }
}
