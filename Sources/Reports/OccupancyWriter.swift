import CommandSupport
import EventLog
import JSON
import OperatorLogging

/// Writes occupancy as a table, as JSON lines, or as CSV.
struct OccupancyWriter {
    private let options: OccupancyOptions
    private let report: OccupancyReport
    /// The number of columns of the terminal; `nil` if the output is not a terminal.
    private let columns: Int?
    private let time: ZonedTime

    init(_ options: OccupancyOptions, _ report: OccupancyReport, columns: Int?) {
        self.options = options
        self.report = report
        self.columns = columns
        time = options.visits.time.showing(from: report.from, to: report.to)
    }

    /// Writes the complete report, and flushes the output whenever it is full.
    func write(_ output: inout LineOutput) throws(EventLogError) {
        if options.visits.format == .csv {
            ReportColumns(OccupancyRow.columns(.beacon), time).writeHeadings(into: &output.buffer)
        }
        for (number, series) in report.series.enumerated() {
            let intervals = report.intervals(of: number)
            let columns = ReportColumns(OccupancyRow.columns(series.scope), time)
            if options.visits.format == .table {
                try writeTable(intervals, series, columns, isFirst: number == 0, &output)
                continue
            }
            for interval in intervals {
                let row = row(interval, series)
                if options.visits.format == .csv {
                    columns.writeRecord(row, into: &output.buffer)
                } else {
                    VisitsWriter.line("occupancy", into: &output.buffer) { columns.writeMembers(row, into: &$0) }
                }
                try output.flushIfFull()
            }
        }
        writeEnd(&output.buffer)
    }

    private func writeEnd(_ buffer: inout LineBuffer) {
        switch options.visits.format {
        case .csv: break
        case .json:
            for proof in report.proofs { proof.writeLine(into: &buffer) }
            for date in options.visits.ambiguousDates { VisitsWriter.write(date, into: &buffer) }
        case .table:
            GatewayProof.writeSentences(report.proofs, first: report.first, time, into: &buffer)
            buffer.append(time.zoneSentence(from: report.from, to: report.to) + "\n")
        }
    }

    private func row(_ interval: OccupancyReport.Interval, _ series: OccupancyReport.Series) -> OccupancyRow {
        OccupancyRow(interval: interval, series: series, by: options.by, time: time)
    }

    // MARK: Tables

    private func writeTable(
        _ intervals: [OccupancyReport.Interval], _ series: OccupancyReport.Series,
        _ columns: ReportColumns<OccupancyRow>, isFirst: Bool, _ output: inout LineOutput
    ) throws(EventLogError) {
        if !isFirst { output.buffer.append("\n") }
        if report.series.count > 1 {
            output.buffer.append("\(PlainText.safe(series.title(options.by))):\n")
        }
        let runs = Self.runs(intervals)
        var widths = Widths(columns.tableTitles, time: time.showsAllOffsets ? 42 : 25)
        for run in runs { widths.fit(columns.tableRow(row(run, series))) }
        let titles = widths.line(columns.tableTitles)
        output.buffer.append(titles.time + titles.numbers + "\n")
        let most = intervals.map(\.peak).max() ?? 0
        for run in runs {
            try output.flushIfFull()
            let line = widths.line(columns.tableRow(row(run, series)))
            let bar = bar(run, most, widths, printed: line.numbers.utf8.count)
            output.buffer.append(line.time + line.numbers + bar + "\n")
        }
    }

    /// Merges consecutive intervals that are known to be empty, or that have no numbers, so that a night is one row.
    static func runs(_ intervals: [OccupancyReport.Interval]) -> [OccupancyReport.Interval] {
        var runs: [OccupancyReport.Interval] = []
        for interval in intervals {
            if let last = runs.last, last.isEmpty && interval.isEmpty || !last.hasNumbers && !interval.hasNumbers {
                runs[runs.count - 1].to = interval.to
                runs[runs.count - 1].known += interval.known
            } else {
                runs.append(interval)
            }
        }
        return runs
    }

    /// Returns the bar to the right of the numbers. An interval that has the `most` fills the width. Of the columns of
    /// numbers, `count` are printed.
    private func bar(
        _ interval: OccupancyReport.Interval, _ most: Int, _ widths: Widths, printed count: Int
    ) -> String {
        guard let columns, most > 0, interval.hasNumbers, !interval.isEmpty else { return "" }
        let numbers = widths.numbers.reduce(0, +)
        let room = max(0, min(60, columns - widths.time - numbers - 12))
        let peak = (interval.peak * room + most / 2) / most
        let mean = Int((interval.meanHundredths ?? 0) * Int64(room) / Int64(most) / 100)
        return String(repeating: " ", count: max(2, numbers + 2 - count))
            + String(repeating: "█", count: min(mean, peak))
            + String(repeating: "░", count: max(0, peak - mean))
    }

    /// The widths of the columns of a table, each with the spaces next to it.
    private struct Widths {
        private(set) var time: Int
        private(set) var numbers: [Int]

        /// Creates the minimum widths: `time` for the first column, and those of the titles for the others.
        init(_ titles: [TextTable.Cell], time: Int) {
            self.time = time
            numbers = titles.dropFirst().map(\.width)
        }

        /// Makes the columns wide enough for a row.
        mutating func fit(_ cells: [TextTable.Cell]) {
            time = max(time, PlainText.columns(of: cells.first?.text ?? "") + 1)
            for (column, cell) in cells.dropFirst().enumerated() {
                numbers[column] = max(numbers[column], PlainText.columns(of: cell.text) + 1)
            }
        }

        /// Returns the cells of a line: the time, and the numbers, aligned to the right. A number without text needs no
        /// room.
        func line(_ cells: [TextTable.Cell]) -> (time: String, numbers: String) {
            var line = ""
            for (cell, width) in zip(cells.dropFirst(), numbers) where !cell.text.isEmpty {
                line += PlainText.padded(cell.text, to: width, isNumber: true)
            }
            return (PlainText.padded(cells.first?.text ?? "", to: time), line)
        }
    }
}

extension OccupancyReport.Interval {
    /// Whether the interval has numbers. Unknown is not zero, but arrivals and departures in unknown time count.
    var hasNumbers: Bool { isKnown || arrivals > 0 || departures > 0 }

    /// The share of the interval in which some gateway scanned and another did not, in tenths of a percent.
    var partlyKnownThousandths: Int64 { length > 0 ? (partlyKnown * 2000 + length) / (2 * length) : 0 }
}

extension OccupancyReport.Series {
    /// Returns the title of a series for people.
    func title(_ by: OccupancyOptions.Division) -> String {
        let what = scope == .beacon ? "beacons" : "conditions without beacons"
        guard let name else { return by == .group && scope == .beacon ? "without a group" : "all \(what)" }
        return scope == .beacon || by == .condition ? name : "\(name), \(what)"
    }
}
