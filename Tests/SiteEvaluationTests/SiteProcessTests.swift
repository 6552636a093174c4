import BeaconMonitoring
import BluetoothLE
import Foundation
import SiteBatch
import SiteLog
import SiteLogSupport
import TestSupport
import Testing

@testable import SiteEvaluation

@Suite struct SiteProcessTests {
    /// So many worlds, or the one whose seed is wanted.
    private static let worlds: ClosedRange<UInt64> = {
        if let seed = SeededGenerator.wanted { return seed...seed }
        return 1...(ProcessInfo.processInfo.environment["BEACON_SITE_WORLDS"].flatMap { UInt64($0) } ?? 12)
    }()

    /// The events of a world's log, as text.
    private func events(_ world: SiteWorld) -> [String] {
        world.log.allEvents.map { String(decoding: $0.octets, as: UTF8.self) }
    }

    private func texts(_ lines: [SiteLine]) -> [String] { lines.map { String(decoding: $0.octets, as: UTF8.self) } }

    @Test func `whatever goes wrong, a site publishes what one process makes of its log, each line once`() throws {
        var all = SiteProcessCounters()
        for seed in Self.worlds {
            let troubles = SiteWorld.Troubles(ofGateways: seed % 4 != 0, ofProcesses: true)
            var world = try SiteWorld(seed: seed, troubles)
            for second in 1...60 {
                // All change at the same offset.
                if seed % 3 == 0, second == 30 { try world.configure("exit 9") }
                if seed % 5 == 0, second == 40 { try world.configure("nonsense") }
                try world.pass()
            }
            for _ in 1...20 { try world.pass(isQuiet: true) }
            world.rest()
            let lines = try SiteWorld.lines(of: world.log.allBatches)
            let (events, expected) = (events(world), texts(lines))
            world.end()
            all.published += world.ended.published
            all.fenced += world.ended.fenced
            all.audited += world.ended.audited
            all.troubles += world.ended.troubles
            guard expected == events, !events.isEmpty, world.failures.isEmpty else {
                let place = zip(events, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
                Issue.record(
                    """
                    BEACON_SEED=\(seed): \(events.count) events of \(expected.count), at \(place ?? -1): \
                    \(place.map { events[$0] } ?? "") and not \(place.map { expected[$0] } ?? ""); \(world.failures)
                    """)
                return
            }
            #expect(lines.map(\.number) == Array(1...UInt64(lines.count)), "BEACON_SEED=\(seed)")
        }
        guard Self.worlds.count >= 12 else { return }
        // The worlds are such that everything happens.
        #expect(all.published > 300)
        #expect(all.audited > 2 * all.published)
        #expect(all.troubles > 40)
    }

    @Test func `where clocks are right and nothing is late, a site says what one engine says of the sightings`() throws
    {
        var count = 0
        for seed in Self.worlds {
            var world = try SiteWorld(seed: seed, SiteWorld.Troubles(), processes: 0)
            for _ in 1...60 { try world.pass() }
            let lines = texts(try SiteWorld.lines(of: world.log.allBatches))
            let direct = try DirectEngine.lines(of: world.batches, exit: world.exitTimeout)
            // The site has come to where all gateways are complete, and the engine has heard all.
            #expect(direct.starts(with: lines), "BEACON_SEED=\(seed)")
            #expect(!lines.isEmpty && direct.count - lines.count < 20, "BEACON_SEED=\(seed)")
            count += lines.count
        }
        // In some worlds few badges walk; in most there is something to say.
        #expect(Self.worlds.count < 12 || count > 20 * Self.worlds.count)
    }

    @Test func `a replica whose state differs in one sighting is caught at the first event that does, and stops`()
        throws
    {
        for seed in Self.worlds.prefix(10) {
            var world = try SiteWorld(seed: seed, SiteWorld.Troubles())
            for _ in 1...30 { try world.pass() }
            let place = try #require(world.members.indices.first { !world.members[$0].process.hasLease(at: world.now) })
            let badge = try #require(damage(&world.members[place].process.engine))
            // Until it leaves, or another event tells how often it was heard.
            var seconds = 0
            while world.members[place].process.failure == nil, seconds < 300 {
                try world.pass(isQuiet: true)
                seconds += 1
            }
            for _ in 1...3 { try world.pass(isQuiet: true) }
            let lines = texts(try SiteWorld.lines(of: world.log.allBatches))
            #expect(lines.starts(with: events(world)), "BEACON_SEED=\(seed)")
            guard case .differs(let event, let published, let own)? = world.members[place].process.failure else {
                Issue.record("BEACON_SEED=\(seed): it was not caught")
                continue
            }
            #expect(published == Array(lines[Int(event) - 1].utf8) && own != published, "BEACON_SEED=\(seed)")
            #expect(lines[Int(event) - 1].contains("\"minor\":\(badge)") || lines[Int(event) - 1].contains("condition"))
            #expect(
                "\(try #require(world.members[place].process.failure))".hasPrefix("event \(event) of the site is not"))
            #expect(world.members.filter { $0.process.failure == nil }.count == 2, "BEACON_SEED=\(seed)")
        }
    }

