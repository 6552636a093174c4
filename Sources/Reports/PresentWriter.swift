import BaseTypes
package import BeaconMonitoring
import CommandSupport
import EventLog
package import JSON
import OperatorLogging

/// Writes the beacons that are present, as a table, as JSON lines, or as CSV.
package struct PresentWriter {
    private let report: PresentReport
    private let options: VisitsOptions
    private let time: ZonedTime

    /// Creates a writer that uses the format, the zone and the names of `options`.
    package init(_ report: PresentReport, _ options: VisitsOptions) {
        self.report = report
        self.options = options
        time = options.time.showing(from: report.earliest, to: report.made)
    }

    /// Writes the report in the requested format.
    package func write(into buffer: inout LineBuffer) {
        switch options.format {
        case .table: writeTable(into: &buffer)
        case .json: writeObjects(into: &buffer)
        case .csv: writeRecords(into: &buffer)
        }
    }

    // MARK: Words that the page uses too

    /// Returns the name of a beacon, or the conditions of a presence without a beacon.
    package func label(_ presence: PresentReport.Presence) -> String {
        presence.beacon.map { options.directory.label($0) } ?? presence.identifiers.joined(separator: "+")
    }

    /// Returns the state of a presence in words.
    package func state(_ presence: PresentReport.Presence) -> String {
        presence.notKnownSince.map { "unknown since \(moment($0))" } ?? "present"
    }

    /// The number of present and unknown subjects in words.
    package var count: String {
        let rest = report.presences.count - report.hereCount
        let here =
            report.hereCount == 0 && rest > 0 ? "None known to be present" : "\(report.hereCount) present"
        guard report.presences.isEmpty else { return here + (rest > 0 ? ", \(rest) unknown" : "") }
        // Only a gateway that is alive and scans can know that no beacon is present.
        let knows = report.gateways.contains { $0.isAlive && $0.deafSince == nil }
        return knows ? "None present" : "None present at the last known time"
    }

    /// Returns sentences about a gateway: the age of its data, and the adapters that do not scan.
    package func remarks(_ gateway: PresentReport.Gateway) -> [String] {
        let age = Duration.microseconds(report.made.microseconds - gateway.asOf.microseconds)
        // A small distance is a difference between two clocks.
        let isAhead = age + PresentReport.livelyFor < .zero
        let distance = isAhead ? "\((.zero - age).inWords) in the future" : "\(max(.zero, age).inWords) ago"
        var remarks = ["As of \(moment(gateway.asOf)), \(distance): \(gateway.name)"]
        if gateway.isStopped {
            remarks[0] += " was stopped. The state of beacons is unknown since then."
        } else if gateway.isAlive {
            remarks[0] += " is alive."
        } else {
            remarks[0] += " was last known to be alive at this time. The state of beacons is unknown since then."
        }
        if let since = gateway.deafSince {
            remarks.append(
                "\(gateway.name): no adapter has scanned since \(moment(since)). The state of beacons is unknown since then."
            )
        }
        for adapter in gateway.adapters where adapter.state != .listening {
            let reason = adapter.reason.map { ": \($0)" } ?? ""
            remarks.append(
                "\(gateway.name): \(adapter.name) has not scanned since \(moment(adapter.since)) (\(adapter.state)\(reason))."
            )
        }
        return remarks
    }

    /// Returns a time of day, with the date unless it is the day on which the report was made.
    package func moment(_ date: WallDate) -> String {
        let text = time.text(date)
        return text.prefix(10) == time.plainText(report.made).prefix(10) ? String(text.dropFirst(11)) : text
    }

    // MARK: Formats

    private func row(_ presence: PresentReport.Presence) -> PresentRow { PresentRow(presence: presence, words: self) }

    private func writeTable(into buffer: inout LineBuffer) {
        buffer.append("\(count).\n")
        let columns = ReportColumns(PresentRow.columns, time)
        var section: String?
        var table = TextTable()
        for presence in report.presences {
            if presence.section != section {
                table.end(into: &buffer)
                table = TextTable()
                buffer.append("\n\(PlainText.safe(presence.section)):\n")
                table.add(columns.tableTitles, into: &buffer)
            }
            section = presence.section
            table.add(columns.tableRow(row(presence)), into: &buffer)
        }
        table.end(into: &buffer)
        buffer.append("\n")
        for gateway in report.gateways {
            for remark in remarks(gateway) { buffer.append(PlainText.safe(remark) + "\n") }
        }
        buffer.append(time.zoneSentence(from: report.earliest, to: report.made) + "\n")
    }

    private func writeObjects(into buffer: inout LineBuffer) {
        let columns = ReportColumns(PresentRow.columns, time)
        for presence in report.presences {
            VisitsWriter.line("present", into: &buffer) { columns.writeMembers(row(presence), into: &$0) }
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
        let columns = ReportColumns(PresentRow.columns, time)
        columns.writeHeadings(into: &buffer)
        for presence in report.presences { columns.writeRecord(row(presence), into: &buffer) }
    }

    // MARK: The page

    /// Writes the report as a page that loads nothing and runs no script.
    func writePage(into output: inout LineOutput) throws(EventLogError) {
        let made = time.plainText(report.made)
        let parts = PageParts(time)
        parts.begin("Present, \(made)", heading: count, into: &output.buffer)
        output.buffer.append("<p class=\"range\">Created \(made) \(time.zone(at: report.made))</p>\n")
        for gateway in report.gateways {
            let remarks = remarks(gateway).map { PlainText.html($0) }.joined(separator: "<br>")
            let isWell = gateway.isAlive && gateway.deafSince == nil
            output.buffer.append("<p class=\"\(isWell ? "range" : "alarm")\">\(remarks)</p>\n")
        }
        try writeSections(into: &output)
        parts.end(into: &output.buffer)
    }

    private func writeSections(into output: inout LineOutput) throws(EventLogError) {
        let columns = ReportColumns(PresentRow.columns, time)
        var section: String?
        for presence in report.presences {
            if presence.section != section {
                if section != nil { output.buffer.append("</tbody></table>\n") }
                output.buffer.append("<h2>\(PlainText.html(presence.section))</h2>\n")
                columns.startTable(into: &output.buffer)
            }
            section = presence.section
            let kind = presence.notKnownSince == nil ? "present" : "unsure"
            columns.writeRow(row(presence), " class=\"\(kind)\"", into: &output.buffer)
            try output.flushIfFull()
        }
        if section != nil { output.buffer.append("</tbody></table>\n") }
    }
}
