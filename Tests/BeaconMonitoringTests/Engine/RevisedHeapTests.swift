import Testing

@testable import BeaconMonitoring

@Suite struct RevisedHeapTests {
    /// An entry: the time and the name of a value. The tests look up the current time of a value by its name; a value
    /// that has ended has none.
    private struct Entry: Comparable {
        let time: Int
        let name: String

        static func < (left: Entry, right: Entry) -> Bool { left.time < right.time }
    }

    private func least(_ heap: inout RevisedHeap<Entry>, _ times: [String: Int]) -> Entry? {
        heap.least { entry in times[entry.name].map { Entry(time: $0, name: entry.name) } }
    }

    @Test func `an entry whose value moved back is updated, and an entry whose value ended is dropped`() {
        var heap = RevisedHeap([
            Entry(time: 1, name: "moved"), Entry(time: 2, name: "ended"), Entry(time: 3, name: "same"),
        ])
        #expect(least(&heap, ["moved": 5, "same": 3]) == Entry(time: 3, name: "same"))
        #expect(heap.count == 2)
        heap.removeLeast()
        #expect(least(&heap, ["moved": 5]) == Entry(time: 5, name: "moved"))
        #expect(least(&heap, [:]) == nil)
        #expect(heap.count == 0)
    }

    @Test func `an entry whose value did not move is returned unchanged each time`() {
        var heap = RevisedHeap([Entry(time: 1, name: "same")])
        for _ in 0..<3 { #expect(least(&heap, ["same": 1]) == Entry(time: 1, name: "same")) }
        #expect(heap.count == 1)
    }

    @Test
    func `outdated entries are removed if there are 67 entries for one living value, but not at 66`() {
        var heap = RevisedHeap<Entry>()
        for time in 0..<66 { heap.insert(Entry(time: time, name: "one")) }
        heap.sweep(living: 1) { $0.time == 65 }
        #expect(heap.count == 66)
        heap.insert(Entry(time: 66, name: "one"))
        heap.sweep(living: 1) { $0.time == 66 }
        #expect(heap.entries == [Entry(time: 66, name: "one")])
    }
}
