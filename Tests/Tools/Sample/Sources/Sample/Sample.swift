// A user of the libraries: an actor whose set of conditions changes while events flow.
//
// It counts on nothing lost, each event and stay delivered once and in order, as a second and plainer writing of the rules
// foresees them; and on nothing leaked: memory does not grow from one round of changes to the next. Time is passed in.

import BaseTypes
import BeaconMonitoring
import BeaconMonitoringTesting
import BluetoothLE
import Glibc

@main struct Sample {
    static let changes = 10_000
    static let rounds = 50
    /// After so many, most of what the allocator keeps for threads has the size that it keeps.
    static let warmUp = 10
    /// What memory may differ by, in KiB: 400,000 changes that leaked three octets each would exceed it. Arenas alone, which
    /// grow by which thread happens to do what, have been seen to differ by half of it.
    static let slack = 1024

    static func main() async throws {
        let clock = HandClock()
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
                print("not as foreseen: \(surprise)")
                exit(1)
            }
            guard tally.owed == 0, tally.recordsAhead == 0 else {
                print("lost: \(tally.owed); records ahead of their events: \(tally.recordsAhead)")
                exit(1)
            }
        }
        let growth = resident[rounds - 1] - resident[warmUp - 1]
        print("memory after \((rounds - warmUp) * changes) more changes: \(growth) KiB more; at most \(slack)")
        exit(growth <= slack ? 0 : 1)
    }
}
