import HeapModule

/// A heap whose entries may be out of date: what an entry stands for only ever moves back, and is asked for again when the
/// entry surfaces.
///
/// So what moves with every report costs the heap nothing until it would have been its turn.
struct RevisedHeap<Entry: Comparable & Sendable>: Sendable {
    private var heap = Heap<Entry>()

    var count: Int { heap.count }

    /// The entries, in no order; stale ones among them.
    var entries: [Entry] { heap.unordered }

    init() {}

    init(_ entries: [Entry]) { heap = Heap(entries) }

    mutating func insert(_ entry: Entry) { heap.insert(entry) }

    /// Drops what `isAlive` denies where there are more entries than `living` and some can account for.
    mutating func sweep(living: Int, keeping isAlive: (Entry) -> Bool) {
        if isCrowded(living: living) { heap = Heap(heap.unordered.filter(isAlive)) }
    }

    /// Whether more entries are here than one that is up to date and one that is stale for each of those that live, and
    /// some.
    func isCrowded(living: Int) -> Bool { heap.count > 2 * living + 64 }

    /// The least entry, after those before it that ended are dropped and those that moved are put back.
    ///
    /// - Parameter present: what an entry has become; `nil` where what it stood for has ended.
    /// - Returns: the entry as it is now; `nil` where none is left.
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

    /// Takes out the entry that ``least(_:)`` gave, where it gave one.
    @discardableResult
    mutating func removeLeast() -> Entry { heap.removeMin() }
}
