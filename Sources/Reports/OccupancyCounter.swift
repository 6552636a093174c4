import BeaconMonitoring

/// Goes once over the comings and goings of one series, interval by interval.
///
/// Who was heard for the last time at a moment was here at that moment: whoever comes at it meets him.
struct OccupancyCounter {
    /// That somebody came to be here, or ceased to be.
    struct Edge {
        var date: WallDate
        /// The number of who it was.
        var subject: Int32
        /// Whether he is here from then on.
        var isBegin: Bool
        /// Whether that is a coming, or a going: a stay that goes past what was asked for, or of which nobody knows how it
        /// began or ended, only begins or ends to be told of.
        var isCounted: Bool
    }

    private let edges: [Edge]
    private let known: KnownTime
    /// The interval in which each subject was counted last, by its number.
    private var counted: [Int32]
    private var number: Int32 = 0
    private var next = 0
    private var nextKnown = 0
    private var nextWhole = 0
    /// How many beacons are here at the moment that the counter has come to.
    private var count = 0

    init(edges: [Edge], subjects: Int, known: KnownTime) {
        self.edges = edges
        self.known = known
        counted = Array(repeating: -1, count: subjects)
    }

    /// What is known of the next interval; they come in order.
    mutating func count(from: WallDate, to: WallDate) -> OccupancyReport.Interval {
        var interval = OccupancyReport.Interval(from: from, to: to)
        // What lies before the first interval was not asked for.
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

    /// The parts of stretches that lie in an interval; `next` is the first that does not end before it.
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
