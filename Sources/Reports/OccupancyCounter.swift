import BeaconMonitoring

/// Counts the arrivals and departures of one series in one pass, interval by interval.
///
/// A subject is still present at the moment of its last sighting. A subject that arrives at this moment overlaps with
/// it.
struct OccupancyCounter {
    /// The start or the end of a presence.
    struct Edge {
        var date: WallDate
        /// The number of the subject.
        var subject: Int32
        /// Whether the subject is present from this date on.
        var isBegin: Bool
        /// Whether this counts as an arrival or a departure. It does not if the visit extends beyond the requested
        /// range there, or if its start or end is not known. Then it only changes the number of subjects that are
        /// present.
        var isCounted: Bool
    }

    private let edges: [Edge]
    private let known: KnownTime
    /// The last interval in which each subject was counted, by the number of the subject.
    private var counted: [Int32]
    private var number: Int32 = 0
    private var next = 0
    private var nextKnown = 0
    private var nextWhole = 0
    /// The number of subjects that are present at the moment that the counter has reached.
    private var count = 0

    init(edges: [Edge], subjects: Int, known: KnownTime) {
        self.edges = edges
        self.known = known
        counted = Array(repeating: -1, count: subjects)
    }

    /// Returns the values of the next interval. Intervals must be passed in order.
    mutating func count(from: WallDate, to: WallDate) -> OccupancyReport.Interval {
        var interval = OccupancyReport.Interval(from: from, to: to)
        // The time before the first interval was not requested, so its arrivals do not count.
        while next < edges.count, edges[next].date < from { step(edges[next]) }
        interval.distinct = count
        for stretch in Self.inside(known.some, from, to, &nextKnown) {
            while next < edges.count, edges[next].date < stretch.from { pass(&interval, edges[next]) }
            interval.peak = max(interval.peak, count)
            var since = stretch.from
            while next < edges.count, edges[next].date < stretch.to {
                let date = edges[next].date
                interval.present += Int64(count) * (date.microseconds - since.microseconds)
                since = date
                pass(&interval, edges[next])
                interval.peak = max(interval.peak, count)
            }
            interval.present += Int64(count) * (stretch.to.microseconds - since.microseconds)
            interval.known += stretch.to.microseconds - stretch.from.microseconds
        }
        while next < edges.count, edges[next].date < to { pass(&interval, edges[next]) }
        let whole = Self.inside(known.all, from, to, &nextWhole).reduce(into: Int64(0)) {
            $0 += $1.to.microseconds - $1.from.microseconds
        }
        interval.partlyKnown = interval.known - whole
        number += 1
        return interval
    }

    private mutating func pass(_ interval: inout OccupancyReport.Interval, _ edge: Edge) {
        let subject = Int(edge.subject)
        if edge.isBegin {
            if edge.isCounted { interval.arrivals += 1 }
            if counted[subject] != number { interval.distinct += 1 }
        } else if edge.isCounted {
            interval.departures += 1
        }
        counted[subject] = number
        step(edge)
    }

    private mutating func step(_ edge: Edge) {
        count += edge.isBegin ? 1 : -1
        next += 1
    }

    /// Returns the parts of periods that are within an interval. `next` is the first period that does not end before
    /// it.
    private static func inside(
        _ stretches: [KnownTime.Stretch], _ from: WallDate, _ to: WallDate, _ next: inout Int
    ) -> [KnownTime.Stretch] {
        var parts: [KnownTime.Stretch] = []
        while next < stretches.count, stretches[next].to <= from { next += 1 }
        for stretch in stretches[next...] {
            guard stretch.from < to else { break }
            parts.append(KnownTime.Stretch(from: max(stretch.from, from), to: min(stretch.to, to)))
        }
        return parts
    }
}
