import Testing

@testable import BeaconMonitoring

@Suite struct RevisedHeapTests {
    /// An entry: the time of a subject. The tests look up the current time of a subject; one that has ended has none.
    private struct Entry: SubjectEntry {
        let time: Int
        let subject: SubjectIndex

        init(_ time: Int, _ subject: SubjectIndex) { (self.time, self.subject) = (time, subject) }

        static func < (left: Entry, right: Entry) -> Bool { left.time < right.time }
    }

    private let moved = SubjectIndex(0)
    private let ended = SubjectIndex(1)
    private let same = SubjectIndex(2)

    private func least(_ heap: inout RevisedHeap<Entry>, _ times: [SubjectIndex: Int]) -> Entry? {
        heap.least { entry in times[entry.subject].map { Entry($0, entry.subject) } }
    }

    @Test func `an entry whose value moved back is updated, and an entry whose value ended is dropped`() {
        var heap = RevisedHeap([
            Entry(1, moved), Entry(2, ended), Entry(3, same),
        ])
        #expect(least(&heap, [moved: 5, same: 3]) == Entry(3, same))
        #expect(heap.count == 2)
        heap.removeLeast()
        #expect(least(&heap, [moved: 5]) == Entry(5, moved))
        #expect(least(&heap, [:]) == nil)
        #expect(heap.count == 0)
    }

    @Test func `an entry whose value did not move is returned unchanged each time`() {
        var heap = RevisedHeap([Entry(1, same)])
        for _ in 0..<3 { #expect(least(&heap, [same: 1]) == Entry(1, same)) }
        #expect(heap.count == 1)
    }

    @Test
    func `outdated entries are removed if there are 67 entries for one living value, but not at 66`() {
        var heap = RevisedHeap<Entry>()
        for time in 0..<66 { heap.insert(Entry(time, same)) }
        heap.sweep(living: 1) { $0.time == 65 ? $0 : nil }
        #expect(heap.count == 66)
        heap.insert(Entry(66, same))
        heap.sweep(living: 1) { $0.time == 66 ? $0 : nil }
        #expect(heap.entries == [Entry(66, same)])
    }

    @Test func `after the removal, each living value has one entry, which is current`() {
        var heap = RevisedHeap<Entry>()
        for time in 0..<69 { heap.insert(Entry(time, [moved, ended, same][time % 3])) }
        heap.sweep(living: 2) { $0.subject == ended ? nil : Entry($0.subject == moved ? 90 : 80, $0.subject) }
        #expect(heap.entries.sorted() == [Entry(80, same), Entry(90, moved)])
    }
}
