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
    private func add(_ name: String, to table: inout ConditionTable, ordinal: Int = 1) -> ConditionIndex {
        table.add(.anyA, ScriptGenerator.identifier(name), in: MonitorIndex(0), ConditionSettings(), ordinal: ordinal)
    }

    @Test func `C4: conditions are in the order of adding, also if one reuses a free index`() {
        var table = ConditionTable()
        let first = add("c", to: &table, ordinal: 1)
        let second = add("b", to: &table, ordinal: 2)
        table.remove(first)
        let last = add("a", to: &table, ordinal: 3)
        #expect(last == first)
        #expect(table.indices(ofOrdinals: [3, 1, 2]) == [second, last])
        #expect(table.inOrder.map { table[$0].identifier.text } == ["b", "a"])
        #expect(table.index(of: ScriptGenerator.identifier("c")) == nil)
        let others = (4...40).map { add("\($0)", to: &table, ordinal: $0) }
        #expect(table.indices(ofOrdinals: (4...40).reversed()) == others)
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
    /// Adds the next condition to a member.
    /// - Returns: its number, and whether it has a place.
    private func add(to limit: inout ConditionLimit, _ member: Int) -> (number: Int, hasPlace: Bool) {
        let number = limit.next()
        return (number, limit.enter(number, of: member))
    }

    @Test func `C4: a condition beyond the limit waits, and gets a place that becomes free`() {
        var limit = ConditionLimit()
        let engine = limit.join(2)
        #expect(add(to: &limit, engine) == (1, true) && add(to: &limit, engine) == (2, true))
        #expect(add(to: &limit, engine) == (3, false) && !limit.hasGrant(engine))
        _ = limit.remove(1, of: engine, isMonitored: true)
        #expect(limit.hasGrant(engine) == true)
        let promoted = limit.take(engine)
        #expect(promoted == [3] && !limit.hasGrant(engine))
        let none = limit.take(engine)
        #expect(none == [])
        // A condition that waits releases no place.
        #expect(add(to: &limit, engine) == (4, false))
        _ = limit.remove(4, of: engine, isMonitored: false)
        #expect(!limit.hasGrant(engine))
        _ = limit.remove(3, of: engine, isMonitored: true)
        #expect(add(to: &limit, engine) == (5, true))
    }

    @Test func `C4: if the limit is 0, each condition gets a place`() {
        var limit = ConditionLimit()
        let engine = limit.join(0)
        for number in 1...100 { #expect(add(to: &limit, engine) == (number, true)) }
    }

    @Test func `C4: a place is given again if its condition is removed before it is monitored`() {
        var limit = ConditionLimit()
        let (one, other) = (limit.join(1), limit.join(1))
        #expect(add(to: &limit, one) == (1, true))
        #expect(add(to: &limit, other) == (2, false) && add(to: &limit, one) == (3, false))
        _ = limit.remove(1, of: one, isMonitored: true)
        #expect(limit.hasGrant(other) && !limit.hasGrant(one))
        _ = limit.remove(2, of: other, isMonitored: false)
        #expect(limit.hasGrant(one) && !limit.hasGrant(other))
        // A member that leaves releases also such a place.
        #expect(add(to: &limit, other) == (4, false))
        _ = limit.leave(one)
        #expect(limit.hasGrant(other))
    }

    @Test func `C4: a condition that starts to need a place waits in the order of adding`() {
        var limit = ConditionLimit()
        let engine = limit.join(1)
        let circle = limit.next()
        #expect(add(to: &limit, engine) == (2, true) && add(to: &limit, engine) == (3, false))
        #expect(limit.enter(circle, of: engine) == false)
        _ = limit.remove(2, of: engine, isMonitored: true)
        let granted = limit.take(engine)
        #expect(granted == [circle])
    }

    @Test func `C4: a member that has left takes and releases no places`() {
        var limit = ConditionLimit()
        let (one, other) = (limit.join(1), limit.join(1))
        #expect(add(to: &limit, one) == (1, true))
        _ = limit.leave(one)
        #expect(add(to: &limit, one) == (2, false))
        #expect(add(to: &limit, other) == (3, true))
        _ = limit.remove(1, of: one, isMonitored: true)
        #expect(add(to: &limit, other) == (4, false))
    }

    @Test func `C4: a member of a shared limit releases its places with its last reference`() {
        let shared = SharedConditionLimit()
        let other = shared.join(1, waking: Signal())
        do {
            let member = shared.join(1, waking: Signal())
            #expect(member.use { $0.enter($0.next(), of: $1) } == true)
            #expect(other.use { $0.enter($0.next(), of: $1) } == false)
        }
        #expect(other.use { $0.hasGrant($1) } == true)
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
