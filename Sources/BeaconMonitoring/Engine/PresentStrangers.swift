/// When a present beacon was last refreshed, as it was when the entry was made (rule P4).
private struct RefreshEntry: Comparable, Sendable {
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
        // The order wraps; no two of one time are half its range apart.
        return Int32(bitPattern: left.order &- right.order) < 0
    }
}

/// The beacons without a name that are present under conditions, by their last refresh: who goes first where a named one
/// needs room (rule P4).
struct PresentStrangers: Sendable {
    // Made when a named beacon needs room, and kept up while that may happen again.
    private var refreshes = RevisedHeap<RefreshEntry>()
    private var isKnown = false

    /// Notes that a beacon came in, where it is known who is present.
    mutating func insert(_ subject: SubjectIndex, _ subjects: SubjectTable) {
        guard isKnown, !subjects[subject].isNamed else { return }
        if refreshes.isCrowded(living: subjects.beaconCount) {
            forgetOrder()
        } else {
            refreshes.insert(RefreshEntry(subject, subjects))
        }
    }

    /// Takes out the one that was refreshed longest ago.
    mutating func removeLeastRecent(_ subjects: SubjectTable) -> SubjectIndex? {
        if !isKnown {
            refreshes = RevisedHeap(subjects.indices(where: \.isPresentStranger).map { RefreshEntry($0, subjects) })
            isKnown = true
        }
        let entry = refreshes.least {
            subjects[$0.subject].isPresentStranger ? RefreshEntry($0.subject, subjects) : nil
        }
        guard let entry else { return nil }
        refreshes.removeLeast()
        return entry.subject
    }

    /// Forgets who is present, since names changed, or somebody came in by another way than an entry.
    mutating func forgetOrder() {
        isKnown = false
        refreshes = RevisedHeap()
    }

    /// Of all beacons that are held, in the order in which they go where fewer may be held than are: those without a name
    /// first, each time the one that was refreshed longest ago.
    static func leavingOrder(_ subjects: SubjectTable) -> [SubjectIndex] {
        subjects.indices { $0.exists && $0.isBeacon }.sorted {
            subjects[$0].isNamed == subjects[$1].isNamed
                ? RefreshEntry($0, subjects) < RefreshEntry($1, subjects) : subjects[$1].isNamed
        }
    }
}
