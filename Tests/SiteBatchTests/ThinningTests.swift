import BeaconMonitoring
import BluetoothLE
import Foundation
import SiteBatch
import SiteLog
import TestSupport
import Testing

/// `BEACON_SITE_WORLDS` sets how many worlds, `BEACON_SEED` runs the one with that seed.
@Suite struct ThinningTests {
    private static var seeds: [UInt64] {
        if let seed = SeededGenerator.wanted { return [seed] }
        let count = ProcessInfo.processInfo.environment["BEACON_SITE_WORLDS"].flatMap { UInt64($0) } ?? 16
        return (0..<count).map { $0 }
    }

    @Test func `E1, E2, X1, X2, P3: batches, thinned and cut in several, decide what had been decided of all`() throws {
        // What there was to decide, and to leave out.
        var (visits, between, whole, several) = (0, 0, 0, 0)
        for seed in Self.seeds {
            // In every other much happens at once.
            let world = SiteWorld(seed: seed, areApart: seed % 2 == 0)
            let all = try world.batches(plan: nil)
            let thinned = try world.batches(plan: world.plan)
            let parts = try world.batches(plan: world.plan, octetsMax: 120)
            let decided = try SiteEngine.decisions(world, of: all)
            var others = ["thinned": thinned, "cut in several": try world.batches(plan: nil, octetsMax: 120)]
            others["thinned and cut in several"] = parts
            for (name, batches) in others {
                guard let difference = Self.difference(decided, try SiteEngine.decisions(world, of: batches)) else {
                    continue
                }
                Issue.record("seed \(seed), \(name): \(difference)")
                return
            }
            if seed % 2 == 0, let difference = Self.difference(try SiteEngine.decisions(world), decided) {
                Issue.record("seed \(seed), heard and sent: \(difference)")
                return
            }
            for batches in [all, thinned, parts] { try Self.checkListening(batches) }
            visits += decided.count { if case .visit = $0 { true } else { false } }
            between += thinned.reduce(0) { $0 + $1.batch.runs.reduce(0) { $0 + $1.between.count } }
            (whole, several) = (whole + all.count, several + parts.count)
        }
        // Worlds in which nothing is to be seen would show nothing.
        #expect(visits > 10 * Self.seeds.count, "\(visits)")
        #expect(between > 100 * Self.seeds.count, "\(between)")
        #expect(several > whole, "\(several) of \(whole)")
    }

    @Test func `who would only keep somebody is told one by one`() throws {
        var condition = ThinningPlan.Condition(uuid: advertiser(1).beacon.uuid)
        condition.enterRSSI = RSSI(dBm: -70)
        condition.exitRSSI = RSSI(dBm: -80)
        let strengths: [Int8] = [-60, -75, -90, -61, -76, -91, -62, -77, -92]
        let batch = try cut(strengths.map { RSSI(dBm: $0) }, by: ThinningPlan([condition]))
        #expect(batch.sightings.map(\.rssi?.dBm) == [-75, -76, -77])
        #expect(batch.runs.map(\.first.rssi?.dBm) == [-60, -90])
        #expect(batch.runs.map(\.between.count) == [1, 1])
        #expect(batch.runs.map(\.between.strength?.sum) == [-61, -91])
    }

    @Test func `no run goes over a change of its adapter`() throws {
        let settings = try BatchCutter.Settings(site: LogName("campus"), gateway: LogName("lobby"), boot: 1)
        var thinning = settings
        thinning.plan = ThinningPlan([])
        var cutter = BatchCutter(thinning, nextSequence: 1, start: at(0))
        let places = ["hci0", "hci1"].compactMap { cutter.adapter(named: $0, address: nil) }
        try #require(places.count == 2)
        for number in 0..<6 {
            for place in places {
                cutter.sighted(advertiser(1), rssi: nil, by: place, at: at(0.1 + Double(number) / 10))
            }
            if number == 2 { cutter.changed(.stopped(since: at(0.3)), places[1], at: at(0.35), reason: nil) }
        }
        let batch = try #require(cutter.cut(completeTo: at(1), now: at(1), wall: at(1)).first).batch
        #expect(batch.runs.map(\.first.adapter) == [0, 1, 1])
        #expect(batch.runs.map(\.between.count) == [4, 1, 1])
    }

