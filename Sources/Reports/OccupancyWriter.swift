import BeaconMonitoring
import CommandSupport
import EventLog
package import JSON
import OperatorLogging

/// Tells occupancy: as a table, as JSON lines, as CSV.
struct OccupancyWriter {
    private let options: OccupancyOptions
    private let report: OccupancyReport
    /// How many columns the terminal has; absent where it is none.
    private let columns: Int?
    private let time: VisitsTime

    init(_ options: OccupancyOptions, _ report: OccupancyReport, columns: Int?) {
        self.options = options
        self.report = report
        self.columns = columns
        time = options.visits.time.showing(from: report.from, to: report.to)
    }

    /// Writes everything; `flush` is called between series.
    func write(_ output: inout LineOutput) throws(EventLogError) {
        if options.visits.format == .csv {
            output.buffer.append(
                "from,to,scope,name,most,mean,arrivals,departures,distinct,not_known,partly_known,"
                    + "from_offset,to_offset\r\n")
        }
        for (number, series) in report.series.enumerated() {
            let intervals = report.intervals(of: number)
            switch options.visits.format {
            case .table: try writeTable(intervals, series, isFirst: number == 0, &output)
            case .json:
                for interval in intervals {
                    write(interval, series, into: &output.buffer)
                    try output.flushIfFull()
                }
            case .csv:
                for interval in intervals {
                    output.buffer.append(record(interval, series))
                    try output.flushIfFull()
                }
            }
        }
        writeEnd(&output.buffer)
    }

    private func writeEnd(_ buffer: inout LineBuffer) {
        switch options.visits.format {
        case .csv: break
        case .json:
            for proof in report.proofs {
                buffer.object { buffer in
                    buffer.write("kind", word: "asOf")
                    buffer.write("gateway", proof.gateway)
                    buffer.write("date", proof.date)
                    buffer.write("alive", proof.state == .alive)
                    if proof.state == .stopped { buffer.write("stopped", true) }
                }
                buffer.append(octet: 0x0A)
            }
            for date in options.visits.ambiguousDates { VisitsWriter.write(date, into: &buffer) }
        case .table:
            buffer.append("\nThe files begin at \(time.text(report.first)).\n")
            for proof in report.proofs { buffer.append(PlainText.safe(proof.sentence(time)) + "\n") }
            let zones = time.zones(from: report.from, to: report.to)
            buffer.append("Times are \(time.isUTC ? "UTC" : "local, \(zones)").\n")
        }
    }

    // MARK: For people

    private func writeTable(
        _ intervals: [OccupancyReport.Interval], _ series: OccupancyReport.Series, isFirst: Bool,
        _ output: inout LineOutput
    ) throws(EventLogError) {
        if !isFirst { output.buffer.append("\n") }
        if report.series.count > 1 {
            output.buffer.append("\(PlainText.safe(series.title(options.by))):\n")
        }
        let width = time.showsAllOffsets ? 42 : 25
        let what = series.scope == .beacon ? "BEACONS" : "DIFFERENT"
        output.buffer.append(
            Self.padded("TIME", width) + Self.numbers(["MOST", "MEAN", "IN", "OUT", what, "NOT KNOWN"]) + "\n")
        let most = intervals.map(\.peak).max() ?? 0
        for run in Self.runs(intervals) {
            try output.flushIfFull()
            output.buffer.append(Self.padded(span(run.from, run.to), width) + row(run, most, width) + "\n")
        }
    }

    /// Nights are one row: intervals in which nobody was, or of which nothing is known, that follow each other.
    static func runs(_ intervals: [OccupancyReport.Interval]) -> [OccupancyReport.Interval] {
        var runs: [OccupancyReport.Interval] = []
        for interval in intervals {
            if let last = runs.last, last.isEmpty && interval.isEmpty || !last.isTold && !interval.isTold {
                runs[runs.count - 1].to = interval.to
                runs[runs.count - 1].known += interval.known
            } else {
                runs.append(interval)
            }
        }
        return runs
    }

    /// What people read of an interval: most, mean, in, out, different ones, what is not known.
    func cells(_ interval: OccupancyReport.Interval) -> [String] {
        if interval.isEmpty { return ["0", "0.00", "0", "0", "0", ""] }
        guard interval.isTold else { return ["-", "-", "-", "-", "-", "100.0 %"] }
        let share = interval.unknownThousandths
        return [
            interval.isKnown ? "\(interval.peak)" : "-", interval.meanHundredths.map(Self.decimal) ?? "-",
            "\(interval.arrivals)", "\(interval.departures)", "\(interval.distinct)",
            share > 0 ? "\(share / 10).\(share % 10) %" : interval.partlyKnown > 0 ? "partly" : "",
        ]
    }

