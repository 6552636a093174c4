import BaseTypes
import SiteLogSupport
import SiteMonitoring
import SiteStorage
import TestSupport
import Testing

/// A gateway's process that is killed at each of its calls that change a file, without and with a power cut.
@Suite struct KillTests {
    private static var settings: BatchQueue.Settings {
        var settings = BatchQueue.Settings()
        settings.fileBytesMax = 600
        settings.keepAfter = .seconds(4)
        return settings
    }

    /// Runs a gateway whose log is unreachable for a while, so that batches are written to the disk. Then it is
    /// reachable again, so that they are sent and deleted from the disk.
    ///
    /// - Returns: the process, and the number of its batches when all of them were last on the disk or acknowledged.
    private static func live(_ place: Sender.Place, _ files: DyingFiles) throws -> (Sender, durable: Int) {
        let sender = try Sender(place, settings, files: files)
        var durable = 0
        for second in 0..<32 where !files.isDead {
            place.log.isAway = (3..<25).contains(second)
            let kept = sender.queue.counts.kept
            sender.second(sightings: 2)
            // All batches in memory were written to the disk, except the one that was cut in the last quarter of this
            // second.
            if sender.queue.counts.kept > kept, !files.isDead { durable = sender.keys.count - 1 }
        }
        return (sender, durable)
    }

    @Test(arguments: [false, true])
    func `a killed process loses no batch that was stored, and no number is used twice`(withPower: Bool) throws {
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
            // Only batches before the first batch of the second process can be lost. That batch is marked as the first
            // of a process.
            #expect(stored.last { $0.span.isStart }?.key == second.keys.first, "call \(calls)")
            #expect(second.queue.waiting == 0, "call \(calls)")
        }
    }
}
