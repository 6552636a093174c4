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
    private let time: VisitsTime

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
        let width = time.showsAllOffsets ? 42 : 25
        let titles = Self.line(columns.tableTitles, width)
        let numbers = columns.tableTitles.dropFirst().reduce(0) { $0 + $1.width }
        output.buffer.append(titles.time + titles.numbers + "\n")
        let most = intervals.map(\.peak).max() ?? 0
        for run in Self.runs(intervals) {
            try output.flushIfFull()
            let line = Self.line(columns.tableRow(row(run, series)), width)
            let bar = bar(run, most, after: width, numbers, printed: line.numbers.utf8.count)
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

    /// Returns the bar to the right of the numbers. An interval that has the `most` fills the width.
    ///
    /// The time takes `width` characters, and the columns of numbers take `numbers`, of which `count` are printed.
    private func bar(
        _ interval: OccupancyReport.Interval, _ most: Int, after width: Int, _ numbers: Int, printed count: Int
    ) -> String {
        guard let columns, most > 0, interval.hasNumbers, !interval.isEmpty else { return "" }
        let room = max(0, min(60, columns - width - numbers - 12))
        let peak = (interval.peak * room + most / 2) / most
        let mean = Int((interval.meanHundredths ?? 0) * Int64(room) / Int64(most) / 100)
        return String(repeating: " ", count: max(2, numbers + 2 - count))
            + String(repeating: "█", count: min(mean, peak))
            + String(repeating: "░", count: max(0, peak - mean))
    }

    /// Returns the cells of a line: the time, padded to `width` characters, and the numbers, aligned to the right. A
    /// number without text needs no room.
    private static func line(_ cells: [TextTable.Cell], _ width: Int) -> (time: String, numbers: String) {
        let time = cells.first?.text ?? ""
        var numbers = ""
        for cell in cells.dropFirst() where !cell.text.isEmpty {
            numbers += String(repeating: " ", count: max(1, cell.width - cell.text.utf8.count)) + cell.text
        }
        return (time + String(repeating: " ", count: max(1, width - time.count)), numbers)
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
