// A user of the libraries: an actor whose set of conditions changes while events flow.
//
// It counts on nothing lost, each event and stay delivered once and in order, as a second and plainer writing of the rules
// foresees them; and on nothing leaked: memory does not grow from one round of changes to the next. Time is passed in.

import BeaconMonitoring
import BluetoothLE
import Glibc

@main struct Sample {
    static let changes = 10_000
    static let rounds = 16
    /// After so many, the allocator's arenas have the size that they keep: from there on memory must not grow.
    static let warmUp = 6
    /// What memory may differ by, in KiB: 100,000 changes that leaked three octets each would exceed it.
    static let slack = 256

    static func main() async throws {
        let clock = HandClock()
        var random = SystemRandomNumberGenerator()
        let seed = CommandLine.arguments.dropFirst().first.flatMap { UInt64($0) } ?? random.next()
        print("seed \(seed)")
        var driver = Driver(seed: seed, clock: clock)
        var resident: [Int] = []
        for round in 1...rounds {
            let tally = try await driver.round(changes: changes)
            resident.append(Memory.resident())
            print(
                "round \(round): \(tally.changes) changes, \(tally.events) events and \(tally.visits) visits delivered,",
                "\(tally.owed) lost, \(resident[round - 1]) KiB resident")
            fflush(nil)
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
