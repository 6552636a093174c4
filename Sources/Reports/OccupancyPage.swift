import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import JSON
import OperatorLogging

/// Writes occupancy as a page: for each series a curve, a table of the hours of the week, and the numbers. The page
/// loads nothing and runs no script.
struct OccupancyPage {
    // Browsers cannot open a page with too many elements.
    private static let seriesMax = 200
    private static let columnsMax: Int64 = 1200
    private static let columnsMin: Int64 = 120
    private static let columnsInAll: Int64 = 24_000
    private static let rowsMax = 2000

    private let options: OccupancyOptions
    private let report: OccupancyReport
    private let time: ZonedTime
    private let parts: PageParts
    private let range: (from: Int64, to: Int64)

    init(_ options: OccupancyOptions, _ report: OccupancyReport) {
        self.options = options
        self.report = report
        time = options.visits.time.showing(from: report.from, to: report.to)
        parts = PageParts(time)
        let from = report.from.microseconds / 1_000_000
        range = (from, max(report.to.microseconds / 1_000_000, from + 60))
    }

    private var columns: Int64 {
        let count = Int64(max(1, min(report.series.count, Self.seriesMax)))
        return max(Self.columnsMin, min(Self.columnsMax, Self.columnsInAll / count))
    }

    /// Writes the page.
    func write(into output: inout LineOutput) throws(EventLogError) {
        let isMinutes = options.every < .seconds(3600) && options.every.components.seconds % 60 == 0
        let length = isMinutes ? options.every.inWords : options.every.inExactWords
        let span = "\(time.text(report.from)) – \(time.text(report.to))"
        parts.begin("Occupancy \(span)", heading: "Occupancy", into: &output.buffer)
        output.buffer.append(
            "<p class=\"range\">\(span) \(time.showsAllOffsets ? "· " : "")\(time.zones(from: report.from, to: report.to)) · every \(length)"
        )
        output.buffer.append(" · <span class=\"key most\"></span> peak <span class=\"key here\"></span> mean ")
        output.buffer.append("<span class=\"key deaf\"></span> unknown (not scanning)</p>\n")
        parts.writeProofs(
            report.proofs, made: options.visits.made, options.visits.ambiguousDates, into: &output.buffer)
        for number in report.series.indices.prefix(Self.seriesMax) {
            try output.flushIfFull()
            try write(number, into: &output)
        }
        if report.series.count > Self.seriesMax {
            output.buffer.append(
                "<p>\(report.series.count - Self.seriesMax) more are not drawn. Select fewer with --condition, or get all "
                    + "with --csv.</p>\n")
        }
        parts.end(into: &output.buffer)
    }

    private func write(_ number: Int, into output: inout LineOutput) throws(EventLogError) {
        let series = report.series[number]
        let intervals = report.intervals(of: number)
        let title = series.title(options.by)
        let most = intervals.map(\.peak).max() ?? 0
        output.buffer.append("<section><h2>\(PlainText.html(title))</h2>\n")
        parts.writeAxis(range, into: &output.buffer)
        output.buffer.append("<div class=\"row curve\"><div class=\"name\">at most \(most)</div>")
        drawCurve(intervals, title, most, into: &output.buffer)
        output.buffer.append("</div>\n")
        if let hours = report.hours(of: number) { writeWeek(OccupancyWeek(hours, time), into: &output.buffer) }
        try writeNumbers(intervals, series, into: &output)
        output.buffer.append("</section>\n")
    }

    // MARK: The curve

    /// One column of the drawing: the peak of its intervals, and their mean over the known time.
    private struct Column {
        var peak = 0
        var present: Int64 = 0
        var known: Int64 = 0
        var isUnknown = false
    }