    private func row(_ interval: OccupancyReport.Interval, _ most: Int, _ width: Int) -> String {
        var text = Self.numbers(cells(interval))
        if let columns, most > 0, interval.isTold, !interval.isEmpty {
            let room = max(0, min(60, columns - width - 60))
            let peak = (interval.peak * room + most / 2) / most
            let mean = Int((interval.meanHundredths ?? 0) * Int64(room) / Int64(most) / 100)
            text += String(repeating: " ", count: max(2, 50 - text.utf8.count))
            text += String(repeating: "█", count: min(mean, peak))
            text += String(repeating: "░", count: max(0, peak - mean))
        }
        return text
    }

    /// Returns `2026-11-21 09:00–09:15`; with the offset if it changes within the report, and with that of each end if it
    /// changes between them.
    func span(_ from: WallDate, _ to: WallDate) -> String {
        let (begin, end) = (short(from), short(to))
        let rest = end.dropFirst(begin.prefix(10) == end.prefix(10) ? 11 : 5)
        guard time.showsAllOffsets else { return "\(begin)–\(rest)" }
        let (first, last) = (time.zone(at: from), time.zone(at: to))
        return first == last ? "\(begin)–\(rest) \(last)" : "\(begin) \(first)–\(rest) \(last)"
    }

    private func short(_ date: WallDate) -> Substring {
        let text = time.plainText(date)
        return text.hasSuffix(":00") ? text.prefix(16) : text[...]
    }

    private static func numbers(_ cells: [String]) -> String {
        var row = ""
        for (text, width) in zip(cells, [6, 9, 6, 6, 10, 11]) where !text.isEmpty {
            row += String(repeating: " ", count: max(1, width - text.utf8.count)) + text
        }
        return row
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    static func decimal(_ hundredths: Int64) -> String {
        "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    // MARK: For programs

    private func write(
        _ interval: OccupancyReport.Interval, _ series: OccupancyReport.Series, into buffer: inout LineBuffer
    ) {
        buffer.object { buffer in interval.write(series, options.by, into: &buffer) }
        buffer.append(octet: 0x0A)
    }

    private func record(_ interval: OccupancyReport.Interval, _ series: OccupancyReport.Series) -> String {
        let share = interval.unknownThousandths
        let told = interval.isTold
        let (from, to) = (time.fields(interval.from), time.fields(interval.to))
        return [
            from.text, to.text, series.scope.rawValue, PlainText.csv(series.name ?? ""),
            interval.isKnown ? "\(interval.peak)" : "", interval.meanHundredths.map(Self.decimal) ?? "",
            told ? "\(interval.arrivals)" : "", told ? "\(interval.departures)" : "",
            told ? "\(interval.distinct)" : "",
            Self.thousandths(share), Self.thousandths(interval.partlyKnownThousandths), from.offset, to.offset,
        ].joined(separator: ",") + "\r\n"
    }

    private static func thousandths(_ share: Int64) -> String {
        "\(share / 1000).\(String(1000 + share % 1000).dropFirst())"
    }
}

extension OccupancyReport.Interval {
    /// Whether anything can be said of it: what is not known is not zero, and who came nevertheless came.
    var isTold: Bool { isKnown || arrivals > 0 || departures > 0 }

    /// The share of it of which some gateway did not hear while another did, in tenths of a hundredth.
    var partlyKnownThousandths: Int64 { length > 0 ? (partlyKnown * 2000 + length) / (2 * length) : 0 }

    /// Writes the members of its JSON object.
    package func write(
        _ series: OccupancyReport.Series, _ by: OccupancyOptions.Division, into buffer: inout LineBuffer
    ) {
        buffer.write("kind", word: "occupancy")
        buffer.write("from", from)
        buffer.write("to", to)
        switch by {
        case .all: break
        case .condition: buffer.write("condition", series.name)
        case .group: buffer.write("group", series.name)
        case .gateway: buffer.write("gateway", series.name)
        }
        buffer.write("scope", series.scope.rawValue)
        buffer.write("known", millionths: known)
        if partlyKnown > 0 { buffer.write("partlyKnown", millionths: partlyKnown) }
        if isKnown {
            buffer.write("peak", peak)
            if let mean = meanHundredths { buffer.write("mean", millionths: mean * 10_000) }
        }
        guard isTold else { return }
        buffer.write("arrivals", arrivals)
        buffer.write("departures", departures)
        buffer.write("distinct", distinct)
    }
}

extension OccupancyReport.Series {
    /// The words that people read for a series.
    func title(_ by: OccupancyOptions.Division) -> String {
        let what = scope == .beacon ? "beacons" : "conditions without beacons"
        guard let name else { return by == .group && scope == .beacon ? "in no group" : "all \(what)" }
        return scope == .beacon || by == .condition ? name : "\(name), \(what)"
    }
}
