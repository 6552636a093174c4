import EventLog
import JSON
import OperatorLogging

/// An explanation as a page: its words, to be handed to somebody; nothing to load, no script to run.
struct ExplainPage {
    private let finding: Explain.Finding
    private let text: ExplainText
    private let time: VisitsTime

    init(_ finding: Explain.Finding, _ time: VisitsTime, _ directory: BeaconDirectory) {
        self.finding = finding
        self.time = time
        text = ExplainText(finding, time, directory)
    }

    /// Writes it.
    func write(into buffer: inout LineBuffer) {
        let parts = PageParts(time)
        let line = finding.line.sequence.map { "Line \($0)" } ?? "A line"
        let gateway = PlainText.html(finding.line.gateway)
        parts.begin("Why: \(line) of \(finding.line.gateway)", heading: "Why: \(line)", into: &buffer)
        let date = time.text(finding.line.date)
        buffer.append("<p class=\"range\">\(gateway), \(date) \(time.zone(at: finding.line.date))</p>\n")
        buffer.append("<pre>")
        for line in text.rawLines { buffer.append(PlainText.html(line) + "\n") }
        buffer.append("</pre>\n")
        parts.end(into: &buffer)
    }
}
