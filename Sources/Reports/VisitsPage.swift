import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import JSON
import OperatorLogging

/// Writes the page with the timeline: one file that loads nothing and runs no script.
///
/// It has a row for each subject and a bar for each visit. Times in which no gateway scanned are shaded. Bars that
/// would overlap or touch are drawn as one. Such a bar is paler if the subject was present for a smaller part of its
/// time. So the page of a year of a busy site stays small.
struct VisitsPage {
    // The width of a row in units of the drawing. A screen shows less, paper not much more. If there are many rows, the
    // width is smaller, because browsers cannot open a page with too many bars.
    private static let columnsMax = 2000
    private static let columnsMin = 400
    private static let columnsInAll = 400_000
    static let rowsMax = 1000
    static let listedMax = 2000
    private static let barsMax = 2_000_000

    private struct Bar {
        /// Seconds since 1970.
        var from: Int32
        var to: Int32
        var isOpen: Bool
    }

    private let options: VisitsOptions
    private var time: ZonedTime
    private var bars: [VisitTracker.Subject: [Bar]] = [:]
    private var barCount = 0
    private(set) var leftOut = 0
    private var listed: [VisitTracker.SubjectVisit] = []
    private var count = 0
    private var columns: Int {
        max(Self.columnsMin, min(Self.columnsMax, Self.columnsInAll / max(1, min(bars.count, Self.rowsMax))))
    }

    init(_ options: VisitsOptions) { (self.options, time) = (options, options.time) }

    private var isOneGateway: Bool { options.paths.count < 2 }
    private var parts: PageParts { PageParts(time) }

    mutating func add(_ visit: VisitTracker.SubjectVisit) {
        count += 1
        if count > options.listedAfter, listed.count < options.listedMax { listed.append(visit) }
        guard barCount < Self.barsMax else {
            leftOut += 1
            return
        }
        let end = min(visit.lastKnown, visit.clippedTo ?? visit.lastKnown)
        let arrival = max(visit.arrival ?? end, visit.clippedFrom ?? visit.arrival ?? end)
        func seconds(_ date: WallDate) -> Int32 { Int32(clamping: date.microseconds / 1_000_000) }
        bars[visit.subject, default: []].append(
            Bar(
                from: seconds(arrival), to: max(seconds(end), seconds(arrival)),
                isOpen: visit.end == .open && !visit.goesOn))
        barCount += 1
    }

    // MARK: The page

    mutating func write(
        _ trackers: VisitTrackers, _ silences: [ScanningPeriods.Silence], _ totals: VisitsTotals,
        into output: inout LineOutput
    ) throws(EventLogError) {
        let range = range(trackers)
        let (from, to) = (Self.date(range.from), Self.date(range.to))
        time = options.time.showing(
            from: options.from ?? trackers.first ?? from, to: options.to ?? trackers.asOf ?? to)
        let title = "Visits \(time.text(from)) – \(time.text(to))"
        let zone = (time.showsAllOffsets ? "· " : "") + time.zones(from: from, to: to)
        parts.begin(title, heading: "Visits", into: &output.buffer)
        output.buffer.append("<p class=\"range\">\(PlainText.html(title.dropFirst(7))) \(zone) · \(counted(totals))")
        output.buffer.append(
            " · <span class=\"key here\"></span> present (paler: part of the time) <span class=\"key deaf\"></span> unknown (not scanning)</p>\n"
        )
        parts.writeProofs(
            trackers.proofs(at: options.made), made: options.made, options.ambiguousDates, into: &output.buffer)
        if count == 0 {
            output.buffer.append("<p>No visits in this time.</p>\n")
            writeSilences(silences, into: &output.buffer)
            parts.end(into: &output.buffer)
            return
        }
        try writeTimeline(range, trackers, silences, into: &output)
        writeTotals(totals, into: &output.buffer)
        writeSilences(silences, into: &output.buffer)
        writeList(into: &output.buffer)
        parts.end(into: &output.buffer)
    }

