import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Processes that are killed at every call that changes something on the disk, in generated worlds.
///
/// `BEACON_RESTART_WORLDS` sets the number of worlds, `BEACON_SEED` the seed of the first.
@Suite struct RestartCrashTests {
    private static let stepsPerWorld = 45

    @Test func `N3, N4: killed at each write, fsync and rename, a gateway goes on as the rules say, in every world`()
        async throws
    {
        let count = environment("BEACON_RESTART_WORLDS", default: 4)
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

    /// - Returns: how many processes were killed.
    private static func check(_ seeds: some Sequence<UInt64>) async -> Int {
        var kills = 0
        for seed in seeds {
            let script = ScriptGenerator.script(seed: seed, steps: stepsPerWorld)
            var points: [Int] = []
            do {
                var world = RestartWorld(script)
                points = try world.run(killing: [])
            } catch {
                Issue.record("seed \(seed), not killed: \(error)")
                return kills
            }
            // Every call of a life that is not killed; of the second and third life one by chance.
            var random = SeededGenerator(state: seed)
            for call in 1...max(1, points[0]) {
                let kill: SimulatedDisk.Kill = random.chance(50) ? .power : .process
                let later = [random, random].indices.map { _ in
                    (1 + Int(random.next() % 60), random.chance(50) ? SimulatedDisk.Kill.power : .process)
                }
                var world = RestartWorld(script)
                do {
                    _ = try world.run(killing: [(call, kill)] + later)
                    kills += world.kills
                } catch {
                    Issue.record("seed \(seed), killed by \(kill) at call \(call), then \(later): \(error)")
                    return kills
                }
            }
        }
        return kills
    }
}
