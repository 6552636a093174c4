/// An entry for a hold in the queue of its adapter.
struct HoldEntry: SubjectEntry {
    /// The expiry of the hold on the scanning clock of the adapter, when the entry was made.
    let expiry: Int64
    let subject: SubjectIndex

    static func < (left: HoldEntry, right: HoldEntry) -> Bool { left.expiry < right.expiry }
}

/// The holds of one adapter, ordered by their expiry on its scanning clock.
///
/// A refresh changes only the hold, not the queue. When an entry reaches the front, it is compared with its hold and
/// put back if the hold expires later. The subject has the current hold: see ``Subject/hold(by:)``.
struct HoldQueue: Sendable {
    private var heap = RevisedHeap<HoldEntry>()
    /// The number of holds of the adapter. The queue can have additional outdated entries.
    private(set) var count = 0

    /// Adds a new hold.
    mutating func add(_ entry: HoldEntry, among subjects: SubjectTable, of adapter: AdapterIndex) {
        count += 1
        move(entry, among: subjects, of: adapter)
    }

    /// Adds an entry for a hold that now expires earlier than its entry says.
    mutating func move(_ entry: HoldEntry, among subjects: SubjectTable, of adapter: AdapterIndex) {
        heap.insert(entry)
        heap.sweep(living: count) { subjects.isHeld($0, by: adapter) ? $0 : nil }
    }

    /// Records that a hold ended. Its entry is removed when it reaches the front.
    mutating func noteEnd() { count -= 1 }

    /// Returns the subjects that the adapter holds.
    func subjects(among subjects: SubjectTable, of adapter: AdapterIndex) -> [SubjectIndex] {
        heap.entries.filter { subjects.isHeld($0, by: adapter) }.map(\.subject)
    }

    /// Removes the entries of holds that have ended.
    mutating func sweep(among subjects: SubjectTable, of adapter: AdapterIndex) {
        heap.sweep { subjects.isHeld($0, by: adapter) ? $0 : nil }
    }

    /// Returns the entry of the hold that expires first, with its current expiry.
    ///
    /// - Parameter present: returns the current entry of a hold; `nil` if the hold has ended.
    /// - Returns: the entry; `nil` if the adapter holds nothing.
    @inline(__always)
    mutating func earliest(_ present: (HoldEntry) -> HoldEntry?) -> HoldEntry? { heap.least(present) }

    /// Removes the entry that ``earliest(_:)`` returned. The caller must check its hold afterwards.
    mutating func removeEarliest() -> HoldEntry { heap.removeLeast() }
}
