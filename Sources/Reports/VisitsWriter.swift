import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration
import JSON
import OperatorLogging

/// Writes visits, periods without scanning, and totals as a table, as JSON lines or as CSV.
struct VisitsWriter {
    private let options: VisitsOptions
    private let columns: ReportColumns<VisitsRow>
    private var time: ZonedTime
    private var count = 0
    private var silences = 0
    private var table = TextTable()

    init(_ options: VisitsOptions) {
        (self.options, time) = (options, options.time)
        columns = ReportColumns(VisitsRow.columns(isOneGateway: options.paths.count < 2), options.time)
    }

    /// Sets the range of the report, which decides how dates are written. It must be called before the first visit.
    mutating func show(from: WallDate, to: WallDate) { time = options.time.showing(from: from, to: to) }

    func begin(_ buffer: inout LineBuffer) {
        if options.format == .csv { columns.writeHeadings(into: &buffer) }
    }

    // MARK: Visits

    mutating func write(_ visit: VisitTracker.SubjectVisit, into buffer: inout LineBuffer) {
        let row = VisitsRow(visit: visit, time: time, directory: options.directory, explanations: nil)
        switch options.format {
        case .table:
            if count == 0 { table.add(columns.tableTitles, into: &buffer) }
            table.add(columns.tableRow(row), into: &buffer)
        case .json: Self.line("visit", into: &buffer) { columns.writeMembers(row, into: &$0) }
        case .csv: columns.writeRecord(row, into: &buffer)
        }
        count += 1
    }

    static func line(
        _ kind: StaticString, into buffer: inout LineBuffer, _ body: (inout LineBuffer) -> Void
    ) {
        buffer.object { buffer in
            buffer.write("kind", word: kind)
            body(&buffer)
        }
        buffer.append(byte: 0x0A)
    }

    /// Writes the instant that was taken for an ambiguous date, and the other one, as a JSON line.
    static func write(_ date: AmbiguousDate, into buffer: inout LineBuffer) {
        line("ambiguousDate", into: &buffer) { buffer in
            buffer.write("option", date.option)
            buffer.write("text", date.text)
            buffer.write("taken", date.taken)
            buffer.write("other", date.other)
        }
    }

    /// Writes a beacon with its name and group, if it has them; writes nothing if there is no beacon.
    static func write(_ beacon: BeaconIdentity?, _ directory: BeaconDirectory, into buffer: inout LineBuffer) {
        guard let beacon else { return }
        buffer.object("beacon") { $0.write(beacon) }
        buffer.write("name", directory[beacon]?.name)
        buffer.write("group", directory[beacon]?.group)
    }

    /// Called after the last visit.
    mutating func endVisits(into buffer: inout LineBuffer) { table.end(into: &buffer) }

    // MARK: Periods without scanning, and totals

    mutating func write(_ silence: ScanningPeriods.Silence, into buffer: inout LineBuffer) {
        switch options.format {
        case .table:
            if silences == 0 { buffer.append("\nNot scanning:\n") }
            let from = time.text(silence.from)
            let openEnd = "to the end" + String(repeating: " ", count: from.utf8.count - 10)
            buffer.append(
                "  \(from) … \(silence.to.map { time.text($0) } ?? openEnd)  "
                    + "\(PlainText.safe(Self.what(silence, isOneGateway: options.paths.count < 2)))\n"
            )
        case .json:
            Self.line("silence", into: &buffer) { buffer in
                buffer.write("adapter", silence.adapter)
                buffer.write("from", silence.from)
                buffer.write("to", silence.to)
                buffer.write("reason", silence.reason)
                buffer.write("gateway", silence.gateway)
                if silence.isVague { buffer.write("vague", true) }
            }
        case .csv: break
        }
        silences += 1
    }

    /// Returns the adapter or gateway that did not scan, and the reason.
    static func what(_ silence: ScanningPeriods.Silence, isOneGateway: Bool) -> String {
        if let adapter = silence.adapter {
            return "\(isOneGateway ? "" : "\(silence.gateway) ")\(adapter): \(silence.reason ?? "off")"
        }
        let name = isOneGateway ? "the gateway" : silence.gateway
        if let reason = silence.reason { return "\(name): \(reason)" }
        return silence.isVague
            ? "\(name) was started again; the time of its stop is unknown"
            : "\(name) was not running"
    }

