import EventLog
import SiteLogSupport
import SiteMonitoring
import SiteStorage
import SystemPackage
import TestSupport
import Testing

@Suite struct QueueTests {
    @Test func `what is acknowledged never comes to the disk`() throws {
        let files = DyingFiles()
        let sender = try Sender(Sender.Place(), files: files)
        sender.seconds(60)
        #expect(sender.queue.counts.acknowledged == 60)
        #expect(sender.queue.waiting == 0)
        #expect(files.changes == 0)
        #expect(try sender.place.stored.map(\.key) == sender.keys)
    }

    @Test func `what is not acknowledged after 10 s is on the disk, and a card is not written every second`() throws {
        let files = DyingFiles()
        let sender = try Sender(Sender.Place(), files: files)
        sender.place.log.isAway = true
        sender.seconds(10)
        #expect(files.changes == 0)
        sender.second()
        // With the one that was cut at that very moment.
        #expect(sender.queue.counts.kept == 11)
        let changes = files.changes
        // A file is made: made, its head written, its name on the disk; then the batches are written, and on the disk.
        #expect(changes == 5)
        sender.seconds(100)
        #expect(files.changes <= changes + 2 * 10)
        #expect(sender.queue.counts.kept >= 100)
        sender.place.log.isAway = false
        sender.drain()
        #expect(try sender.place.stored.map(\.key) == sender.keys)
        #expect(sender.queue.counts.dropped == 0)
        #expect(sender.queue.logTrouble == nil)
        // One file stays, to be written in.
        #expect(try sender.place.files.count <= 1)
    }

    @Test(arguments: [MemoryLogFault.answerLost, .lost, .slow(.seconds(20)), .storedTwice, .inverted, .unavailable])
    func `a batch is sent again under its key, and each is there`(fault: MemoryLogFault) throws {
        let sender = try Sender(Sender.Place())
        sender.seconds(3)
        sender.client.script(fault, for: .append)
        sender.seconds(3)
        sender.client.script(fault, for: .append)
        sender.client.script(fault, for: .append)
        sender.seconds(20)
        sender.drain()
        #expect(Set(try sender.place.stored.map(\.key)) == Set(sender.keys))
        #expect(sender.queue.counts.acknowledged == UInt64(sender.keys.count))
        #expect(sender.queue.waiting == 0)
        switch fault {
        case .storedTwice, .inverted: #expect(sender.queue.counts.repeated == 0)
        default: #expect(sender.queue.counts.repeated >= 3)
        }
    }

    @Test func `where more waits than may, the oldest go, are counted, and their numbers are missing`() throws {
        var settings = BatchQueue.Settings()
        settings.octetsMax = 20_000
        settings.fileOctetsMax = 4_000
        let sender = try Sender(Sender.Place(), settings)
        sender.seconds(5)
        sender.place.log.isAway = true
        sender.seconds(300)
        #expect(sender.queue.octets <= 20_000)
        let dropped = Int(sender.queue.counts.dropped)
        #expect(dropped > 100)
        sender.place.log.isAway = false
        sender.drain()
        #expect(Int(sender.queue.counts.dropped) == dropped)
        // What is missing is what came first.
        #expect(try sender.place.stored.map(\.key) == Array(sender.keys[..<5] + sender.keys[(5 + dropped)...]))
    }

    @Test func `more than the memory may have goes to the disk before its time`() throws {
        var settings = BatchQueue.Settings()
        settings.memoryOctetsMax = 1_500
        let sender = try Sender(Sender.Place(), settings)
        sender.place.log.isAway = true
        sender.seconds(9)
        #expect(sender.queue.counts.kept > 3)
        #expect(sender.queue.counts.dropped == 0)
        sender.place.log.isAway = false
        sender.drain()
        #expect(try sender.place.stored.map(\.key) == sender.keys)
    }

    @Test func `a disk that is full takes nothing, and sending goes on`() throws {
        let files = DyingFiles()
        var settings = BatchQueue.Settings()
        settings.memoryOctetsMax = 6_000
        let sender = try Sender(Sender.Place(), settings, files: files)
        files.failure = .noSpace
        sender.place.log.isAway = true
        sender.seconds(60)
        #expect(sender.queue.diskTrouble == .noSpace)
        #expect(sender.queue.octets <= 6_000)
        #expect(sender.queue.counts.dropped > 0)
        files.failure = nil
        sender.seconds(12)
        #expect(sender.queue.diskTrouble == nil)
        let dropped = Int(sender.queue.counts.dropped)
        sender.place.log.isAway = false
        sender.drain()
        #expect(try sender.place.stored.map(\.key) == Array(sender.keys[dropped...]))
    }

