import BluetoothLE

/// The time at which a beacon that has not entered is forgotten, when the entry was made (rule P1).
struct ForgettingEntry: SubjectEntry {
    let time: Int64
    let subject: SubjectIndex

    static func < (left: ForgettingEntry, right: ForgettingEntry) -> Bool { left.time < right.time }
}

/// The last qualifying sighting of a beacon that has not entered, when the entry was made. Equal times have the order
/// of rule T3 (rule P2).
private struct RemovalEntry: SubjectEntry {
    let time: Int64
    let rank: Int32
    let beacon: BeaconIdentity
    let subject: SubjectIndex

    static func < (left: RemovalEntry, right: RemovalEntry) -> Bool {
        guard left.time == right.time else { return left.time < right.time }
        return left.rank != right.rank ? left.rank < right.rank : left.beacon < right.beacon
    }
}

/// The beacons under conditions that have not entered yet: when each is forgotten (rule P1), and which one is removed
/// first if there is no room for another (rule P2).
struct EntryCandidates: Sendable {
    private(set) var forgettings = RevisedHeap<ForgettingEntry>()
    /// The number of these beacons.
    private var count = 0
    // Filled when there is no room for another beacon, and valid while the ranks stay the same.
    private var removals = RevisedHeap<RemovalEntry>()
    private var areRemovalsKnown = false

    /// Counts a beacon with its first qualifying sighting.
    mutating func begin() { count += 1 }

    /// Counts a beacon that entered or is forgotten. Its entries are removed when they reach the front.
    mutating func end() { count -= 1 }

    /// Queues a beacon that did not enter at its first sighting.
    /// - Returns: the time at which it is forgotten unless another sighting qualifies before.
    mutating func queue(
        _ subject: SubjectIndex, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> Int64 {
        let entry = ForgettingEntry(time: Self.forgetting(subject, subjects, conditions), subject: subject)
        forgettings.insert(entry)
        forgettings.sweep(living: count) { Self.present($0, subjects, conditions) }
        if areRemovalsKnown, !subjects[subject].isNamed {
            if removals.isCrowded(living: count) {
                forgetOrder()
            } else {
                removals.insert(Self.removalEntry(subject, subjects, conditions))
            }
        }
        return entry.time
    }

    // MARK: Forgetting

    /// Returns the time at which the next beacon is forgotten; `nil` if there is none.
    mutating func nextForgetting(_ subjects: SubjectTable, _ conditions: ConditionTable) -> Int64? {
        least(subjects, conditions)?.time
    }

    /// Removes and returns a beacon that is forgotten at or before `time`.
    mutating func removeForgotten(
        at time: Int64, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> SubjectIndex? {
        guard let entry = least(subjects, conditions), entry.time <= time else { return nil }
        forgettings.removeLeast()
        return entry.subject
    }

    private mutating func least(_ subjects: SubjectTable, _ conditions: ConditionTable) -> ForgettingEntry? {
        forgettings.least { Self.present($0, subjects, conditions) }
    }

    private static func present(
        _ entry: ForgettingEntry, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> ForgettingEntry? {
        guard subjects[entry.subject].exists, subjects[entry.subject].isCandidate else { return nil }
        return ForgettingEntry(time: forgetting(entry.subject, subjects, conditions), subject: entry.subject)
    }

    private static func forgetting(
        _ subject: SubjectIndex, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> Int64 {
        subjects[detailsOf: subject].progress.last + conditions[subjects[subject].condition].enterWindow
    }

    // MARK: Making room

    /// Removes and returns the beacon without a name whose last qualifying sighting is the oldest; equal times have the
    /// order of rule T3. The conditions must have their ranks.
    mutating func removeLeastRecent(_ subjects: SubjectTable, _ conditions: ConditionTable) -> SubjectIndex? {
        guard count > 0 else { return nil }
        if !areRemovalsKnown {
            removals = RevisedHeap(
                subjects.indices { $0.isUnnamedCandidate }.map { Self.removalEntry($0, subjects, conditions) })
            areRemovalsKnown = true
        }
        let entry = removals.least {
            guard subjects[$0.subject].isUnnamedCandidate else { return nil }
            let now = Self.removalEntry($0.subject, subjects, conditions)
            return now.beacon == $0.beacon && now.rank == $0.rank ? now : nil
        }
        guard let entry else { return nil }
        removals.removeLeast()
        return entry.subject
    }

    /// Discards the order, because names or ranks changed.
    mutating func forgetOrder() { areRemovalsKnown = false }

    private static func removalEntry(
        _ subject: SubjectIndex, _ subjects: SubjectTable, _ conditions: ConditionTable
    ) -> RemovalEntry {
        RemovalEntry(
            time: subjects[detailsOf: subject].progress.last, rank: conditions[subjects[subject].condition].rank,
            beacon: subjects.beacon(of: subject, conditions), subject: subject)
    }
}