    func end(
        _ totals: VisitsTotals, _ trackers: VisitTrackers, into buffer: inout LineBuffer
    ) {
        guard options.format != .csv else { return }
        let (conditions, beacons) = (totals.conditions, totals.beacons)
        if options.format == .json {
            for (beacon, total) in beacons {
                Self.line("total", into: &buffer) { buffer in
                    buffer.write("identifiers", total.identifiers.map(\.text))
                    Self.write(beacon, options.directory, into: &buffer)
                    Self.write(total, into: &buffer)
                    buffer.write("scope", "beacon")
                }
            }
            for (identifier, total) in conditions {
                Self.line("total", into: &buffer) { buffer in
                    buffer.write("identifier", identifier.text)
                    let count = beacons.count { $0.total.identifiers.contains(identifier) }
                    if count > 0 { buffer.write("beacons", count) }
                    Self.write(total, into: &buffer)
                    buffer.write("scope", "condition")
                }
            }
            for proof in trackers.proofs(at: options.made) { proof.writeLine(into: &buffer) }
            for date in options.ambiguousDates { Self.write(date, into: &buffer) }
            return
        }
        if count == 0 { buffer.append("No visits\(range).\n") }
        Self.writeTotals(
            conditions.map { ($0.identifier.text, $0.total) },
            beacons.map { (options.directory.label($0.beacon, $0.total.identifiers), $0.total) }, into: &buffer)
        if let first = trackers.first {
            GatewayProof.writeSentences(trackers.proofs(at: options.made), first: first, time, into: &buffer)
        }
        if let end = trackers.asOf {
            let sentence = time.zoneSentence(from: options.from ?? trackers.first ?? end, to: options.to ?? end)
            buffer.append("\n\(sentence)\n")
        }
    }

    private var range: String {
        [options.from.map { " from \(time.text($0))" }, options.to.map { " to \(time.text($0))" }]
            .compactMap(\.self).joined()
    }

    /// Writes the totals of conditions and beacons as two lists, which are aligned with each other.
    private static func writeTotals(
        _ conditions: [(name: String, total: VisitsTotals.Total)],
        _ beacons: [(name: String, total: VisitsTotals.Total)], into buffer: inout LineBuffer
    ) {
        let widths = (conditions + beacons).lazy.map { PlainText.columns(of: PlainText.safe($0.name)) }
        let width = widths.filter { $0 <= TextTable.widthMax }.reduce(32, max)
        // A condition and the beacon that satisfied it are two subjects of one visit, so they must not be added.
        for (title, rows) in [("conditions", conditions), ("beacons", beacons)] where !rows.isEmpty {
            buffer.append("\nTotals of \(title):\n")
            for (name, total) in rows {
                buffer.append(totalRow(PlainText.padded(PlainText.safe(name), to: width), total))
            }
        }
    }

    private static func totalRow(_ name: String, _ total: VisitsTotals.Total) -> String {
        func open(_ count: Int, _ words: String) -> String {
            count > 0 ? ", \(count == 1 ? "one" : "\(count)") \(words)" : ""
        }
        return "  \(name)  \(PlainText.count(total.count, "visit")), "
            + "\(Duration.microseconds(total.duration).asClock)\(open(total.present, "not ended"))"
            + "\(open(total.open - total.present, "whose state is unknown"))\n"
    }

    private static func write(_ total: VisitsTotals.Total, into buffer: inout LineBuffer) {
        buffer.write("visits", total.count)
        buffer.write("open", total.open)
        if total.present > 0 { buffer.write("present", total.present) }
        buffer.write("duration", millionths: total.duration)
        buffer.write("last", total.last)
    }
}

extension LineBuffer {
    /// Appends text unchanged.
    mutating func append(_ text: String) { append(text: text) }
}