    private func drawCurve(
        _ intervals: [OccupancyReport.Interval], _ title: String, _ most: Int, into buffer: inout LineBuffer
    ) {
        var places: [Int64: Column] = [:]
        for interval in intervals {
            let first = column(interval.from)
            // Each interval must be at least one column wide.
            for place in first..<max(first + 1, column(interval.to)) {
                places[place, default: Column()].peak = max(places[place]?.peak ?? 0, interval.peak)
                places[place]?.present += interval.present
                places[place]?.known += interval.known
                if interval.known < interval.length { places[place]?.isUnknown = true }
            }
        }
        buffer.append("<svg viewBox=\"0 0 \(columns) 100\" preserveAspectRatio=\"none\" role=\"img\" ")
        buffer.append("aria-label=\"\(PlainText.html(title)), at most \(most) at once\">")
        let height = Int64(max(1, most)) * 100
        let drawn = places.sorted { $0.key < $1.key }
        draw("most", drawn.map { ($0.key, $0.value.known > 0 ? Int64($0.value.peak) * 10_000 / height : 0) }, &buffer)
        let means = drawn.map { place, column -> (Int64, Int64) in
            (place, column.known > 0 ? Int64(Double(column.present) / Double(column.known) * 10_000) / height : 0)
        }
        draw("here", means, &buffer)
        for (place, column) in drawn where column.isUnknown {
            buffer.append("<rect class=\"deaf\" x=\"\(place)\" width=\"1\" y=\"0\" height=\"100\"/>")
        }
        buffer.append("</svg>")
    }

    /// Draws the steps as one shape. Adjacent steps of the same height become one.
    private func draw(_ kind: String, _ steps: [(place: Int64, height: Int64)], _ buffer: inout LineBuffer) {
        var path = ""
        var next = 0
        while next < steps.count {
            let (begin, height) = steps[next]
            var end = begin + 1
            next += 1
            while next < steps.count, steps[next].place == end, steps[next].height == height {
                end += 1
                next += 1
            }
            if height > 0 { path += "M\(begin) 100V\(100 - height)H\(end)V100Z" }
        }
        if !path.isEmpty { buffer.append("<path class=\"\(kind)\" d=\"\(path)\"/>") }
    }

    private func column(_ date: WallDate) -> Int64 {
        let second = min(max(date.microseconds / 1_000_000, range.from), range.to) - range.from
        return second * columns / (range.to - range.from)
    }

    // MARK: The week and the numbers

    private func writeWeek(_ week: OccupancyWeek, into buffer: inout LineBuffer) {
        buffer.append("<h3>Average by hour of the week</h3>\n<table class=\"week\"><thead><tr><th></th>")
        for hour in 0..<24 { buffer.append("<th>\(hour)</th>") }
        buffer.append("</tr></thead><tbody>\n")
        let most = max(1, week.mostHundredths)
        for (day, name) in OccupancyWeek.days.enumerated() {
            buffer.append("<tr><th>\(name)</th>")
            for hour in 0..<24 {
                guard let mean = week.meanHundredths(day: day, hour: hour) else {
                    buffer.append("<td class=\"unsure\">–</td>")
                    continue
                }
                // The text must be readable even in the darkest cell.
                let share = mean * 45 / most
                buffer.append("<td style=\"--share:\(share)%\">\(ReportNumber.text(mean, decimals: 2).dropLast())</td>")
            }
            buffer.append("</tr>\n")
        }
        buffer.append("</tbody></table>\n")
    }

    private func writeNumbers(
        _ intervals: [OccupancyReport.Interval], _ series: OccupancyReport.Series, into output: inout LineOutput
    ) throws(EventLogError) {
        let runs = OccupancyWriter.runs(intervals)
        output.buffer.append("<p class=\"onpaper\">The numbers are on the screen and in the output of --csv.</p>\n")
        output.buffer.append("<details class=\"list\"><summary>Numbers</summary>\n")
        let columns = ReportColumns(OccupancyRow.columns(series.scope), time)
        columns.startTable(into: &output.buffer)
        for run in runs.prefix(Self.rowsMax) {
            let row = OccupancyRow(interval: run, series: series, by: options.by, time: time)
            columns.writeRow(row, into: &output.buffer)
            try output.flushIfFull()
        }
        output.buffer.append("</tbody></table>\n")
        if runs.count > Self.rowsMax {
            output.buffer.append(
                "<p>\(PlainText.count(runs.count - Self.rowsMax, "more row is", "more rows are")) not listed. The output of --csv has all.</p>\n"
            )
        }
        output.buffer.append("</details>\n")
    }
}
