import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration
import JSON
import OperatorLogging

/// Tells stays, silences and totals: as a table, as JSON lines, as CSV.
struct VisitsWriter {
    private let options: VisitsOptions
    private var time: VisitsTime
    private var count = 0
    private var silences = 0
    private var table = TextTable()

    init(_ options: VisitsOptions) { (self.options, time) = (options, options.time) }

    /// Writes dates as a report of this range needs them; called before the first visit.
    mutating func show(from: WallDate, to: WallDate) { time = options.time.showing(from: from, to: to) }

    func begin(_ buffer: inout LineBuffer) {
        if options.format == .csv {
            buffer.append(
                "monitor,identifier,uuid,major,minor,arrival,departure,duration,sightings,rssi_minimum,rssi_mean,"
                    + "rssi_maximum,end,scope,gateway,sequence,began_before,goes_on,name,group,hours,"
                    + "arrival_offset,departure_offset,not_known_since,not_known_since_offset\r\n")
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

    private mutating func writeRow(_ stay: VisitsBook.Stay, into buffer: inout LineBuffer) {
        if count == 0 {
            writeRow("LINE", "ARRIVAL", "LAST HEARD", "DURATION", "WHO", "HEARD", "RSSI", "WHERE", "END", &buffer)
        }
        writeRow(
            stay.sequence.map { "\($0)" } ?? "-", arrival(stay), departure(stay),
            stay.duration.map { Duration.microseconds($0).asClock } ?? "-", options.directory.label(stay.subject),
            stay.sightings.map { "\($0)" } ?? "-", stay.strength.map { Self.mean($0) } ?? "-",
            stay.gateways.joined(separator: "+"), ending(stay), &buffer)
    }

    private func arrival(_ stay: VisitsBook.Stay) -> String {
        stay.beganBefore ? "began before" : stay.arrival.map { time.text($0) } ?? "-"
    }

    private func departure(_ stay: VisitsBook.Stay) -> String {
        if stay.goesOn { return "goes on" }
        return stay.end == .open ? "-" : stay.departure.map { time.text($0) } ?? "-"
    }

    /// How the stay ended; for an open one, whether the subject is present.
    private func ending(_ stay: VisitsBook.Stay) -> String {
        if stay.goesOn { return "goes on" }
        return stay.end == .open ? Self.presence(stay, time) : stay.end.word
    }

    /// `here` for an open stay that is known to continue, else `here at 17:42:10, not known since`.
    static func presence(_ stay: VisitsBook.Stay, _ time: VisitsTime) -> String {
        guard let date = stay.notKnownSince else { return "here" }
        return "here at \(time.text(date).dropFirst(11)), not known since"
    }

    private mutating func writeRow(
        _ line: String, _ arrival: String, _ departure: String, _ duration: String, _ name: String, _ heard: String,
        _ strength: String, _ place: String, _ end: String, _ buffer: inout LineBuffer
    ) {
        var cells: [TextTable.Cell] = [
            .init(line, 6, isNumber: true), .init(arrival, 19), .init(departure, 19),
            .init(duration, 12, isNumber: true),
            .init(name, 28), .init(heard, 7, isNumber: true), .init(strength, 6, isNumber: true),
        ]
        // Where one gateway tells it, there is no question where.
        if options.paths.count > 1 { cells.append(.init(place, 12)) }
        table.add(cells + [.init(end, 0)], into: &buffer)
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
            buffer.write("identifier", stay.subject.identifier.text)
            Self.write(stay.subject.beacon, options.directory, into: &buffer)
            buffer.write("arrival", stay.arrival)
            buffer.write("departure", stay.departure)
            if stay.end == .open {
                buffer.write("until", stay.until)
                buffer.write("notKnownSince", stay.notKnownSince)
            }
            if let duration = stay.duration { buffer.write("duration", millionths: duration) }
            if let sightings = stay.sightings { buffer.write("sightings", sightings) }
            if let strength = stay.strength { buffer.write(strength) }
            buffer.write("end", stay.end.word)
            buffer.write("scope", stay.subject.beacon == nil ? "condition" : "beacon")
            buffer.write("gateways", stay.gateways)
            if let sequence = stay.sequence { buffer.write("sequence", sequence) }
            if stay.beganBefore { buffer.write("beganBefore", true) }
            if stay.goesOn { buffer.write("goesOn", true) }
        }
    }

    static func line(
        _ kind: StaticString, into buffer: inout LineBuffer, _ body: (inout LineBuffer) -> Void
    ) {
        buffer.object { buffer in
            buffer.write("kind", word: kind)
            body(&buffer)
        }
        buffer.append(octet: 0x0A)
    }

    /// Writes which of two instants was taken, as a JSON line.
    static func write(_ date: AmbiguousDate, into buffer: inout LineBuffer) {
        line("ambiguousDate", into: &buffer) { buffer in
            buffer.write("option", date.option)
            buffer.write("text", date.text)
            buffer.write("taken", date.taken)
            buffer.write("other", date.other)
        }
    }

    /// A beacon, with its name and group where it has them; nothing where there is none.
    static func write(_ beacon: BeaconIdentity?, _ directory: BeaconDirectory, into buffer: inout LineBuffer) {
        guard let beacon else { return }
        buffer.object("beacon") { $0.write(beacon) }
        buffer.write("name", directory[beacon]?.name)
        buffer.write("group", directory[beacon]?.group)
    }

    private func writeRecord(_ stay: VisitsBook.Stay, into buffer: inout LineBuffer) {
        let beacon = stay.subject.beacon
        var fields = [PlainText.csv(stay.monitor), PlainText.csv(stay.subject.identifier.text)]
        fields += [
            beacon.map { "\($0.uuid)" } ?? "", beacon.map { "\($0.major)" } ?? "", beacon.map { "\($0.minor)" } ?? "",
        ]
        let (arrival, departure) = (time.fields(stay.arrival), time.fields(stay.departure))
        fields += [arrival.text, departure.text]
        fields.append(stay.duration.map { Self.decimal($0) } ?? "")
        fields.append(stay.sightings.map { "\($0)" } ?? "")
        fields.append(stay.strength.map { "\($0.minimum)" } ?? "")
        fields.append(stay.strength.map { Self.mean($0) } ?? "")
        fields.append(stay.strength.map { "\($0.maximum)" } ?? "")
        fields += [stay.end.word, beacon == nil ? "condition" : "beacon"]
        fields.append(PlainText.csv(stay.gateways.joined(separator: "+")))
        fields.append(stay.sequence.map { "\($0)" } ?? "")
        fields += [stay.beganBefore ? "true" : "false", stay.goesOn ? "true" : "false"]
        let named = options.directory[beacon]
        fields += [PlainText.csv(named?.name ?? ""), PlainText.csv(named?.group ?? "")]
        let unknown = time.fields(stay.notKnownSince)
        fields += [stay.duration.map { Self.hours($0) } ?? "", arrival.offset, departure.offset]
        fields += [unknown.text, unknown.offset]
        buffer.append(fields.joined(separator: ",") + "\r\n")
    }

    /// Hours as spreadsheets add them: `1.0003`; a ten-thousandth is a third of a second.
    static func hours(_ microseconds: Int64) -> String {
        let parts = (microseconds + 180_000) / 360_000
        let rest = "\(parts % 10_000)"
        return "\(parts / 10_000)." + String(repeating: "0", count: 4 - rest.utf8.count) + rest
    }

    private static func decimal(_ microseconds: Int64) -> String {
        var buffer = LineBuffer(capacity: 64)
        buffer.append(millionths: microseconds)
        return buffer.text
    }

    /// All stays have been told.
    mutating func endStays(into buffer: inout LineBuffer) { table.end(into: &buffer) }

    // MARK: Silences and totals

    mutating func write(_ silence: HearingBook.Silence, into buffer: inout LineBuffer) {
        switch options.format {
        case .table:
            if silences == 0 { buffer.append("\nNot heard meanwhile:\n") }
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

    /// Who did not hear, and why.
    static func what(_ silence: HearingBook.Silence, isOneGateway: Bool) -> String {
        if let adapter = silence.adapter {
            return "\(isOneGateway ? "" : "\(silence.gateway) ")\(adapter): \(silence.reason ?? "off")"
        }
        let name = isOneGateway ? "the gateway" : silence.gateway
        if let reason = silence.reason { return "\(name): \(reason)" }
        return silence.isVague
            ? "\(name) was started anew; since when it had not been running is not known"
            : "\(name) was not running"
    }

    func end(
        _ totals: VisitsTotals, _ books: VisitsBooks, into buffer: inout LineBuffer
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
            for proof in books.proofs(at: options.made) {
                Self.line("asOf", into: &buffer) { buffer in
                    buffer.write("gateway", proof.gateway)
                    buffer.write("date", proof.date)
                    buffer.write("alive", proof.state == .alive)
                    if proof.state == .stopped { buffer.write("stopped", true) }
                }
            }
            for date in options.ambiguousDates { Self.write(date, into: &buffer) }
            return
        }
        if count == 0 { buffer.append("No visits\(range).\n") }
        // A condition and the beacon that satisfied it are two subjects of one stay: they are not added.
        if !conditions.isEmpty { buffer.append("\nTotals of conditions:\n") }
        for (identifier, total) in conditions { buffer.append(Self.totalRow(identifier.text, total)) }
        if !beacons.isEmpty { buffer.append("\nTotals of beacons:\n") }
        for (beacon, total) in beacons {
            buffer.append(Self.totalRow(options.directory.label(beacon, total.identifiers), total))
        }
        writeProofs(books, into: &buffer)
        if let end = books.asOf {
            let zones = time.zones(from: options.from ?? books.first ?? end, to: options.to ?? end)
            buffer.append("\nTimes are \(time.isUTC ? "UTC" : "local, \(zones)").\n")
        }
    }

    private var range: String {
        [options.from.map { " from \(time.text($0))" }, options.to.map { " to \(time.text($0))" }]
            .compactMap(\.self).joined()
    }

    /// Up to when each gateway is known to have been alive: what came later nobody knows.
    private func writeProofs(_ books: VisitsBooks, into buffer: inout LineBuffer) {
        guard let first = books.first else { return }
        buffer.append("\nThe files begin at \(time.text(first)).\n")
        for proof in books.proofs(at: options.made) { buffer.append(PlainText.safe(proof.sentence(time)) + "\n") }
    }

    private static func totalRow(_ name: String, _ total: VisitsTotals.Total) -> String {
        let name = PlainText.safe(name)
        let padding = String(repeating: " ", count: max(0, 32 - name.count))
        func open(_ count: Int, _ words: String) -> String {
            count > 0 ? ", \(count == 1 ? "one" : "\(count)") \(words)" : ""
        }
        return "  \(name)\(padding)  \(PlainText.count(total.count, "visit")), "
            + "\(Duration.microseconds(total.duration).asClock)\(open(total.present, "not ended"))"
            + "\(open(total.open - total.present, "not known to have ended"))\n"
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
    /// Appends text as it is.
    mutating func append(_ text: String) { append(text: text) }
}
