import BluetoothLE
import Testing

@Suite struct MalformationCountsTests {
    @Test func `each kind is counted separately, listed in order, and added up`() {
        var counts = MalformationCounts()
        #expect(counts.occurred.isEmpty)
        for kind in Malformation.allCases.reversed() {
            for _ in 0...kind.rawValue { counts.count(kind) }
        }
        #expect(counts.occurred.map(\.kind) == Malformation.allCases)
        #expect(counts.occurred.map(\.count) == Malformation.allCases.map { $0.rawValue + 1 })
        var more = MalformationCounts()
        more.count(.badCRC)
        more.add(counts)
        #expect(more[.badCRC] == counts[.badCRC] + 1)
        #expect(more[.eventTruncated] == counts[.eventTruncated])
    }
}
