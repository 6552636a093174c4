import BaseTypes
package import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
package import JSON
import OperatorLogging

/// Writes who is here: as a table, as JSON lines, as CSV.
package struct PresentWriter {
    private let report: PresentReport
    private let options: VisitsOptions
    private let directory: BeaconDirectory
    private let time: VisitsTime

    /// Of `options`, form, zone and names count.
    package init(_ report: PresentReport, _ options: VisitsOptions) {
        self.report = report
        self.options = options
        directory = options.directory
        time = options.time.showing(from: report.earliest, to: report.made)
    }

    /// Writes the report in the form that was asked for.
    package func write(into buffer: inout LineBuffer) {
        switch options.format {
        case .table: writeTable(into: &buffer)
        case .json: writeObjects(into: &buffer)
        case .csv: writeRecords(into: &buffer)
        }
    }

    // MARK: Words that the page has, too

    /// What somebody is called.
    package func label(_ presence: PresentReport.Presence) -> String {
        presence.beacon.map { directory.label($0) } ?? presence.identifiers.joined(separator: "+")
    }

    /// Whether somebody is here, in words.
    package func state(_ presence: PresentReport.Presence) -> String {
        presence.notKnownSince.map { "not known since \(moment($0))" } ?? "here"
    }

    /// How many are here, in words.
    package var count: String {
        let rest = report.presences.count - report.hereCount
        let here = report.hereCount == 0 && rest > 0 ? "Nobody is known to be here" : "\(report.hereCount) here"
        guard report.presences.isEmpty else { return here + (rest > 0 ? ", \(rest) not known" : "") }
        // That nobody is here only a gateway can say that hears.
        let knows = report.gateways.contains { $0.isAlive && $0.deafSince == nil }
        return knows ? "Nobody is here" : "Nobody was here when that was last known"
    }

    /// What is to be said of a gateway: how new what it told is, and who of its adapters does not listen.
    package func remarks(_ gateway: PresentReport.Gateway) -> [String] {
        let age = Duration.microseconds(report.made.microseconds - gateway.asOf.microseconds)
        // A little is a difference between two clocks.
        let isAhead = age + PresentReport.livelyFor < .zero
        let distance = isAhead ? "\((.zero - age).inWords) in the future" : "\(max(.zero, age).inWords) ago"
        var remarks = ["As of \(moment(gateway.asOf)), \(distance): \(gateway.name)"]
        if gateway.isStopped {
            remarks[0] += " was stopped; not known since."
        } else if gateway.isAlive {
            remarks[0] += " is alive."
        } else {
            remarks[0] += " was last known to be alive then; not known since."
        }
        if let since = gateway.deafSince {
            remarks.append("\(gateway.name): no adapter has been listening since \(moment(since)); not known since.")
        }
        for adapter in gateway.adapters where adapter.state != .listening {
            let reason = adapter.reason.map { " (\($0))" } ?? ""
            remarks.append(
                "\(gateway.name): \(adapter.name) is \(adapter.state) since \(moment(adapter.since))\(reason).")
        }
        return remarks
    }

    /// A time of day, with its day where that is not the day on which the report was made.
    package func moment(_ date: WallDate) -> String {
        let text = time.text(date)
        return text.prefix(10) == time.plainText(report.made).prefix(10) ? String(text.dropFirst(11)) : text
    }

    // MARK: Forms

    private func writeTable(into buffer: inout LineBuffer) {
        buffer.append("\(count).\n")
        var section: String?
        var table = TextTable()
        for presence in report.presences {
            if presence.section != section {
                table.end(into: &buffer)
                table = TextTable()
                buffer.append("\n\(PlainText.safe(presence.section)):\n")
                table.add(row("LINE", "SINCE", "LAST HEARD", "WHO", "WHERE", "STATE"), into: &buffer)
            }
            section = presence.section
            table.add(
                row(
                    presence.sequence.map { "\($0)" } ?? "-", presence.since.map { moment($0) } ?? "-",
                    presence.lastHeard.map { moment($0) } ?? "-", label(presence),
                    presence.gateways.joined(separator: "+"), state(presence)), into: &buffer)
        }
        table.end(into: &buffer)
        buffer.append("\n")
        for gateway in report.gateways {
            for remark in remarks(gateway) { buffer.append(PlainText.safe(remark) + "\n") }
        }
        let zones = time.zones(from: report.earliest, to: report.made)
        buffer.append("Times are \(time.isUTC ? "UTC" : "local, \(zones)").\n")
    }

    private func row(
        _ line: String, _ since: String, _ heard: String, _ who: String, _ place: String, _ state: String
    ) -> [TextTable.Cell] {
        [
            .init(line, 6, isNumber: true), .init(since, 19), .init(heard, 19), .init(who, 28), .init(place, 12),
            .init(state, 0),
        ]
    }

    private func writeObjects(into buffer: inout LineBuffer) {
        for presence in report.presences {
            VisitsWriter.line("present", into: &buffer) { buffer in
                buffer.write("identifiers", presence.identifiers)
                VisitsWriter.write(presence.beacon, directory, into: &buffer)
                buffer.write("since", presence.since)
                buffer.write("lastHeard", presence.lastHeard)
                if let timeout = presence.exitTimeout { buffer.write("exitTimeout", seconds: timeout) }
                buffer.write("notKnownSince", presence.notKnownSince)
                buffer.write("gateways", presence.gateways)
                if let sequence = presence.sequence { buffer.write("sequence", sequence) }
                buffer.write("scope", presence.beacon == nil ? "condition" : "beacon")
            }
        }
        for gateway in report.gateways {
            VisitsWriter.line("asOf", into: &buffer) { buffer in
                buffer.write("gateway", gateway.name)
                buffer.write("date", gateway.asOf)
                buffer.write("alive", gateway.isAlive)
                if gateway.isStopped { buffer.write("stopped", true) }
                buffer.write("deafSince", gateway.deafSince)
            }
            for adapter in gateway.adapters {
                VisitsWriter.line("adapter", into: &buffer) { buffer in
                    buffer.write("gateway", gateway.name)
                    buffer.write("adapter", adapter.name)
                    buffer.write("state", "\(adapter.state)")
                    buffer.write("since", adapter.since)
                    buffer.write("reason", adapter.reason)
                }
            }
        }
    }

    private func writeRecords(into buffer: inout LineBuffer) {
        buffer.append(
            "scope,name,group,conditions,uuid,major,minor,since,last_heard,here,not_known_since,gateway,sequence,"
                + "since_offset,last_heard_offset,not_known_since_offset\r\n")
        for presence in report.presences {
            let beacon = presence.beacon
            var fields = [beacon == nil ? "condition" : "beacon", PlainText.csv(presence.name ?? "")]
            fields.append(PlainText.csv(presence.group ?? ""))
            fields.append(PlainText.csv(presence.identifiers.joined(separator: "+")))
            fields.append(beacon.map { "\($0.uuid)" } ?? "")
            fields.append(beacon.map { "\($0.major)" } ?? "")
            fields.append(beacon.map { "\($0.minor)" } ?? "")
            let (since, heard) = (time.fields(presence.since), time.fields(presence.lastHeard))
            let unknown = time.fields(presence.notKnownSince)
            fields += [since.text, heard.text, presence.notKnownSince == nil ? "true" : "false", unknown.text]
            fields.append(PlainText.csv(presence.gateways.joined(separator: "+")))
            fields += [presence.sequence.map { "\($0)" } ?? "", since.offset, heard.offset, unknown.offset]
            buffer.append(fields.joined(separator: ",") + "\r\n")
        }
    }
}
