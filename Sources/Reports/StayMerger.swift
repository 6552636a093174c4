import BeaconMonitoring

/// Makes one stay of what several gateways tell of one subject at once, or one after another without a gap.
///
/// A gateway holds somebody for present until the exit timeout is over, so stays touch where the next begins before the
/// end of the one before was established.
struct StayMerger {
    // A hundred octets each.
    private static let countMax = 2_000_000

    private var stays: [VisitsBook.Subject: [VisitsBook.Stay]] = [:]
    private var count = 0
    /// How many stays there was no room for.
    private(set) var leftOut = 0

    /// Takes in a stay of any gateway.
    mutating func add(_ stay: VisitsBook.Stay) {
        guard count < Self.countMax else {
            leftOut += 1
            return
        }
        count += 1
        stays[stay.subject, default: []].append(stay)
    }

    /// All stays, those that ended in the order of their ends, then those that go on.
    func merged() -> [VisitsBook.Stay] {
        var all: [VisitsBook.Stay] = []
        for subject in stays.values {
            let sorted = subject.sorted { $0.begin < $1.begin }
            var current = sorted[0]
            for stay in sorted.dropFirst() {
                // Whoever holds the subject has held it meanwhile.
                if stay.begin <= current.until || current.isPresent {
                    current = current.joined(with: stay)
                } else {
                    all.append(current)
                    current = stay
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

extension VisitsBook.Stay {
    /// When it began, as far as that is known.
    fileprivate var begin: WallDate { arrival ?? departure ?? until }

    /// 1 if it is known to continue, else 0.
    private var certainty: Int { isPresent ? 1 : 0 }
    /// Open stays rank above those that ended at the same time.
    private var rank: Int { end == .open ? 1 : 0 }

    /// This stay and another of the same subject that it overlaps or touches, as one: it ends as the later of the two did.
    fileprivate func joined(with other: VisitsBook.Stay) -> VisitsBook.Stay {
        // A gateway that is alive and holds the subject knows that it is present, even if its proof is a minute older than
        // an exit that another gateway reports.
        let isLater = (other.certainty, other.lastKnown, other.rank) >= (certainty, lastKnown, rank)
        var stay = isLater ? other : self
        stay.gateways = gateways + other.gateways.filter { !gateways.contains($0) }
        stay.monitor = monitor
        stay.arrival = arrival.flatMap { mine in other.arrival.map { min(mine, $0) } }
        if stay.end != .open { stay.departure = [departure, other.departure].compactMap(\.self).max() }
        if stay.end == .open {
            stay.until = max(lastKnown, other.lastKnown)
            if end == .open, other.end == .open {
                stay.notKnownSince = notKnownSince.flatMap { mine in other.notKnownSince.map { max(mine, $0) } }
            }
        } else {
            stay.until = max(until, other.until)
        }
        stay.sightings = sightings.flatMap { mine in other.sightings.map { mine + $0 } }
        stay.strength = strength.flatMap { mine in other.strength.map { mine.joined(with: $0) } }
        return stay
    }
}

extension Visit.Strength {
    fileprivate func joined(with other: Visit.Strength) -> Visit.Strength {
        Visit.Strength(
            minimum: Swift.min(minimum, other.minimum), sum: sum + other.sum, count: count + other.count,
            maximum: Swift.max(maximum, other.maximum))
    }
}