    @Test func `a process that ends in order leaves nothing out, and the next goes on`() throws {
        let place = try Sender.Place()
        let first = try Sender(place)
        first.seconds(3)
        place.log.isAway = true
        first.seconds(4)
        #expect(first.close())
        place.log.isAway = false
        let second = try Sender(place)
        #expect(second.queue.waiting == 4)
        second.seconds(3)
        second.drain()
        #expect(try place.stored.map(\.key) == first.keys + second.keys)
        #expect(try #require(second.keys.first).sequence > #require(first.keys.last).sequence)
        #expect(try place.stored.filter(\.span.isStart).count == 2)
    }

    @Test func `a batch that the log will never take goes, and no other waits for it`() throws {
        let sender = try Sender(Sender.Place())
        sender.second()
        // More than 512 KiB, which are cut in two.
        sender.second(sightings: 60_000)
        sender.seconds(2)
        sender.drain()
        #expect(sender.queue.waiting == 0)
        #expect(sender.queue.counts.refused == 0)
        #expect(Set(try sender.place.stored.map(\.key)) == Set(sender.keys))

        // And where a log takes less than a gateway thinks.
        var limits = LogLimits()
        limits.batchOctetsMax = 300
        let log = MemoryLog(limits)
        let (site, gateway) = (try LogName("campus"), try LogName("lobby"))
        let place = try Sender.Place()
        var queue = BatchQueue(
            BatchQueue.Settings(), in: place.directory, site: site, gateway: gateway, log: log.client(), at: place.now)
        for batch in [sender.cut[0], sender.cut[1]] { queue.add(batch, at: place.now) }
        queue.turn(at: place.now)
        #expect(queue.counts.refused == 1)
        #expect(queue.counts.acknowledged == 1)
        #expect(queue.waiting == 0)
    }

    @Test func `what another gateway has left in the folder goes`() throws {
        let place = try Sender.Place()
        let first = try Sender(place, gateway: "lobby")
        place.log.isAway = true
        first.seconds(4)
        #expect(first.close())
        place.log.isAway = false
        let second = try Sender(place, gateway: "lab")
        #expect(second.queue.waiting == 0)
        #expect(second.queue.counts.refused == 4)
        #expect(try place.files == [])
    }

    @Test func `a damaged batch on the disk is counted, and those behind it are sent`() throws {
        let place = try Sender.Place()
        let first = try Sender(place)
        place.log.isAway = true
        first.seconds(4)
        #expect(first.close())
        let name = try #require(place.files.first)
        let files = SystemFiles()
        let file = try files.open(place.directory.appending(name), isNew: false)
        let octet: [UInt8] = [0xFF]
        // In the first batch, behind the file's head and the batch's length.
        _ = try octet.withUnsafeBytes { bytes in try unsafe files.write(file, at: 60, bytes) }
        files.close(file)
        place.log.isAway = false
        let second = try Sender(place)
        #expect(second.queue.waiting == 3)
        #expect(second.queue.counts.damaged == 1)
        second.drain()
        #expect(try place.stored.map(\.key) == Array(first.keys.dropFirst()))
    }

    @Test func `at the end all are there, whatever goes wrong`() throws {
        for seed in SeededGenerator.seeds(40) {
            var random = SeededGenerator(state: seed)
            let sender = try Sender(Sender.Place())
            let faults: [MemoryLogFault] = [
                .answerLost, .lost, .slow(.seconds(3)), .late(.seconds(7)), .storedTwice, .inverted, .unavailable,
            ]
            for _ in 0..<60 {
                if random.chance(25) { sender.client.script(random.pick(faults), for: .append) }
                if random.chance(8) { sender.place.log.isAway.toggle() }
                sender.second(sightings: random.below(20))
            }
            sender.place.log.isAway = false
            sender.drain()
            let stored = try sender.place.stored
            #expect(Set(stored.map(\.key)) == Set(sender.keys), "seed \(seed)")
            // One key, one batch.
            #expect(Set(stored).count == sender.keys.count, "seed \(seed)")
            let counts = sender.queue.counts
            #expect(counts.acknowledged == UInt64(sender.keys.count) && counts.dropped == 0, "seed \(seed)")
        }
    }
}
