import BeaconMonitoring

/// What stays come to, by subject.
struct VisitsTotals {
    /// What those of one subject come to.
    struct Total {
        var count = 0
        /// Microseconds.
        var duration: Int64 = 0
        var open = 0
        var last: WallDate?

        fileprivate mutating func add(_ stay: VisitsBook.Stay) {
            count += 1
            duration += stay.duration ?? 0
            if stay.end == .open, !stay.goesOn { open += 1 }
            let seen = min(stay.lastKnown, stay.clippedTo ?? stay.lastKnown)
            last = max(last ?? seen, seen)
        }
    }

    // Invented beacons of a year must not fill the memory.
    static let countMax = 200_000

    private var totals: [VisitsBook.Subject: Total] = [:]
    /// How many stays are in no total, because there were too many subjects.
    private(set) var leftOut = 0

    /// Counts a stay.
    mutating func add(_ stay: VisitsBook.Stay) {
        if totals[stay.subject] == nil, totals.count >= Self.countMax {
            leftOut += 1
            return
        }
        totals[stay.subject, default: Total()].add(stay)
    }

    /// What a subject's stays come to; `nil` where it has none.
    subscript(subject: VisitsBook.Subject) -> Total? { totals[subject] }

    /// All of them, in the order of their subjects.
    var sorted: [(key: VisitsBook.Subject, value: Total)] { totals.sorted { $0.key < $1.key } }
}