    /// Returns the number of beacons' visits or, if there are none, of conditions' visits. The two must not be added.
    private func counted(_ totals: VisitsTotals) -> String {
        func words(_ totals: [VisitsTotals.Total], _ what: String) -> String {
            let visits = totals.reduce(0) { $0 + $1.count }
            return "\(PlainText.count(visits, "visit")) of \(PlainText.count(totals.count, what))"
        }
        let beacons = totals.beacons.map(\.total)
        return beacons.isEmpty ? words(totals.conditions.map(\.total), "condition") : words(beacons, "beacon")
    }

    private func range(_ trackers: VisitTrackers) -> (from: Int64, to: Int64) {
        let all = bars.values.joined()
        let first = (trackers.first?.microseconds ?? 0) / 1_000_000
        let begin = all.map { Int64($0.from) }.min() ?? first
        let end = all.map { Int64($0.to) }.max() ?? first
        let from = options.from.map { $0.microseconds / 1_000_000 } ?? begin
        let to =
            options.to.map { $0.microseconds / 1_000_000 } ?? max(end, (trackers.asOf?.microseconds ?? 0) / 1_000_000)
        return (from, max(to, from + 60))
    }

    private static func date(_ seconds: Int64) -> WallDate { WallDate(microseconds: seconds * 1_000_000) }

    private func writeTimeline(
        _ range: (from: Int64, to: Int64), _ trackers: VisitTrackers, _ silences: [ScanningPeriods.Silence],
        into output: inout LineOutput
    ) throws(EventLogError) {
        output.buffer.append("<section class=\"timeline\" aria-label=\"Timeline\">\n")
        parts.writeAxis(range, into: &output.buffer)
        let deaf = unknownColumns(trackers, range)
        let subjects = bars.keys.sorted()
        let columns = columns
        for subject in subjects.prefix(Self.rowsMax) {
            try output.flushIfFull()
            let name = options.directory.label(subject)
            let kind = subject.beacon == nil ? "row" : "row beacon"
            output.buffer.append("<div class=\"\(kind)\"><div class=\"name\">\(PlainText.html(name))</div>")
            Self.openDrawing(name, columns, into: &output.buffer)
            for bar in merged(bars[subject] ?? [], range) {
                Self.writeRectangle(
                    (bar.from, bar.to), columns, bar.isOpen ? "here open" : "here", title(bar),
                    opacity: bar.thinness, into: &output.buffer)
            }
            // The shading covers the bars, because presence during this time is not known either.
            for stretch in deaf { Self.writeRectangle(stretch, columns, "deaf", nil, into: &output.buffer) }
            output.buffer.append("</svg></div>\n")
        }
        if subjects.count > Self.rowsMax {
            output.buffer.append(
                "<p>\(subjects.count - Self.rowsMax) more are not drawn. Select fewer with --condition.</p>\n")
        }
        var adapters: [String: [ScanningPeriods.Silence]] = [:]
        for silence in silences {
            let gateway = isOneGateway ? "" : "\(silence.gateway) "
            let none = silence.reason == nil ? "not running" : "no adapter"
            adapters[gateway + (silence.adapter.map { "\($0) not scanning" } ?? none), default: []].append(silence)
        }
        for (name, silences) in adapters.sorted(by: { $0.key < $1.key }) {
            output.buffer.append("<div class=\"row adapter\"><div class=\"name\">\(PlainText.html(name))</div>")
            Self.openDrawing(name, columns, into: &output.buffer)
            for silence in silences {
                let (from, to) = self.columns(silence, range)
                let title =
                    "\(time.text(silence.from)) – \(silence.to.map { time.text($0) } ?? "the end")"
                    + (silence.reason.map { ": \($0)" } ?? "")
                if to > from { Self.writeRectangle((from, to), columns, "deaf", title, into: &output.buffer) }
            }
            output.buffer.append("</svg></div>\n")
        }
        output.buffer.append("</section>\n")
    }

