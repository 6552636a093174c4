import BeaconMonitoring
import CommandSupport
import EventLog
import JSON
import OperatorLogging

/// The parts that the pages of commands have in common: start and end, the dates of proofs, and the time axis.
struct PageParts {
    private static let skeleton = PageSkeleton(PackageResources.report_html)
    private static let style = String(decoding: PackageResources.report_css, as: UTF8.self)

    private let time: ZonedTime

    init(_ time: ZonedTime) { self.time = time }

    /// Writes the start of the page, up to the body.
    ///
    /// - Parameters:
    ///   - title: the title in the browser's tab, plain text.
    ///   - heading: the first heading, HTML.
    ///   - buffer: the buffer for the page.
    func begin(_ title: String, heading: String, into buffer: inout LineBuffer) {
        let values: [PageSkeleton.Place: String] = [
            .style: Self.style, .title: PlainText.html(title), .heading: heading,
        ]
        buffer.append(Self.skeleton.frame(values).before)
    }

    /// Writes when each gateway was last known to be alive, which instants were taken for ambiguous dates, and when the
    /// page was made.
    func writeProofs(
        _ proofs: [GatewayProof], made: WallDate?, _ ambiguousDates: [AmbiguousDate] = [],
        into buffer: inout LineBuffer
    ) {
        for date in ambiguousDates { buffer.append("<p class=\"range\">\(PlainText.html("\(date)")).</p>\n") }
        for proof in proofs { buffer.append("<p class=\"range\">\(PlainText.html(proof.sentence(time)))</p>\n") }
        guard let made else { return }
        buffer.append("<p class=\"range\">Created \(time.plainText(made)) \(time.zone(at: made))</p>\n")
    }

    /// Writes a row with the ticks of a time axis. The range is in seconds since 1970.
    func writeAxis(_ range: (from: Int64, to: Int64), into buffer: inout LineBuffer) {
        buffer.append("<div class=\"row axis\"><div class=\"name\"></div><div class=\"ticks\">")
        let length = range.to - range.from
        for (place, tick) in TimeAxis(time).ticks(from: range.from, to: range.to).enumerated() {
            let left = Double((tick.second - range.from) * 1000 / length) / 10
            // A narrow page shows only every second label.
            let kind = tick.isDay ? "day" : "hour"
            let rare = place % 2 == 1 ? " rare" : ""
            buffer.append("<span class=\"\(kind)\(rare)\" style=\"left:\(left)%\">\(tick.label)</span>")
        }
        buffer.append("</div></div>\n")
    }

    /// Writes the end of the page.
    func end(into buffer: inout LineBuffer) { buffer.append(Self.skeleton.frame([:]).after) }
}
