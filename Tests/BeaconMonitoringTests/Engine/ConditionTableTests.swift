import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct ConditionLookupTests {
    private typealias Identity = BeaconMonitor.BeaconIdentityCondition

    private func found(_ lookup: ConditionLookup, _ beacon: BeaconIdentity) -> Set<Int> {
        var found: [ConditionIndex] = []
        lookup.find(beacon, hash: lookup.hash(beacon.uuid), into: &found)
        #expect(Set(found).count == found.count)
        return Set(found.map(\.offset))
    }

    @Test func `conditions on a UUID, on a UUID and major, and on all three numbers are found for a beacon`() {
        var lookup = ConditionLookup()
        lookup.insert(ConditionIndex(0), on: Identity(uuid: .a))
        lookup.insert(ConditionIndex(1), on: Identity(uuid: .a, major: 1))
        lookup.insert(ConditionIndex(2), on: Identity(uuid: .a, major: 1, minor: 7))
        lookup.insert(ConditionIndex(3), on: Identity(uuid: .a, major: 1, minor: 7))
        lookup.insert(ConditionIndex(4), on: Identity(uuid: .b))
        #expect(found(lookup, .a(7)) == [0, 1, 2, 3])
        #expect(found(lookup, .a(8)) == [0, 1])
        #expect(found(lookup, .a(7, major: 2)) == [0])
        #expect(found(lookup, BeaconIdentity(uuid: .b, major: 1, minor: 7)) == [4])
    }

    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func `conditions with one identity can be removed in any order, and the others are still found`(order: [Int]) {
        for identity in [
            Identity(uuid: .a), Identity(uuid: .a, major: 1), Identity(uuid: .a, major: 1, minor: 7),
        ] {
            var lookup = ConditionLookup()
            for number in 0..<3 { lookup.insert(ConditionIndex(number), on: identity) }
            var left: Set = [0, 1, 2]
            for number in order {
                lookup.remove(ConditionIndex(number), on: identity)
                left.remove(number)
                #expect(found(lookup, .a(7)) == left)
            }
            // The freed entries of the table can be used for another UUID.
            lookup.insert(ConditionIndex(1), on: Identity(uuid: .b))
            #expect(found(lookup, .a(7)) == [])
            #expect(found(lookup, BeaconIdentity(uuid: .b, major: 0, minor: 0)) == [1])
        }
    }

    @Test func `cached results are discarded when a condition is added or removed`() {
        var lookup = ConditionLookup()
        func remember() {
            var entry = MatchCache.Entry()
            entry.count = 1
            entry.subjects[0] = SubjectIndex(4)
            lookup.remember(entry, for: .a(7), hash: lookup.hash(.a))
        }
        let number = UInt32(7) << 16 | 1
        remember()
        let place = lookup.remembered(.a, number, hash: lookup.hash(.a))
        #expect(place >= 0 && lookup.cache.entries[max(place, 0)].subjects[0] == SubjectIndex(4))
        lookup.insert(ConditionIndex(0), on: Identity(uuid: .b))
        #expect(lookup.remembered(.a, number, hash: lookup.hash(.a)) < 0)
        remember()
        #expect(lookup.remembered(.a, number, hash: lookup.hash(.a)) >= 0)
        lookup.remove(ConditionIndex(0), on: Identity(uuid: .b))
        #expect(lookup.remembered(.a, number, hash: lookup.hash(.a)) < 0)
    }
}

@Suite struct ConditionTableTests {
    private func add(_ name: String, to table: inout ConditionTable) -> ConditionIndex {
        table.add(.anyA, ScriptGenerator.identifier(name), in: MonitorIndex(0), ConditionSettings())
    }

    @Test func `C4: conditions are in the order of adding, also if one reuses a free index`() {
        var table = ConditionTable()
        let first = add("c", to: &table)
        _ = add("b", to: &table)
        table.remove(first)
        let last = add("a", to: &table)
        #expect(last == first)
        #expect(table.inOrder.map { table[$0].identifier.text } == ["b", "a"])
        #expect(table.index(of: ScriptGenerator.identifier("c")) == nil)
    }