    private static func openDrawing(_ name: String, _ columns: Int, into buffer: inout LineBuffer) {
        buffer.append(
            "<svg viewBox=\"0 0 \(columns) 10\" preserveAspectRatio=\"none\" role=\"img\" "
                + "aria-label=\"\(PlainText.html(name))\">")
    }

    private static func writeRectangle(
        _ place: (from: Int, to: Int), _ columns: Int, _ kind: String, _ title: String?,
        opacity: Int? = nil, into buffer: inout LineBuffer
    ) {
        let width = max(place.to - place.from, 1 + columns / 1000)
        buffer.append("<rect class=\"\(kind)\" x=\"\(place.from)\" width=\"\(width)\" y=\"0\" height=\"10\"")
        if let opacity { buffer.append(" fill-opacity=\"\(opacity)%\"") }
        buffer.append(">")
        if let title { buffer.append("<title>\(PlainText.html(title))</title>") }
        buffer.append("</rect>")
    }

    // MARK: Columns

    private func column(_ seconds: Int64, _ range: (from: Int64, to: Int64)) -> Int {
        let inside = min(max(seconds, range.from), range.to) - range.from
        return Int(inside * Int64(columns) / (range.to - range.from))
    }

    private func columns(_ silence: ScanningPeriods.Silence, _ range: (from: Int64, to: Int64)) -> (Int, Int) {
        (
            column(silence.from.microseconds / 1_000_000, range),
            column(silence.to.map { $0.microseconds / 1_000_000 } ?? range.to, range)
        )
    }

    /// Returns the columns in which nothing scanned: no gateway was running, or none had an adapter that scanned.
    private func unknownColumns(_ trackers: VisitTrackers, _ range: (from: Int64, to: Int64)) -> [(Int, Int)] {
        guard let first = trackers.first, let asOf = trackers.asOf else { return [] }
        let from = max(Self.date(range.from), first)
        // The time after the last proof up to the requested end is unknown too. The page shows at least a minute, but
        // the added time is not shaded.
        let to = min(Self.date(range.to), max(asOf, options.to ?? asOf))
        return KnownTime(of: trackers.gateways, trackers).unknown(from: from, to: to).compactMap { stretch in
            let begin = column(stretch.from.microseconds / 1_000_000, range)
            let end = column(stretch.to.microseconds / 1_000_000, range)
            return end > begin ? (begin, end) : nil
        }
    }

    /// A drawn bar: one visit, or several that would overlap or touch.
    private struct MergedBar {
        var from: Int
        var to: Int
        var isOpen: Bool
        var visitCount = 1
        /// Seconds since 1970.
        var begin: Int64
        var end: Int64
        /// The time for which the subject was present, in seconds.
        var present: Int64

        /// The share of the bar in which the subject was present, in percent, at least 20; `nil` for a single visit, or
        /// from 95 percent.
        var thinness: Int? {
            guard visitCount > 1, end > begin, present * 20 < (end - begin) * 19 else { return nil }
            return max(20, Int(present * 100 / (end - begin)))
        }
    }

    private func merged(_ bars: [Bar], _ range: (from: Int64, to: Int64)) -> [MergedBar] {
        var result: [MergedBar] = []
        for bar in bars.sorted(by: { $0.from < $1.from }) {
            let (begin, end) = (Int64(bar.from), Int64(bar.to))
            guard end >= range.from, begin <= range.to else { continue }
            let (from, to) = (column(begin, range), column(end, range))
            guard let last = result.indices.last, from <= result[last].to + 1 else {
                result.append(
                    MergedBar(from: from, to: to, isOpen: bar.isOpen, begin: begin, end: end, present: end - begin))
                continue
            }
            result[last].present += max(0, end - max(begin, result[last].end))
            result[last].to = max(result[last].to, to)
            result[last].end = max(result[last].end, end)
            result[last].isOpen = result[last].isOpen || bar.isOpen
            result[last].visitCount += 1
        }
        return result
    }

