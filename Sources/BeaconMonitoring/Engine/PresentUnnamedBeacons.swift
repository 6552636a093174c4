/// The last refresh of a present beacon when the entry was made (rule P4).
private struct RefreshEntry: SubjectEntry {
    let time: Int64
    let order: UInt32
    let subject: SubjectIndex

    init(_ subject: SubjectIndex, _ subjects: SubjectTable) {
        self.subject = subject
        time = subjects[subject].last.time
        order = subjects[subject].order
    }

    static func < (left: RefreshEntry, right: RefreshEntry) -> Bool {
        guard left.time == right.time else { return left.time < right.time }
        // The order wraps. Entries with the same time are never half of its range apart.
        return Int32(bitPattern: left.order &- right.order) < 0
    }
}

/// The present beacons without names, ordered by their last refresh. They leave in this order if a beacon with a name
/// needs room (rule P4).
struct PresentUnnamedBeacons: Sendable {
    // Filled when a beacon with a name needs room, and updated while that may happen again.
    private var refreshes = RevisedHeap<RefreshEntry>()
    private var isKnown = false

    /// Adds a beacon that has entered, if the heap is filled.
    mutating func insert(_ subject: SubjectIndex, _ subjects: SubjectTable) {
        guard isKnown, !subjects[subject].isNamed else { return }
        if refreshes.isCrowded(living: subjects.beaconCount) {
            forgetOrder()
        } else {
            refreshes.insert(RefreshEntry(subject, subjects))
        }
    }

    /// Removes and returns the beacon with the oldest refresh; `nil` if there is none.
    mutating func removeLeastRecent(_ subjects: SubjectTable) -> SubjectIndex? {
        if !isKnown {
            refreshes = RevisedHeap(subjects.indices(where: \.isPresentUnnamed).map { RefreshEntry($0, subjects) })
            isKnown = true
        }
        let entry = refreshes.least {
            subjects[$0.subject].isPresentUnnamed ? RefreshEntry($0.subject, subjects) : nil
        }
        guard let entry else { return nil }
        refreshes.removeLeast()
        return entry.subject
    }

    /// Empties the heap, because names changed or a beacon was added without an entry.
    mutating func forgetOrder() {
        isKnown = false
        refreshes = RevisedHeap()
    }

    /// Returns all beacons in the order in which they must be removed if the limit decreases: first those without
    /// names, each group starting with the oldest refresh.
    static func leavingOrder(_ subjects: SubjectTable) -> [SubjectIndex] {
        subjects.indices { $0.exists && $0.isBeacon }.sorted {
            subjects[$0].isNamed == subjects[$1].isNamed
                ? RefreshEntry($0, subjects) < RefreshEntry($1, subjects) : subjects[$1].isNamed
        }
    }
}
