import BaseTypes
import SiteLogSupport
import SiteMonitoring
import SiteStorage
import TestSupport
import Testing

/// A gateway's process that is killed at each call of its that changes a file, alone and with the power.
@Suite struct KillTests {
    private static var settings: BatchQueue.Settings {
        var settings = BatchQueue.Settings()
        settings.fileOctetsMax = 600
        settings.keepAfter = .seconds(4)
        return settings
    }

    /// The log is away for a while, so that batches come to the disk, and comes back, so that they go from it.
    ///
    /// - Returns: the process, and what it had cut when all of it was last on the disk or acknowledged.
    private static func live(_ place: Sender.Place, _ files: DyingFiles) throws -> (Sender, durable: Int) {
        let sender = try Sender(place, settings, files: files)
        var durable = 0
        for second in 0..<32 where !files.isDead {
            place.log.isAway = (3..<25).contains(second)
            let kept = sender.queue.counts.kept
            sender.second(sightings: 2)
            // All that was in memory went to the disk, but for what was cut in this second's last quarter.
            if sender.queue.counts.kept > kept, !files.isDead { durable = sender.keys.count - 1 }
        }
        return (sender, durable)
    }

    @Test(arguments: [false, true])
    func `a process that is killed loses nothing that was kept, and no number comes twice`(withPower: Bool) throws {
        let whole = DyingFiles()
        _ = try Self.live(Sender.Place(), whole)
        #expect(whole.changes > 20)
        for calls in 1...whole.changes {
            let place = try Sender.Place()
            let files = DyingFiles()
            files.callsLeft = calls
            let (first, durable) = try Self.live(place, files)
            #expect(files.isDead)
            if withPower { try files.cutPower(in: place.directory) }
            place.log.isAway = false
            place.now = place.now + .seconds(2)
            let second = try Sender(place, Self.settings)
            second.seconds(5)
            second.drain()
            let stored = try place.stored
            let keys = Set(stored.map(\.key))
            #expect(keys.isSuperset(of: first.keys[..<durable]), "call \(calls)")
            #expect(keys.isSuperset(of: second.keys), "call \(calls)")
            #expect(keys.isSubset(of: Set(first.keys + second.keys)), "call \(calls)")
            #expect(keys.count == Set(stored).count, "call \(calls)")
            #expect(Set(first.keys).isDisjoint(with: second.keys), "call \(calls)")
            // What was lost is what its first batch says may have been.
            #expect(stored.last { $0.span.isStart }?.key == second.keys.first, "call \(calls)")
            #expect(second.queue.waiting == 0, "call \(calls)")
        }
    }
}