    private func title(_ bar: MergedBar) -> String {
        let from = time.text(Self.date(bar.begin))
        let to = time.text(Self.date(bar.end))
        guard bar.visitCount > 1 else { return "\(from) – \(to)" }
        return "\(from) – \(to), \(PlainText.count(bar.visitCount, "visit")), \(Duration.seconds(bar.present).asClock)"
    }

    // MARK: Tables

    private func writeTotals(_ totals: VisitsTotals, into buffer: inout LineBuffer) {
        buffer.append("<h2>Totals</h2>\n<table><thead><tr><th>Name</th><th>Visits</th><th>Time</th><th>Last</th></tr>")
        buffer.append("</thead><tbody>\n")
        let conditions = totals.conditions.map { ($0.identifier.text, $0.total) }
        let beacons = totals.beacons.map { (options.directory.label($0.beacon, $0.total.identifiers), $0.total) }
        for (name, total) in (conditions + beacons).prefix(Self.rowsMax) {
            let state = total.present > 0 ? ", present" : total.open > 0 ? ", unknown since then" : ""
            let last = total.last.map { time.text($0) + state } ?? "–"
            buffer.append("<tr><td>\(PlainText.html(name))</td><td>\(total.count)</td>")
            buffer.append("<td>\(Duration.microseconds(total.duration).asClock)</td><td>\(last)</td></tr>\n")
        }
        buffer.append("</tbody></table>\n")
    }

    private func writeSilences(_ silences: [ScanningPeriods.Silence], into buffer: inout LineBuffer) {
        guard !silences.isEmpty else { return }
        buffer.append(
            "<h2>Not scanning</h2>\n<table><thead><tr><th>Adapter or gateway</th><th>From</th><th>To</th></tr>")
        buffer.append("</thead><tbody>\n")
        for silence in silences.prefix(Self.listedMax) {
            let what = VisitsWriter.what(silence, isOneGateway: isOneGateway)
            buffer.append("<tr><td>\(PlainText.html(what))</td><td>\(time.text(silence.from))</td>")
            buffer.append("<td>\(silence.to.map { time.text($0) } ?? "the end")</td></tr>\n")
        }
        buffer.append("</tbody></table>\n")
    }

    private func writeList(into buffer: inout LineBuffer) {
        buffer.append(
            "<p class=\"onpaper\">The list of \(PlainText.count(count, "visit")) is on the screen and in the output of --csv.</p>\n"
        )
        buffer.append("<section class=\"list\"><h2>Visits</h2>\n")
        let columns = ReportColumns(VisitsRow.columns(isOneGateway: isOneGateway), time)
        columns.startTable(into: &buffer)
        for visit in listed {
            let row = VisitsRow(
                visit: visit, time: time, directory: options.directory, explanations: options.explanations)
            columns.writeRow(row, into: &buffer)
        }
        buffer.append("</tbody></table>\n")
        writeRest(into: &buffer)
        buffer.append("</section>\n")
    }

    /// Writes the number of visits that are not listed, or links to the pages that list them.
    private func writeRest(into buffer: inout LineBuffer) {
        guard count > listed.count else { return }
        guard let pages = options.pages else {
            return buffer.append("<p>\(count - listed.count) more are drawn and not listed.</p>\n")
        }
        let (first, last) = (min(options.listedAfter, count), min(options.listedAfter, count) + listed.count)
        let what = listed.isEmpty ? "None" : "\(first + 1) to \(last)"
        buffer.append(
            "<nav aria-label=\"Pages of visits\"><p>\(what) of \(PlainText.count(count, "visit")); all are drawn above."
        )
        func link(_ after: Int, _ words: String, _ relation: String) {
            let address = PlainText.html("\(pages)after=\(after)")
            buffer.append(" <a href=\"\(address)\" rel=\"\(relation)\">\(words)</a>")
        }
        if first > 0 { link(max(0, first - options.listedMax), "Previous", "prev") }
        if last < count { link(last, "Next \(min(options.listedMax, count - last))", "next") }
        buffer.append("</p></nav>\n")
    }
}
