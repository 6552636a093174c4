import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
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
                stay.duration.map { VisitsTime.text(seconds: $0 / 1_000_000) } ?? "-", Self.name(stay.subject),
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
        let tenths = (strength.sum.magnitude * 20 + UInt64(strength.count)) / (2 * UInt64(strength.count))
        return (strength.sum < 0 && tenths > 0 ? "-" : "") + "\(tenths / 10).\(tenths % 10)"
    }

    private func writeObject(_ stay: VisitsBook.Stay, into buffer: inout LineBuffer) {
        buffer.append("{\"kind\":\"visit\",\"monitor\":\"")
        buffer.append(plain: stay.monitor)
        buffer.append(octet: UInt8(ascii: "\""))
        append(stay.subject, into: &buffer)
        append("arrival", stay.arrival, into: &buffer)
        append("departure", stay.departure, into: &buffer)
        if stay.end == .open { append("until", stay.until, into: &buffer) }
        if let duration = stay.duration {
            buffer.append(",\"duration\":")
            buffer.append(seconds: duration)
        }
        if let sightings = stay.sightings { buffer.append(",\"sightings\":\(sightings)") }
        if let strength = stay.strength {
            buffer.append(
                ",\"rssi\":{\"minimum\":\(strength.minimum),\"mean\":\(Self.mean(strength)),"
                    + "\"maximum\":\(strength.maximum)}")
        }
        buffer.append(",\"end\":\"\(stay.end.word)\"}\n")
    }

    private func append(_ subject: VisitsBook.Subject, into buffer: inout LineBuffer) {
        buffer.append(",\"identifier\":\"")
        buffer.append(plain: subject.identifier.text)
        buffer.append(octet: UInt8(ascii: "\""))
        guard let beacon = subject.beacon else { return }
        buffer.append(",\"beacon\":{\"uuid\":\"\(beacon.uuid)\",\"major\":\(beacon.major),\"minor\":\(beacon.minor)}")
    }

    private func append(_ key: String, _ date: WallDate?, into buffer: inout LineBuffer) {
        guard let date else { return }
        buffer.append(",\"\(key)\":\"")
        buffer.append(date)
        buffer.append(octet: UInt8(ascii: "\""))
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
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private static func decimal(_ microseconds: Int64) -> String {
        var buffer = LineBuffer(capacity: 64)
        buffer.append(seconds: microseconds)
        return String(decoding: buffer.bytes, as: UTF8.self)
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
            buffer.append("{\"kind\":\"silence\"")
            if let adapter = silence.adapter {
                buffer.append(",\"adapter\":\"")
                buffer.append(plain: adapter)
                buffer.append(octet: UInt8(ascii: "\""))
            }
            append("from", silence.from, into: &buffer)
            append("to", silence.to, into: &buffer)
            if let reason = silence.reason {
                buffer.append(",\"reason\":\"")
                buffer.append(plain: reason)
                buffer.append(octet: UInt8(ascii: "\""))
            }
            buffer.append("}\n")
        case .csv: break
        }
        silences += 1
    }

    func end(
        _ totals: [VisitsBook.Subject: Visits.Total], now: WallDate?, into buffer: inout LineBuffer
    ) {
        guard options.format != .csv else { return }
        let subjects = totals.sorted { $0.key < $1.key }
        var conditions: [(identifier: Identifier, beacons: Int, total: Visits.Total)] = []
        for (subject, total) in subjects {
            if conditions.last?.identifier != subject.identifier {
                conditions.append((subject.identifier, 0, Visits.Total()))
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
                buffer.append("{\"kind\":\"total\"")
                append(subject, into: &buffer)
                append(total, into: &buffer)
            }
            for condition in conditions {
                buffer.append("{\"kind\":\"total\"")
                append(VisitsBook.Subject(identifier: condition.identifier, beacon: nil), into: &buffer)
                if condition.beacons > 0 { buffer.append(",\"beacons\":\(condition.beacons)") }
                append(condition.total, into: &buffer)
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

    private static func totalRow(_ name: String, _ total: Visits.Total, _ more: String) -> String {
        let name = PlainText.safe(name)
        let padding = String(repeating: " ", count: max(0, 32 - name.count))
        let open = total.open > 0 ? ", \(total.open == 1 ? "one" : "\(total.open)") still here" : ""
        return "  \(name)\(padding)  \(total.count) \(total.count == 1 ? "visit" : "visits"), "
            + "\(VisitsTime.text(seconds: total.duration / 1_000_000))\(more)\(open)\n"
    }

    private func append(_ total: Visits.Total, into buffer: inout LineBuffer) {
        buffer.append(",\"visits\":\(total.count),\"open\":\(total.open),\"duration\":")
        buffer.append(seconds: total.duration)
        append("last", total.last, into: &buffer)
        buffer.append("}\n")
    }
}

extension LineBuffer {
    /// Appends text as it is.
    mutating func append(_ text: String) { append(Array(text.utf8)) }
}
