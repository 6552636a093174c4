import HeapModule

/// An entry of a heap for a value of a subject.
protocol SubjectEntry: Comparable, Sendable {
    /// The index of the subject. Another subject can have it after the value ended.
    var subject: SubjectIndex { get }
}

/// A heap whose entries can be outdated. The value behind an entry can only move back, and it is read again when the
/// entry reaches the front.
///
/// Therefore a value that changes with every report costs nothing until its entry reaches the front.
struct RevisedHeap<Entry: SubjectEntry>: Sendable {
    private var heap = Heap<Entry>()

    var count: Int { heap.count }

    /// All entries, including outdated ones, in no particular order.
    var entries: [Entry] { heap.unordered }

    init() {}

    init(_ entries: [Entry]) { heap = Heap(entries) }

    mutating func insert(_ entry: Entry) { heap.insert(entry) }

    /// Removes outdated entries, as ``sweep(_:)`` does, if there are too many entries for `living` values.
    mutating func sweep(living: Int, _ present: (Entry) -> Entry?) {
        if isCrowded(living: living) { sweep(present) }
    }

    /// Removes the entries of values that have ended, and all but one of each subject: if a subject has the index of an
    /// earlier one, the entries of both look current. `present` is that of ``least(_:)``, and updates the entries.
    mutating func sweep(_ present: (Entry) -> Entry?) {
        var subjects: Set<SubjectIndex> = []
        heap = Heap(heap.unordered.compactMap(present).filter { subjects.insert($0.subject).inserted })
    }

    /// Returns whether there are more than 2 × `living` + 64 entries.
    func isCrowded(living: Int) -> Bool { heap.count > 2 * living + 64 }

    /// Returns the least entry. Before that, it removes entries whose value has ended and updates those whose value has
    /// moved.
    ///
    /// - Parameter present: returns the current entry of a value; `nil` if the value has ended.
    /// - Returns: the current entry; `nil` if none is left.
    @inline(__always)
    mutating func least(_ present: (Entry) -> Entry?) -> Entry? {
        while let entry = heap.min {
            guard let now = present(entry) else {
                heap.removeMin()
                continue
            }
            guard entry < now else { return entry }
            heap.replaceMin(with: now)
        }
        return nil
    }

    /// Removes the entry that ``least(_:)`` returned. Call it only if that returned an entry.
    @discardableResult
    mutating func removeLeast() -> Entry { heap.removeMin() }
}
