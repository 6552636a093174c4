// A user of the libraries: an actor whose set of conditions changes while events are delivered.
//
// Time is simulated. The program checks the following:
// - Nothing is lost: each event and visit must be delivered once and in order. A second, simpler implementation of the
//   rules computes the expected ones.
// - An event must not be in its record before it is handled (rule N3).
// - Nothing leaks: memory after the last round must be at most `slack` larger than after round `warmUp`.

import BaseTypes
import BeaconMonitoring
import BeaconMonitoringTesting
import BluetoothLE
import Glibc

@main struct Sample {
    static let changes = 10_000
    static let rounds = 50
    /// The number of rounds after which most of the allocator's memory for threads has its final size.
    static let warmUp = 10
    /// The limit for the growth of memory, in KiB. If 400,000 changes leaked three bytes each, they would exceed it.
    /// The allocator's arenas grow depending on which thread does which work; this alone has caused differences of half
    /// the limit.
    static let slack = 1024

    static func main() async throws {
        let clock = ManualClock()
        let seed = CommandLine.arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1
        print("seed \(seed)")
        var driver = Driver(seed: seed, clock: clock)
        var resident: [Int] = []
        var total = 0
        for round in 1...rounds {
            let tally = try await driver.round(changes: changes)
            resident.append(Memory.resident())
            total += tally.changes
            if round == warmUp || round.isMultiple(of: 10) || tally.surprise != nil {
                print(
                    "round \(round): \(total) changes, \(tally.events) events and \(tally.visits) visits in the last",
                    "\(tally.changes), \(tally.owed) lost, \(resident[round - 1]) KiB resident")
                fflush(nil)
            }
            if let surprise = tally.surprise {
                print("unexpected: \(surprise)")
                exit(1)
            }
            guard tally.owed == 0, tally.recordsAhead == 0 else {
                print("lost: \(tally.owed); events in their records too early: \(tally.recordsAhead)")
                exit(1)
            }
        }
        let growth = resident[rounds - 1] - resident[warmUp - 1]
        print("memory after \((rounds - warmUp) * changes) more changes: \(growth) KiB more; the limit is \(slack)")
        exit(growth <= slack ? 0 : 1)
    }
}
