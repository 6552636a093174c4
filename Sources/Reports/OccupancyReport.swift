import BaseTypes
package import BeaconMonitoring
package import CommandSupport
import EventLog

/// How many were here at once, told from the event files alone: the stays of `visits`, counted over intervals.
///
/// Beacons are counted, each once, however many conditions or gateways hold it. A condition that tells of no beacons counts
/// as one that is satisfied or not; the two are in series of their own, and never added.
package struct OccupancyReport {
    /// What a series counts.
    package enum Scope: String, Sendable {
        /// Beacons.
        case beacon
        /// Conditions that tell of no beacons.
        case condition
    }

    /// What there are intervals of.
    package struct Series: Sendable, Hashable {
        /// The condition, group or gateway; absent where it is of all, and where beacons are in no group.
        package let name: String?
        /// Whether beacons are counted, or who satisfies a condition.
        package let scope: Scope
    }

    /// What is known of one interval.
    package struct Interval: Sendable, Hashable {
        /// The date at which the interval begins.
        package var from: WallDate
        /// The date at which the interval ends, which belongs to the next.
        package var to: WallDate
        /// For how long of it at least one gateway heard, in microseconds: what all else is told of.
        package var known: Int64 = 0
        /// For how long of it some gateway heard and some other did not, in microseconds: whoever was at that one is not
        /// counted.
        package var partlyKnown: Int64 = 0
        /// The most that were here at once.
        package var peak = 0
        /// For how long they were here in the known time, added up, in microseconds.
        package var present: Int64 = 0
        /// How many came.
        package var arrivals = 0
        /// How many were heard for the last time before they left.
        package var departures = 0
        /// How many were here at all.
        package var distinct = 0

        /// How long it is, in microseconds: of a day with a clock change, 23 or 25 hours.
        package var length: Int64 { to.microseconds - from.microseconds }
        /// Whether anything of it is known; what is not known is not zero.
        package var isKnown: Bool { known > 0 }
        /// Whether it is known that nobody was here: all of it was heard, by all, and nobody was.
        package var isEmpty: Bool { known == length && partlyKnown == 0 && distinct == 0 && arrivals == 0 }
        /// How many were here on average over the known time, in hundredths, half up; absent where nothing is known.
        package var meanHundredths: Int64? {
            guard known > 0 else { return nil }
            let (whole, rest) = present.quotientAndRemainder(dividingBy: known)
            return whole * 100 + (rest * 200 + known) / (2 * known)
        }
        /// The share of it that is not known, in tenths of a hundredth, half up.
        package var unknownThousandths: Int64 {
            length > 0 ? ((length - known) * 2000 + length) / (2 * length) : 0
        }
    }

    /// The series, by scope and name.
    package let series: [Series]
    /// When the first interval begins and the last ends.
    package let from: WallDate
    /// The end of the last interval.
    package let to: WallDate
    /// Up to when each gateway is known to have been alive.
    package let proofs: [GatewayProof]
    /// When anything was first told.
    package let first: WallDate
    /// What the operator should know besides.
    package let remarks: [String]

    private let intervals: OccupancyIntervals
    private let time: VisitsTime
    private let sheet: OccupancySheet
    private let known: [KnownTime]

    /// Reads the files.
    ///
    /// - Throws: ``ExitFailure`` where they can't be read, where they tell nothing of what is asked for, or where it would
    ///   be more intervals, series or stays than there is room for, with what to ask for instead.
    package init(_ options: OccupancyOptions) throws(ExitFailure) {
        do {
            try self.init(reading: options)
        } catch {
            throw ExitFailure(any: error)
        }
    }

    private init(reading options: OccupancyOptions) throws {
        var sheet = OccupancySheet(options)
        let found = try StayReader(options.visits).readEach { stay in try sheet.add(stay) }
        let books = found.books
        guard let first = books.first, let asOf = books.asOf else {
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
        sheet.finish(books.gateways)
        self.sheet = sheet
        self.intervals = intervals
        series = sheet.series
        known = series.map { series in
            KnownTime(of: options.by == .gateway ? series.name.map { [$0] } ?? [] : books.gateways, books)
        }
        self.from = intervals.bounds[0]
        self.to = intervals.bounds[intervals.count]
        proofs = books.proofs(at: options.visits.made)
        self.first = first
        time = options.visits.time
        remarks = found.remarks
    }

    /// What is known of each interval of one of the ``series``, in order.
    package func intervals(of number: Int) -> [Interval] { count(number, over: intervals) }

    /// The same of each hour, for a picture of a week; `nil` where that would be too many.
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
