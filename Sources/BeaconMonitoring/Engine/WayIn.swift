import BluetoothLE

/// When a beacon on its way in is forgotten (rule P1), as it was when the entry was made.
private struct ForgettingEntry: Comparable, Sendable {
    let time: Int64
    let subject: SubjectIndex

    static func < (left: ForgettingEntry, right: ForgettingEntry) -> Bool { left.time < right.time }
}

/// When a beacon on its way in was last seen, as it was when the entry was made; ties in rule T3's order (rule P2).
private struct GivingWayEntry: Comparable, Sendable {
    let time: Int64
    let rank: Int32
    let beacon: BeaconIdentity
    let subject: SubjectIndex

    static func < (left: GivingWayEntry, right: GivingWayEntry) -> Bool {
        guard left.time == right.time else { return left.time < right.time }
        return left.rank != right.rank ? left.rank < right.rank : left.beacon < right.beacon
    }
}

/// The beacons under conditions that are on their way in: when each is forgotten (rule P1), and who gives way first where
/// there is no room for one more (rule P2).
struct WayIn: Sendable {
    private var forgettings = RevisedHeap<ForgettingEntry>()
    /// How many are on their way in.
    private var count = 0
    // Made when there is no room for one more, and kept while the ranks stay.
    private var givingWay = RevisedHeap<GivingWayEntry>()
    private var isGivingWayKnown = false

    /// Counts a beacon that begins its way in.
    mutating func begin() { count += 1 }

    /// Counts a beacon that came in, or is forgotten; its entries go when they surface.
    mutating func end() { count -= 1 }

    /// Queues a beacon that began its way in and did not come in at once.
    /// - Returns: when it is forgotten unless it is seen again.
    mutating func queue(
        _ subject: SubjectIndex, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> Int64 {
        let entry = ForgettingEntry(time: Self.forgetting(subject, subjects, conditions), subject: subject)
        forgettings.insert(entry)
        forgettings.sweep(living: count) { subjects[$0.subject].exists && subjects[$0.subject].isOnTheWayIn }
        if isGivingWayKnown, !subjects[subject].isNamed {
            if givingWay.isCrowded(living: count) {
                forgetOrder()
            } else {
                givingWay.insert(Self.givingWayEntry(subject, subjects, conditions))
            }
        }
        return entry.time
    }

    // MARK: Who is forgotten

    /// When the next beacon is forgotten.
    mutating func nextForgetting(_ subjects: SubjectTable, _ conditions: ConditionTable) -> Int64? {
        least(subjects, conditions)?.time
    }

    /// Takes out a beacon that is forgotten at or before `time`.
    mutating func removeForgotten(
        at time: Int64, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> SubjectIndex? {
        guard let entry = least(subjects, conditions), entry.time <= time else { return nil }
        forgettings.removeLeast()
        return entry.subject
    }

    private mutating func least(_ subjects: SubjectTable, _ conditions: ConditionTable) -> ForgettingEntry? {
        forgettings.least {
            guard subjects[$0.subject].exists, subjects[$0.subject].isOnTheWayIn else { return nil }
            return ForgettingEntry(time: Self.forgetting($0.subject, subjects, conditions), subject: $0.subject)
        }
    }

    private static func forgetting(
        _ subject: SubjectIndex, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> Int64 {
        subjects[detailsOf: subject].progress.last + conditions[subjects[subject].condition].enterWindow
    }

    // MARK: Who gives way

    /// Takes out, of the beacons that have no name, the one seen longest ago, ties in rule T3's order; the conditions have
    /// their ranks.
    mutating func removeLeastRecent(_ subjects: SubjectTable, _ conditions: ConditionTable) -> SubjectIndex? {
        guard count > 0 else { return nil }
        if !isGivingWayKnown {
            givingWay = RevisedHeap(
                subjects.indices { $0.isStrangerOnTheWayIn }.map { Self.givingWayEntry($0, subjects, conditions) })
            isGivingWayKnown = true
        }
        let entry = givingWay.least {
            guard subjects[$0.subject].isStrangerOnTheWayIn else { return nil }
            let now = Self.givingWayEntry($0.subject, subjects, conditions)
            return now.beacon == $0.beacon && now.rank == $0.rank ? now : nil
        }
        guard let entry else { return nil }
        givingWay.removeLeast()
        return entry.subject
    }

    /// Forgets who gives way first, since names or ranks changed.
    mutating func forgetOrder() { isGivingWayKnown = false }

    private static func givingWayEntry(
        _ subject: SubjectIndex, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> GivingWayEntry {
        GivingWayEntry(
            time: subjects[detailsOf: subject].progress.last, rank: conditions[subjects[subject].condition].rank,
            beacon: subjects.beacon(of: subject, conditions), subject: subject)
    }
}
