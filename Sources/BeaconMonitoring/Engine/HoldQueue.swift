/// A hold's place in its adapter's queue.
struct HoldEntry: Comparable, Sendable {
    /// When the hold runs out on the adapter's listening clock, as it was when the entry was made.
    let expiry: Int64
    let subject: SubjectIndex

    static func < (left: HoldEntry, right: HoldEntry) -> Bool { left.expiry < right.expiry }
}

/// The holds of one adapter, by when they run out on its listening clock.
///
/// A refresh moves only the hold itself; the entry that it left behind is put back when it surfaces. What a hold is now, the
/// subject knows: see ``Subject/hold(by:)``.
struct HoldQueue: Sendable {
    private var heap = RevisedHeap<HoldEntry>()
    /// How many holds the adapter has; there may be stale entries beside theirs.
    private(set) var count = 0

    /// Adds a hold that began.
    mutating func add(_ entry: HoldEntry, among subjects: SubjectTable, of adapter: AdapterIndex) {
        count += 1
        move(entry, among: subjects, of: adapter)
    }

    /// Adds an entry for a hold that is to run out earlier than its entry says.
    mutating func move(_ entry: HoldEntry, among subjects: SubjectTable, of adapter: AdapterIndex) {
        heap.insert(entry)
        heap.sweep(living: count) { subjects.isHeld($0, by: adapter) }
    }

    /// Notes that a hold ended; its entry goes when it surfaces.
    mutating func noteEnd() { count -= 1 }

    /// The subjects that are held.
    func subjects(among subjects: SubjectTable, of adapter: AdapterIndex) -> [SubjectIndex] {
        heap.entries.filter { subjects.isHeld($0, by: adapter) }.map(\.subject)
    }

    /// Drops the entries of what is not held any more.
    mutating func sweep(among subjects: SubjectTable, of adapter: AdapterIndex) {
        heap = RevisedHeap(heap.entries.filter { subjects.isHeld($0, by: adapter) })
    }

    /// The hold that runs out first, as it is now.
    ///
    /// - Parameter present: what an entry's hold has become; `nil` where it has ended.
    /// - Returns: its entry; `nil` where the adapter holds nothing.
    @inline(__always)
    mutating func earliest(_ present: (HoldEntry) -> HoldEntry?) -> HoldEntry? { heap.least(present) }

    /// Takes out the entry that ``earliest(_:)`` gave: its hold is about to be looked at.
    mutating func removeEarliest() -> HoldEntry { heap.removeLeast() }
}
