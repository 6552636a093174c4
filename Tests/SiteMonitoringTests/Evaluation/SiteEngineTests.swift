import Foundation
import SiteLogSupport
import SiteMonitoring
import TestSupport
import Testing

@Suite struct SiteEngineTests {
    private static let seeds = SeededGenerator.seeds(environment("BEACON_SITE_ENGINE_RUNS", default: 12))

    private func texts(_ lines: [SiteLine]) -> [String] { lines.map { String(decoding: $0.bytes, as: UTF8.self) } }

    @Test func `the same log gives the same numbered lines, also if a copy of the engine continues`() throws {
        var (count, repeats, late) = (0, UInt64(0), UInt64(0))
        for seed in Self.seeds {
            var fixture = try SiteSimulation(seed: seed, hasFaults: seed % 4 != 0)
            for second in 1...80 {
                if seed % 3 == 0, second == 30 { try fixture.configure("exit 9") }
                if seed % 5 == 0, second == 40 { try fixture.configure("nonsense") }
                try fixture.pass()
            }
            let entries = fixture.log.allBatches
            let expected = try SiteSimulation.lines(of: entries)
            var lines: [SiteLine] = []
            var engine = try SiteEngine(site: LogName("hall"), WatchedSetup())
            for (index, entry) in entries.enumerated() {
                if index % 50 == 25 {
                    // The copy is independent of everything that the original takes from now on.
                    let copy = engine
                    var discarded: [SiteLine] = []
                    for entry in entries[index...].prefix(10) { engine.take(entry, into: &discarded) }
                    engine = copy
                }
                engine.take(entry, into: &lines)
            }
            #expect(lines == expected && engine.lastLine == UInt64(lines.count), "BEACON_SEED=\(seed)")
            #expect(lines.map(\.number) == (0..<lines.count).map { UInt64($0) + 1 }, "BEACON_SEED=\(seed)")
            #expect(engine.counters.refusedConfigurations == (seed % 5 == 0 ? 1 : 0), "BEACON_SEED=\(seed)")
            count += lines.count
            repeats += engine.order.counters.repeatedBatches
            late += engine.order.counters.lateSightings
        }
        // Without lines, repeated batches or late sightings, the runs would show nothing.
        #expect(Self.seeds.count < 12 || (count > 20 * Self.seeds.count && repeats > 0 && late > 0))
    }

    @Test func `if clocks are right and nothing is late, a site's lines equal those of one engine`() throws {
        var count = 0
        for seed in Self.seeds {
            var fixture = try SiteSimulation(seed: seed)
            for _ in 1...60 { try fixture.pass() }
            let lines = texts(try SiteSimulation.lines(of: fixture.log.allBatches))
            let direct = try DirectEngine.lines(of: fixture.batches, exit: fixture.exitTimeout)
            // The lines of the site end at the time to which all gateways are complete. The single engine has received
            // everything.
            #expect(direct.starts(with: lines), "BEACON_SEED=\(seed)")
            #expect(!lines.isEmpty && direct.count - lines.count < 20, "BEACON_SEED=\(seed)")
            count += lines.count
        }
        // In some runs few badges move, but most runs must have lines.
        #expect(Self.seeds.count < 12 || count > 20 * Self.seeds.count)
    }

    @Test func `unreadable messages, and those of another site, are counted and change nothing`() throws {
        var fixture = try SiteSimulation(seed: 2)
        for _ in 1...40 { try fixture.pass() }
        let entries = fixture.log.allBatches
        var lines: [SiteLine] = []
        var engine = try SiteEngine(site: LogName("hall"), WatchedSetup())
        for entry in entries {
            engine.take(LogEntry(number: entry.number, stored: entry.stored, bytes: [1, 2, 3]), into: &lines)
            engine.take(entry, into: &lines)
        }
        #expect(lines == (try SiteSimulation.lines(of: entries)))
        #expect(engine.counters.unreadable == UInt64(entries.count))
        var other = try SiteEngine(site: LogName("yard"), WatchedSetup())
        lines = []
        for entry in entries { other.take(entry, into: &lines) }
        #expect(lines.isEmpty && other.counters.foreign == UInt64(entries.count - 1))
    }

    @Test func `badges exit although no gateway receives any badge any more`() throws {
        var fixture = try SiteSimulation(seed: 4)
        for _ in 1...40 { try fixture.pass() }
        func states(_ state: String) throws -> Int {
            texts(try SiteSimulation.lines(of: fixture.log.allBatches)).count {
                $0.contains("\"type\":\"event\"") && $0.contains("\"scope\":\"beacon\",\"state\":\"\(state)\"")
            }
        }
        #expect(try states("satisfied") > states("unsatisfied"))
        fixture.empty()
        for _ in 1...10 { try fixture.pass() }
        #expect(try states("satisfied") > 0)
        #expect(try states("satisfied") == states("unsatisfied"))
    }
}
