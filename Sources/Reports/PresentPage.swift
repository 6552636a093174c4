import EventLog
import JSON
import OperatorLogging

/// Who is here as a page: nothing to load, no script to run.
struct PresentPage {
    private let report: PresentReport
    private let options: VisitsOptions
    private let words: PresentWriter

    init(_ report: PresentReport, _ options: VisitsOptions) {
        self.report = report
        self.options = options
        words = PresentWriter(report, options)
    }

    func write(into output: inout LineOutput) throws(EventLogError) {
        let made = options.time.plainText(report.made)
        let parts = PageParts(options.time)
        parts.begin("Who is here, \(made)", heading: words.count, into: &output.buffer)
        output.buffer.append("<p class=\"range\">Made \(made) \(options.time.zone(at: report.made))</p>\n")
        for gateway in report.gateways {
            let remarks = words.remarks(gateway).map { PlainText.html($0) }.joined(separator: "<br>")
            let isWell = gateway.isAlive && gateway.deafSince == nil
            output.buffer.append("<p class=\"\(isWell ? "range" : "alarm")\">\(remarks)</p>\n")
        }
        var section: String?
        for presence in report.presences {
            if presence.section != section {
                if section != nil { output.buffer.append("</tbody></table>\n") }
                output.buffer.append("<h2>\(PlainText.html(presence.section))</h2>\n<table><thead><tr><th>Who</th>")
                output.buffer.append("<th>Since</th><th>Last heard</th><th>Where</th><th>State</th><th>Line</th></tr>")
                output.buffer.append("</thead><tbody>\n")
            }
            section = presence.section
            let cells = [
                words.label(presence), presence.since.map { words.moment($0) } ?? "–",
                presence.lastHeard.map { words.moment($0) } ?? "–", presence.gateways.joined(separator: ", "),
                words.state(presence), presence.sequence.map { "\($0)" } ?? "–",
            ]
            let row = cells.map { "<td>\(PlainText.html($0))</td>" }.joined()
            output.buffer.append("<tr class=\"\(presence.notKnownSince == nil ? "present" : "unsure")\">\(row)</tr>\n")
            try output.flushIfFull()
        }
        if section != nil { output.buffer.append("</tbody></table>\n") }
        parts.end(into: &output.buffer)
    }
}
