import BeaconMonitoring

/// Merges the visits of one subject that several gateways report at once, or one after another without a gap.
///
/// A beacon is present at a gateway until the exit timeout ends. So visits touch if one starts before the end of the
/// previous one was established.
struct VisitMerger {
    // About 100 bytes each.
    private static let countMax = 2_000_000

    private var visits: [VisitTracker.Subject: [VisitTracker.SubjectVisit]] = [:]
    private var count = 0
    /// The number of visits that were omitted because there was no room.
    private(set) var leftOut = 0

    /// Adds a visit of any gateway.
    mutating func add(_ visit: VisitTracker.SubjectVisit) {
        guard count < Self.countMax else {
            leftOut += 1
            return
        }
        count += 1
        visits[visit.subject, default: []].append(visit)
    }

    /// Returns all visits: the ended ones in the order of their ends, then the open ones in the order of their starts.
    func merged() -> [VisitTracker.SubjectVisit] {
        var all: [VisitTracker.SubjectVisit] = []
        for subject in visits.values {
            let sorted = subject.sorted { $0.begin < $1.begin }
            var current = sorted[0]
            for visit in sorted.dropFirst() {
                // If the current visit is known to continue, its gateway has held the subject meanwhile.
                if visit.begin <= current.until || current.isPresent {
                    current = current.joined(with: visit)
                } else {
                    all.append(current)
                    current = visit
                }
            }
            all.append(current)
        }
        return all.sorted {
            guard ($0.end == .open) == ($1.end == .open) else { return $1.end == .open }
            let (left, right) = $0.end == .open ? ($0.begin, $1.begin) : ($0.until, $1.until)
            return (left, $0.subject) < (right, $1.subject)
        }
    }
}

extension VisitTracker.SubjectVisit {
    /// The start of the visit, as far as it is known.
    fileprivate var begin: WallDate { arrival ?? departure ?? until }

    /// 1 if it is known to continue, else 0.
    private var certainty: Int { isPresent ? 1 : 0 }
    /// Open visits rank above those that ended at the same time.
    private var rank: Int { end == .open ? 1 : 0 }

    /// Merges this visit with another one of the same subject that it overlaps or touches. The result ends like the
    /// later one.
    fileprivate func joined(with other: VisitTracker.SubjectVisit) -> VisitTracker.SubjectVisit {
        // A gateway that is alive and holds the subject knows that it is present. Its proof can be a minute older than
        // an exit that another gateway reports.
        let isLater = (other.certainty, other.lastKnown, other.rank) >= (certainty, lastKnown, rank)
        var visit = isLater ? other : self
        visit.gateways = gateways + other.gateways.filter { !gateways.contains($0) }
        visit.monitor = monitor
        visit.arrival = arrival.flatMap { mine in other.arrival.map { min(mine, $0) } }
        if visit.end != .open { visit.departure = [departure, other.departure].compactMap(\.self).max() }
        if visit.end == .open {
            visit.until = max(lastKnown, other.lastKnown)
            if end == .open, other.end == .open {
                visit.notKnownSince = notKnownSince.flatMap { mine in other.notKnownSince.map { max(mine, $0) } }
            }
        } else {
            visit.until = max(until, other.until)
        }
        visit.sightings = sightings.flatMap { mine in other.sightings.map { mine + $0 } }
        visit.strength = strength.flatMap { mine in other.strength.map { mine.joined(with: $0) } }
        return visit
    }
}

extension Visit.Strength {
    fileprivate func joined(with other: Visit.Strength) -> Visit.Strength {
        Visit.Strength(
            minimum: Swift.min(minimum, other.minimum), sum: sum + other.sum, count: count + other.count,
            maximum: Swift.max(maximum, other.maximum))
    }
}
