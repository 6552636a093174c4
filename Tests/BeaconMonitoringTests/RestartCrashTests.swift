import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Kills processes at every call that changes something on the disk, in generated simulation runs.
///
/// `BEACON_RESTART_RUNS` sets the number of runs, `BEACON_SEED` the seed of the first.
@Suite struct RestartCrashTests {
    private static let stepsPerRun = 45

    @Test func `N3, N4: a gateway that is killed at any write, fsync or rename continues by the rules, in every run`()
        async throws
    {
        let count = environment("BEACON_RESTART_RUNS", default: 4)
        let seeds = SeededGenerator.seeds(count)
        let kills = await withTaskGroup(of: Int.self) { group in
            for half in 0..<2 as Range<UInt64> {
                group.addTask {
                    await Self.check(stride(from: seeds.lowerBound + half, through: seeds.upperBound, by: 2))
                }
            }
            return await group.reduce(0, +)
        }
        #expect(kills >= 125 * count)
    }

    /// - Returns: the number of killed processes.
    private static func check(_ seeds: some Sequence<UInt64>) async -> Int {
        var kills = 0
        for seed in seeds {
            let script = ScriptGenerator.script(seed: seed, steps: stepsPerRun)
            var points: [Int] = []
            do {
                var fixture = RestartFixture(script)
                points = try fixture.run(killing: [])
            } catch {
                Issue.record("seed \(seed), not killed: \(error)")
                return kills
            }
            // The first process is killed at each call that it makes if it is not killed. The second and the third
            // process are killed at a random call.
            var random = SeededGenerator(state: seed)
            for call in 1...max(1, points[0]) {
                let kill: SimulatedDisk.Kill = random.chance(50) ? .power : .process
                let later = [random, random].indices.map { _ in
                    (1 + Int(random.next() % 60), random.chance(50) ? SimulatedDisk.Kill.power : .process)
                }
                var fixture = RestartFixture(script)
                do {
                    _ = try fixture.run(killing: [(call, kill)] + later)
                    kills += fixture.kills
                } catch {
                    Issue.record("seed \(seed), killed by \(kill) at call \(call), then \(later): \(error)")
                    return kills
                }
            }
        }
        return kills
    }
}
