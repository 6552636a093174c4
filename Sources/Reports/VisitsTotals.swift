import BeaconMonitoring
import BluetoothLE

/// Totals of visits: of conditions, and of beacons. A beacon counts once, however many conditions it has visits under.
struct VisitsTotals {
    /// The totals of one condition or beacon.
    struct Total {
        var count = 0
        /// In microseconds.
        var duration: Int64 = 0
        /// The number of visits that had not ended.
        var open = 0
        /// The number of open visits that are known to continue.
        var present = 0
        var last: WallDate?
        /// The conditions of its visits, in their order.
        var identifiers: [Identifier] = []

        fileprivate mutating func add(_ visit: VisitTracker.SubjectVisit) {
            count += 1
            duration += visit.duration ?? 0
            if visit.end == .open, !visit.goesOn {
                open += 1
                if visit.isPresent { present += 1 }
            }
            let seen = min(visit.lastKnown, visit.clippedTo ?? visit.lastKnown)
            last = max(last ?? seen, seen)
        }
    }

    // Forged beacons of a year must not fill the memory.
    static let countMax = 200_000

    private var conditionTotals: [Identifier: Total] = [:]
    private var people: [BeaconIdentity: PersonTime] = [:]
    private var kept = 0
    /// The number of visits that are not in the totals because there were too many subjects.
    private(set) var leftOut = 0
    /// Whether there were too many visits to store those of one beacon separately.
    private(set) var isCompacted = false

    /// Adds a visit.
    mutating func add(_ visit: VisitTracker.SubjectVisit) {
        guard let beacon = visit.subject.beacon else {
            let identifier = visit.subject.identifier
            guard conditionTotals[identifier] != nil || conditionTotals.count < Self.countMax else {
                leftOut += 1
                return
            }
            conditionTotals[identifier, default: Total()].add(visit)
            return
        }
        guard people[beacon] != nil || people.count < Self.countMax else {
            leftOut += 1
            return
        }
        let change = Self.add(visit, to: &people[beacon, default: PersonTime()])
        kept += change
        if kept > PersonTime.spansMax { compact() }
    }

    private static func add(_ visit: VisitTracker.SubjectVisit, to person: inout PersonTime) -> Int {
        let before = person.kept
        person.add(visit)
        return person.kept - before
    }

    private mutating func compact() {
        for beacon in Array(people.keys) { people[beacon]?.compact() }
        kept = people.count
        isCompacted = true
    }

    /// The totals of conditions, in the order of their identifiers.
    var conditions: [(identifier: Identifier, total: Total)] {
        conditionTotals.sorted { $0.key < $1.key }.map { key, total in
            var total = total
            total.identifiers = [key]
            return (key, total)
        }
    }

    /// The totals of beacons, in the order of the first of their identifiers, then by beacon.
    var beacons: [(beacon: BeaconIdentity, total: Total)] {
        people.map { beacon, person in
            let total = Total(
                count: person.count, duration: person.duration, open: person.open, present: person.present,
                last: person.last, identifiers: person.identifiers.sorted())
            return (beacon, total)
        }.sorted { left, right in
            let (first, second) = (left.total.identifiers.first, right.total.identifiers.first)
            guard let first, let second, first != second else { return left.beacon < right.beacon }
            return first < second
        }
    }
}