    @Test(arguments: [0, 1, 2])
    func `what wants each sighting gets it`(reason: Int) throws {
        var condition = ThinningPlan.Condition(uuid: advertiser(1).beacon.uuid)
        switch reason {
        case 0: condition.enterCount = 2
        case 1: condition.exitTimeout = .milliseconds(999)
        default: condition.wantsAll = true
        }
        let all = try cut(Array(repeating: nil, count: 9), by: ThinningPlan([condition]))
        #expect((all.sightings.count, all.runs.count) == (9, 0))
        // What is not asked for at all is told together.
        let few = try cut(Array(repeating: nil, count: 9), by: ThinningPlan([]))
        #expect((few.sightings.count, few.runs.count) == (0, 1))
        #expect(few.runs.first?.between.strength == nil)
    }

    /// What stands in docs/site-format.md under “What it takes”.
    @Test func `ten sightings a second take less than half of what they take whole`() throws {
        var settings = try BatchCutter.Settings(site: LogName("campus"), gateway: LogName("lobby"), boot: 0xB007)
        settings.plan = ThinningPlan([ThinningPlan.Condition(uuid: advertiser(1).beacon.uuid)])
        var cutter = BatchCutter(settings, nextSequence: 1, start: at(4_000_000_000))
        let place = cutter.adapter(named: "hci0", address: DeviceAddress(0x00AA_0100_0002, kind: .public))
        let adapter = try #require(place)
        for number in 0..<500 {
            let address = DeviceAddress(0xC098_E500_0000 + UInt64(number % 50), kind: .random)
            cutter.sighted(
                advertiser(UInt16(number % 50), address: address), rssi: RSSI(dBm: -70), by: adapter,
                at: at(4_000_000_000 + Double(number) * 0.00198))
        }
        let end = at(4_000_000_001)
        #expect(cutter.cut(completeTo: end, now: end, wall: end).map(\.octets.count) == [1_458])
    }

    private func cut(_ strengths: [RSSI?], by plan: ThinningPlan) throws -> Batch {
        var settings = try BatchCutter.Settings(site: LogName("campus"), gateway: LogName("lobby"), boot: 1)
        settings.plan = plan
        var cutter = BatchCutter(settings, nextSequence: 1, start: at(0))
        let place = cutter.adapter(named: "hci0", address: nil)
        let adapter = try #require(place)
        for (number, rssi) in strengths.enumerated() {
            cutter.sighted(advertiser(1), rssi: rssi, by: adapter, at: at(0.1 + Double(number) / 100))
        }
        let cut = cutter.cut(completeTo: at(1), now: at(1), wall: at(1))
        return try #require(cut.first).batch
    }

    /// Each batch says who listens when it begins, as the ones before it came to; and begins where the one before ended.
    private static func checkListening(_ cuts: [CutBatch]) throws {
        var listening: [LogName: Set<String>] = [:]
        var ends: [LogName: Instant] = [:]
        for batch in cuts.map(\.batch) {
            let gateway = batch.key.gateway
            let said = Set(batch.adapters.filter(\.isListening).map(\.name))
            try #require(said == listening[gateway, default: []], "\(batch.key)")
            try #require(batch.span.from == ends[gateway] ?? SiteWorld.start, "\(batch.key)")
            for change in batch.changes {
                let name = batch.adapters[change.adapter].name
                if change.kind == .started {
                    listening[gateway, default: []].insert(name)
                } else {
                    listening[gateway, default: []].remove(name)
                }
            }
            ends[gateway] = batch.span.completeTo
        }
    }

    /// The first thing in which they differ.
    private static func difference(_ one: ContiguousArray<Action>, _ other: ContiguousArray<Action>) -> String? {
        guard one != other else { return nil }
        let place = zip(one, other).prefix { $0 == $1 }.count
        func text(_ actions: ContiguousArray<Action>) -> String {
            place < actions.count ? "\(actions[place])" : "nothing more"
        }
        return "after \(place): \(text(one))\nor: \(text(other))"
    }
}
