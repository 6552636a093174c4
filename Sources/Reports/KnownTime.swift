import BeaconMonitoring

/// The periods in which gateways scanned, so that it is known which beacons were present. They extend from a gateway's
/// first line to the time at which it was last known to be alive. Periods in which it was not running, or in which none
/// of its adapters scanned, are excluded.
struct KnownTime {
    /// A period of time.
    struct Stretch: Hashable {
        var from: WallDate
        var to: WallDate
    }

    /// The periods in which at least one of the gateways scanned, in order and without overlap.
    private(set) var some: [Stretch] = []
    /// The periods in which all of them scanned, in order and without overlap.
    private(set) var all: [Stretch] = []

    /// Computes the known time of the gateways with these names.
    init(of gateways: [String], _ trackers: VisitTrackers) {
        let scanned = gateways.flatMap { Self.scanned($0, trackers) }
        some = Self.covered(scanned, atLeast: 1)
        all = gateways.count == 1 ? some : Self.covered(scanned, atLeast: gateways.count)
    }

    private static func scanned(_ gateway: String, _ trackers: VisitTrackers) -> [Stretch] {
        guard let tracker = trackers.tracker(of: gateway), let first = tracker.first,
            let asOf = tracker.asOf, first < asOf
        else {
            return []
        }
        // Entries without an adapter are periods in which the gateway was not running or had no adapter. The latter are
        // in `scanningGaps` too.
        let runs = tracker.scanning.silences.filter { $0.adapter == nil }.map {
            Stretch(from: $0.from, to: $0.to ?? asOf)
        }
        let scanningGaps = tracker.scanning.scanningGaps.map { Stretch(from: $0.from, to: $0.to ?? asOf) }
        let deaf = covered((runs + scanningGaps).filter { $0.from < $0.to }, atLeast: 1)
        var scanned: [Stretch] = []
        var from = first
        for stretch in deaf {
            if stretch.from > from { scanned.append(Stretch(from: from, to: min(stretch.from, asOf))) }
            from = max(from, stretch.to)
            if from >= asOf { break }
        }
        if from < asOf { scanned.append(Stretch(from: from, to: asOf)) }
        return scanned
    }

    /// Returns the periods between two dates in which none of the gateways scanned.
    func unknown(from: WallDate, to: WallDate) -> [Stretch] {
        var unknown: [Stretch] = []
        var since = from
        for stretch in some where stretch.to > from && stretch.from < to {
            if stretch.from > since { unknown.append(Stretch(from: since, to: stretch.from)) }
            since = max(since, stretch.to)
        }
        if since < to { unknown.append(Stretch(from: since, to: to)) }
        return unknown
    }

    /// Returns the time that at least `count` of the periods cover, in order and without overlap.
    static func covered(_ stretches: [Stretch], atLeast count: Int) -> [Stretch] {
        let edges = stretches.flatMap { [($0.from, 1), ($0.to, -1)] }
            // Starts come before ends of the same date, so that there is no gap between a period and the next one.
            .sorted { ($0.0, -$0.1) < ($1.0, -$1.1) }
        var covered: [Stretch] = []
        var (depth, since) = (0, WallDate(microseconds: 0))
        for (date, change) in edges {
            if depth < count, depth + change >= count { since = date }
            // Periods that only touch each other do not cover any time together.
            if depth >= count, depth + change < count, since < date { covered.append(Stretch(from: since, to: date)) }
            depth += change
        }
        return covered
    }
}
