import BeaconMonitoring
import CommandSupport

/// An interval of a series, with the facts that its columns need.
struct OccupancyRow {
    let interval: OccupancyReport.Interval
    let series: OccupancyReport.Series
    let by: OccupancyOptions.Division
    let time: ZonedTime

    /// The columns of `occupancy`.
    static func columns(_ scope: OccupancyReport.Scope) -> [ReportColumn<OccupancyRow>] {
        func cell(_ title: String, _ place: Int, _ width: Int, _ text: @escaping (OccupancyRow) -> String?)
            -> ReportColumn<OccupancyRow>.Cell
        {
            .init(title: title, table: place, page: place, width: width, isNumber: true) { text($0) ?? "-" }
        }
        return [
            .init(
                .date { $0.interval.from }, json: "from", csv: .init(1, "from", offset: 12),
                cell: .init(title: "Time", table: 1, page: 1) { $0.span }),
            .init(.date { $0.interval.to }, json: "to", csv: .init(2, "to", offset: 13)),
            .init(.text { $0.by == .condition ? $0.series.name : nil }, json: "condition"),
            .init(.text { $0.by == .group ? $0.series.name : nil }, json: "group"),
            .init(.text { $0.by == .gateway ? $0.series.name : nil }, json: "gateway"),
            .init(.text { $0.series.scope.rawValue }, json: "scope", csv: .init(3, "scope")),
            .init(.text { $0.series.name }, csv: .init(4, "name")),
            .init(.seconds { $0.interval.known }, json: "known"),
            .init(.seconds { $0.interval.partlyKnown > 0 ? $0.interval.partlyKnown : nil }, json: "partlyKnown"),
            .init(
                .integer { $0.interval.isKnown ? $0.interval.peak : nil }, json: "peak", csv: .init(5, "most"),
                cell: cell("Peak", 2, 6) { $0.interval.isKnown ? "\($0.interval.peak)" : nil }),
            .init(
                .decimal(2) { $0.interval.meanHundredths }, json: "mean", csv: .init(6, "mean"),
                cell: cell("Mean", 3, 9) { $0.interval.meanHundredths.map { ReportNumber.text($0, decimals: 2) } }),
            .init(
                .integer { $0.interval.hasNumbers ? $0.interval.arrivals : nil }, json: "arrivals",
                csv: .init(7, "arrivals"), cell: cell("In", 4, 6) { $0.known($0.interval.arrivals) }),
            .init(
                .integer { $0.interval.hasNumbers ? $0.interval.departures : nil }, json: "departures",
                csv: .init(8, "departures"), cell: cell("Out", 5, 6) { $0.known($0.interval.departures) }),
            .init(
                .integer { $0.interval.hasNumbers ? $0.interval.distinct : nil }, json: "distinct",
                csv: .init(9, "distinct"),
                cell: cell(scope == .beacon ? "Beacons" : "Distinct", 6, 10) { $0.known($0.interval.distinct) }),
            .init(
                .decimal(3) { $0.interval.unknownThousandths }, csv: .init(10, "not_known"),
                cell: cell("Unknown", 7, 11) { $0.unknown }),
            .init(.decimal(3) { $0.interval.partlyKnownThousandths }, csv: .init(11, "partly_known")),
        ]
    }

    private func known(_ number: Int) -> String? { interval.hasNumbers ? "\(number)" : nil }

    private var unknown: String {
        let share = interval.unknownThousandths
        if share > 0 { return ReportNumber.text(share, decimals: 1) + " %" }
        return interval.partlyKnown > 0 ? "partly" : ""
    }

    /// The text of the interval: `2026-11-21 09:00–09:15`. It has the offset if this changes within the report, and the
    /// offset of each end if it changes between them.
    private var span: String {
        let (begin, end) = (short(interval.from), short(interval.to))
        let rest = end.dropFirst(begin.prefix(10) == end.prefix(10) ? 11 : 5)
        guard time.showsAllOffsets else { return "\(begin)–\(rest)" }
        let (first, last) = (time.zone(at: interval.from), time.zone(at: interval.to))
        return first == last ? "\(begin)–\(rest) \(last)" : "\(begin) \(first)–\(rest) \(last)"
    }

    private func short(_ date: WallDate) -> Substring {
        let text = time.plainText(date)
        return text.hasSuffix(":00") ? text.prefix(16) : text[...]
    }
}