    /// Has an engine hear a badge that is there once more than it was heard.
    private func damage(_ engine: inout SiteEngine<WatchedSetup>) -> UInt16? {
        guard let badge = engine.engine?.presentBeacons.values.first?.first, let now = engine.engine?.now,
            let adapter = engine.engine?.knownAdapters.first
        else { return nil }
        var actions = ActionBuffer()
        let sighting = Sighting(time: now, adapter: adapter, beacon: badge, measuredPower: -59, rssi: nil)
        engine.engine?.sighted(sighting, into: &actions)
        return badge.minor
    }

    @Test func `who lost the lease and does not know is refused, and nothing is there twice`() throws {
        var fenced: UInt64 = 0
        for seed in Self.worlds.prefix(10) {
            var world = try SiteWorld(seed: seed, SiteWorld.Troubles(), processes: 1)
            let hiding = HidingLog(world.log.client())
            var zombie = SiteProcess(
                try LogName("zombie"), try SiteEngine(site: LogName("hall"), WatchedSetup()))
            // It has the lease before the other one has read all.
            world.members[0].stoppedUntil = 25
            for second in 1...45 {
                if second == 25 {
                    #expect(zombie.hasLease(at: world.now))
                    world.log.endLease()
                    hiding.isHiding = true
                }
                try world.pass()
                zombie.turn(hiding, at: world.now)
            }
            fenced += zombie.counters.fenced
            #expect(zombie.counters.published > 0 && !zombie.hasLease(at: world.now), "BEACON_SEED=\(seed)")
            #expect(world.members[0].process.failure == nil, "BEACON_SEED=\(seed)")
            for _ in 1...3 { try world.pass(isQuiet: true) }
            let lines = texts(try SiteWorld.lines(of: world.log.allBatches))
            #expect(lines.starts(with: events(world)) && lines.count - events(world).count < 20, "BEACON_SEED=\(seed)")
        }
        #expect(fenced > 0 || Self.worlds.count < 10)
    }

    @Test func `who comes when batches are gone says so, and publishes nothing`() throws {
        var world = try SiteWorld(seed: 1, SiteWorld.Troubles(), processes: 0)
        for _ in 1...20 { try world.pass() }
        world.log.drop(before: 10)
        let client = world.log.client()
        var process = SiteProcess(try LogName("late"), try SiteEngine(site: LogName("hall"), WatchedSetup()))
        for _ in 1...5 {
            try world.pass()
            process.turn(client, at: world.now)
        }
        #expect(process.failure == .batchesGone(wanted: 1, first: 10))
        #expect(process.nextDeadline == nil)
        #expect(events(world).isEmpty)
    }

    @Test func `messages that nobody can read, and another site's, are counted and change nothing`() throws {
        var world = try SiteWorld(seed: 2, SiteWorld.Troubles(), processes: 0)
        for _ in 1...40 { try world.pass() }
        let entries = world.log.allBatches
        var lines: [SiteLine] = []
        var engine = try SiteEngine(site: LogName("hall"), WatchedSetup())
        for entry in entries {
            engine.take(LogEntry(number: entry.number, stored: entry.stored, octets: [1, 2, 3]), into: &lines)
            engine.take(entry, into: &lines)
        }
        #expect(lines == (try SiteWorld.lines(of: entries)))
        #expect(engine.counters.unreadable == UInt64(entries.count))
        var other = try SiteEngine(site: LogName("yard"), WatchedSetup())
        lines = []
        for entry in entries { other.take(entry, into: &lines) }
        #expect(lines.isEmpty && other.counters.foreign == UInt64(entries.count - 1))
    }

