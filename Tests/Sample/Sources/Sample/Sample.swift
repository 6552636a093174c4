// A user of the libraries: an actor whose set of conditions changes while events flow.
//
// It counts on nothing lost, each event and stay delivered once and in order, as a second and plainer writing of the rules
// foresees them; and on nothing leaked: memory does not grow from one round of changes to the next. Time is passed in.

import BeaconMonitoring
import BluetoothLE
import Glibc

@main struct Sample {
    static let changes = 10_000
    /// One to warm up; the others must not need more memory than it did.
    static let rounds = 12
    /// What memory may differ by, in KiB: 100,000 changes that leaked six octets each would exceed it.
    static let slack = 512

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
        // From the second round on, so that what is made once has been made.
        let growth = resident[rounds - 1] - resident[1]
        print("memory after \((rounds - 2) * changes) more changes: \(growth) KiB more; at most \(slack)")
        exit(growth <= slack ? 0 : 1)
    }
}
