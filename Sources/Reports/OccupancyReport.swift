import BaseTypes
package import BeaconMonitoring
package import CommandSupport
import EventLog

/// Computes how many beacons were present at once, from the event files alone: it counts the visits of `visits` over
/// intervals.
///
/// Each beacon counts once, however many conditions or gateways hold it. A condition without events of beacons counts
/// as one while it is satisfied. Beacons and such conditions are in separate series, and are never added.
package struct OccupancyReport {
    /// The kind of subjects that a series counts.
    package enum Scope: String, Sendable {
        /// Beacons.
        case beacon
        /// Conditions without events of beacons.
        case condition
    }

    /// A series of intervals.
    package struct Series: Sendable, Hashable {
        /// The condition, group or gateway; `nil` for the series of all, and for beacons without a group.
        package let name: String?
        /// Whether the series counts beacons, or conditions that are satisfied.
        package let scope: Scope
    }

    /// The values of one interval.
    package struct Interval: Sendable, Hashable {
        /// The start of the interval.
        package var from: WallDate
        /// The end of the interval. This date belongs to the next interval.
        package var to: WallDate
        /// The time in which at least one gateway scanned, in microseconds. ``peak``, ``present`` and the mean are
        /// about this time only.
        package var known: Int64 = 0
        /// The time in which some gateway scanned and another did not, in microseconds. Beacons at the other one are
        /// not counted.
        package var partlyKnown: Int64 = 0
        /// The maximum number that were present at once.
        package var peak = 0
        /// The sum of the times for which subjects were present in the known time, in microseconds.
        package var present: Int64 = 0
        /// The number of arrivals.
        package var arrivals = 0
        /// The number of departures. A departure is at the last sighting of a visit that has ended.
        package var departures = 0
        /// The number of different subjects that were present.
        package var distinct = 0

        /// The length of the interval in microseconds. A day with a clock change has 23 or 25 hours.
        package var length: Int64 { to.microseconds - from.microseconds }
        /// Whether a part of the interval is known. Unknown is not zero.
        package var isKnown: Bool { known > 0 }
        /// Whether it is known that no subject was present: all gateways scanned for the complete interval, and there
        /// was no visit.
        package var isEmpty: Bool { known == length && partlyKnown == 0 && distinct == 0 && arrivals == 0 }
        /// The average number of subjects that were present in the known time, in hundredths, rounded half up; `nil` if
        /// nothing is known.
        package var meanHundredths: Int64? {
            guard known > 0 else { return nil }
            let (whole, rest) = present.quotientAndRemainder(dividingBy: known)
            return whole * 100 + (rest * 200 + known) / (2 * known)
        }
        /// The unknown share of the interval in tenths of a percent, rounded half up.
        package var unknownThousandths: Int64 {
            length > 0 ? ((length - known) * 2000 + length) / (2 * length) : 0
        }
    }

    /// The series, by scope and name.
    package let series: [Series]
    /// The start of the first interval.
    package let from: WallDate
    /// The end of the last interval.
    package let to: WallDate
    /// The times at which each gateway was last known to be alive.
    package let proofs: [GatewayProof]
    /// The date of the first line.
    package let first: WallDate
    /// Remarks for the operator.
    package let remarks: [String]

    private let intervals: OccupancyIntervals
    private let time: ZonedTime
    private let sheet: OccupancySheet
    private let known: [KnownTime]

    /// Reads the files.
    ///
    /// - Throws: ``ExitFailure`` if the files cannot be read or have no requested data. Also if there would be too many
    ///   intervals, conditions or visits: the message then says which request is possible.
    package init(_ options: OccupancyOptions) throws(ExitFailure) {
        do {
            try self.init(reading: options)
        } catch {
            throw ExitFailure(any: error)
        }
    }

    private init(reading options: OccupancyOptions) throws {
        var sheet = OccupancySheet(options)
        let found = try VisitReader(options.visits).readEach { visit in try sheet.add(visit) }
        let trackers = found.trackers
        guard let first = trackers.first, let asOf = trackers.asOf else {
            throw ExitFailure(.inputMissing, "no line in the files has a date")
        }
        let (from, to) = (options.visits.from, options.visits.to)
        guard
            let intervals = OccupancyIntervals(
                every: options.every, first: from ?? first, last: to ?? asOf, from: from, to: to,
                in: options.visits.time)
        else {
            throw ExitFailure(
                .usage,
                "the report would have more than \(OccupancyIntervals.countMax) intervals of \(options.every.inExactWords); use "
                    + "longer intervals with --every, or a shorter time with --from and --to")
        }
        sheet.finish(trackers.gateways)
        self.sheet = sheet
        self.intervals = intervals
        series = sheet.series
        known = series.map { series in
            KnownTime(of: options.by == .gateway ? series.name.map { [$0] } ?? [] : trackers.gateways, trackers)
        }
        self.from = intervals.bounds[0]
        self.to = intervals.bounds[intervals.count]
        proofs = trackers.proofs(at: options.visits.made)
        self.first = first
        time = options.visits.time
        remarks = found.remarks
    }

    /// Returns the values of each interval of one of the ``series``, in order.
    package func intervals(of number: Int) -> [Interval] { count(number, over: intervals) }

    /// Returns the same values for each hour, for the table of the week; `nil` if there would be too many hours.
    package func hours(of number: Int) -> [Interval]? {
        OccupancyIntervals(every: .seconds(3600), first: from, last: to, from: from, to: to, in: time)
            .map { count(number, over: $0) }
    }

    private func count(_ number: Int, over intervals: OccupancyIntervals) -> [Interval] {
        let (edges, subjects) = sheet.edges(of: number)
        var counter = OccupancyCounter(edges: edges, subjects: subjects, known: known[number])
        return (0..<intervals.count).map { counter.count(from: intervals.bounds[$0], to: intervals.bounds[$0 + 1]) }
    }
}