    @Test func `a process that is woken when it asks to be goes on, and sleeps where there is nothing to do`() throws {
        var world = try SiteWorld(seed: 3, SiteWorld.Troubles(), processes: 0)
        let client = world.log.client()
        var process = SiteProcess(try LogName("woken"), try SiteEngine(site: LogName("hall"), WatchedSetup()))
        process.turn(client, at: world.now)
        var turns = 0
        for _ in 1...60 {
            try world.pass()
            while let due = [process.nextDeadline, client.nextDeadline].compactMap(\.self).min(), due <= world.now,
                turns < 3_000
            {
                process.turn(client, at: world.now)
                turns += 1
            }
        }
        #expect(turns < 60 * 12)
        let lines = texts(try SiteWorld.lines(of: world.log.allBatches))
        #expect(lines == events(world) && lines.count > 20)
        // Who publishes behind what he has not read back is refused.
        #expect(process.counters.fenced == 0 && process.counters.leases == 1)
        #expect(process.counters.published == UInt64(lines.count) && process.audited == UInt64(lines.count))
    }

    @Test func `who has left is said to have, although nobody is heard any more`() throws {
        var world = try SiteWorld(seed: 4, SiteWorld.Troubles(), processes: 0)
        for _ in 1...40 { try world.pass() }
        func states(_ state: String) throws -> Int {
            texts(try SiteWorld.lines(of: world.log.allBatches)).count {
                $0.contains("\"type\":\"event\"") && $0.contains("\"scope\":\"beacon\",\"state\":\"\(state)\"")
            }
        }
        #expect(try states("satisfied") > states("unsatisfied"))
        world.empty()
        for _ in 1...10 { try world.pass() }
        #expect(try states("satisfied") > 0)
        #expect(try states("satisfied") == states("unsatisfied"))
    }

    @Test func `P3: a visit counts what a thinned batch tells together`() throws {
        let (start, hall, lab) = (SiteWorld.start, try LogName("hall"), try LogName("lab"))
        var entries = [
            LogEntry(
                number: 1, stored: Instant(nanoseconds: start),
                octets: SiteMessage.configuration(Array("exit 5".utf8)).octets)
        ]
        for second in 1...40 as ClosedRange<Int64> {
            func moment(_ tenths: Int64) -> Instant { Instant(nanoseconds: (second * 10 + tenths) * 100_000_000) }
            let beacon = BeaconIdentity(uuid: WatchedSetup.uuid, major: 1, minor: 7)
            let advertiser = Batch.Advertiser(beacon, measuredPower: -59, address: nil)
            let between = try Batch.Run.Between(
                count: 3,
                strength: Batch.Run.Between.Strength(
                    count: 2, minimum: RSSI(dBm: -80), maximum: RSSI(dBm: -40), sum: -120))
            let first = Batch.Sighting(at: moment(1), adapter: 0, advertiser, rssi: RSSI(dBm: -60))
            let run = try Batch.Run(first: first, last: moment(6), rssi: RSSI(dBm: -60), between: between)
            let batch = try Batch(
                site: hall, key: BatchKey(gateway: lab, boot: 1, sequence: UInt64(second)),
                span: Batch.Span(
                    from: moment(0), completeTo: moment(10), cut: moment(10),
                    wall: Instant(nanoseconds: start + (second + 1) * 1_000_000_000), isStart: false, isThinned: true),
                adapters: [Batch.Adapter(name: "hci0", address: nil, isListening: true, reports: nil)],
                runs: second <= 2 ? [run] : [])
            entries.append(
                LogEntry(number: UInt64(second) + 1, stored: batch.span.wall, octets: SiteMessage.batch(batch).octets))
        }
        let visits = texts(try SiteWorld.lines(of: entries)).filter { $0.contains("\"type\":\"visit\"") }
        // The condition's, and the badge's: twice five sightings.
        #expect(visits.count == 2)
        for visit in visits {
            #expect(visit.contains("\"sightings\":10") && visit.contains("\"minimum\":-80"), "\(visit)")
        }
    }
}