    @Test func `T3: identifiers are ordered by their bytes, with ranks and without`() {
        var table = ConditionTable()
        let (z, a, capital) = (add("z", to: &table), add("a", to: &table), add("Z", to: &table))
        for _ in 0..<2 {
            #expect(table.precedes(capital, a) && table.precedes(a, z) && !table.precedes(z, capital))
            table.makeRanks()
        }
        #expect(table.makeRanks() == false)
        let between = add("b", to: &table)
        #expect(table.precedes(a, between) && table.precedes(between, z))
        let changed = table.makeRanks()
        #expect(changed)
        #expect(table.precedes(a, between) && table.precedes(between, z))
    }

    @Test func `the conditions of a beacon are not cached if they are too many, or if one has per_beacon`() {
        var table = ConditionTable()
        var conditions: [ConditionIndex] = []
        for number in 0...MatchCache.conditionsMax {
            conditions.append(add("c\(number)", to: &table))
            table.begin(conditions[number], as: SubjectIndex(number))
        }
        #expect(table.remember(conditions, for: .a(1), hash: table.lookup.hash(.a)) == false)
        #expect(table.remember(Array(conditions.dropLast()), for: .a(1), hash: table.lookup.hash(.a)) == true)
        var settings = ConditionSettings()
        settings.perBeacon = true
        table.set(conditions[0], settings)
        #expect(table.remember([conditions[0]], for: .a(1), hash: table.lookup.hash(.a)) == false)
    }
}

@Suite struct ConditionLimitTests {
    @Test func `C4: a condition beyond the limit waits, and gets a place that becomes free`() {
        var limit = ConditionLimit(2)
        #expect(limit.enter() && limit.enter() && !limit.enter())
        #expect(limit.waiting == 1)
        limit.remove(hadPlace: true)
        limit.promote()
        #expect(limit.waiting == 0)
        #expect(limit.enter() == false)
        limit.remove(hadPlace: false)
        #expect(limit.waiting == 0)
    }

    @Test func `C4: if the limit is 0, each condition gets a place`() {
        var limit = ConditionLimit(0)
        for _ in 0..<100 { #expect(limit.enter() == true) }
        #expect(limit.waiting == 0)
    }
}

@Suite struct TrackingEpisodesTests {
    private let one = ConditionIndex(0)
    private let other = ConditionIndex(70)
    private let minute: Int64 = 60_000_000_000

    @Test func `P2: the limit is reported once for each condition and episode`() {
        var episodes = TrackingEpisodes()
        #expect(episodes.overflow(other) && !episodes.overflow(other) && episodes.overflow(one))
        #expect(episodes.concern(one) && episodes.isOverflowing && episodes.areUnderWay(at: 0))
        episodes.endOverflow()
        #expect(!episodes.concern(one) && !episodes.isOverflowing && !episodes.areUnderWay(at: 0))
        #expect(episodes.overflow(other) == true)
    }

    @Test func `P5: the episode ends at the first event that is at least 60 s after the last refusal`() {
        var episodes = TrackingEpisodes()
        #expect(episodes.refuse(one, at: 0) && !episodes.refuse(one, at: 5))
        episodes.endRefusing(at: minute + 4)
        #expect(episodes.concern(one) && episodes.areUnderWay(at: minute + 4))
        #expect(!episodes.areUnderWay(at: minute + 5))
        #expect(episodes.concern(one))
        episodes.endRefusing(at: minute + 5)
        #expect(!episodes.concern(one))
    }

    @Test func `the episodes of a condition end when it is removed`() {
        var episodes = TrackingEpisodes()
        #expect(episodes.overflow(one) && episodes.refuse(one, at: 0))
        episodes.forget(one)
        episodes.forget(other)
        #expect(!episodes.concern(one) && !episodes.isOverflowing && !episodes.areUnderWay(at: 0))
    }
}
