import EventLog
import SiteLogSupport
import SiteMonitoring
import SiteStorage
import SystemPackage
import TestSupport
import Testing

@Suite struct QueueTests {
    @Test func `acknowledged batches are never written to the disk`() throws {
        let files = DyingFiles()
        let sender = try Sender(Sender.Place(), files: files)
        sender.seconds(60)
        #expect(sender.queue.counts.acknowledged == 60)
        #expect(sender.queue.waiting == 0)
        #expect(files.changes == 0)
        #expect(try sender.place.stored.map(\.key) == sender.keys)
    }

    @Test func `batches not acknowledged for 10 s are on the disk, which is not written every second`() throws {
        let files = DyingFiles()
        let sender = try Sender(Sender.Place(), files: files)
        sender.place.log.isAway = true
        sender.seconds(10)
        #expect(files.changes == 0)
        sender.second()
        // Including the batch that was cut at that moment.
        #expect(sender.queue.counts.kept == 11)
        let changes = files.changes
        // Five calls: the file is created, its head is written, its name is synchronized, and the batches are written
        // and synchronized.
        #expect(changes == 5)
        sender.seconds(100)
        #expect(files.changes <= changes + 2 * 10)
        #expect(sender.queue.counts.kept >= 100)
        sender.place.log.isAway = false
        sender.drain()
        #expect(try sender.place.stored.map(\.key) == sender.keys)
        #expect(sender.queue.counts.dropped == 0)
        #expect(sender.queue.logFailureChange == nil)
        // One file can remain, for further batches.
        #expect(try sender.place.files.count <= 1)
    }

    @Test(arguments: [MemoryLogFault.answerLost, .lost, .slow(.seconds(20)), .storedTwice, .inverted, .unavailable])
    func `a batch is sent again under the same key, and none is missing`(fault: MemoryLogFault) throws {
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

    @Test func `if too many batches wait, the oldest are dropped and counted, and their numbers are missing`() throws {
        var settings = BatchQueue.Settings()
        settings.bytesMax = 20_000
        settings.fileBytesMax = 4_000
        let sender = try Sender(Sender.Place(), settings)
        sender.seconds(5)
        sender.place.log.isAway = true
        sender.seconds(300)
        #expect(sender.queue.totalSize <= 20_000)
        let dropped = Int(sender.queue.counts.dropped)
        #expect(dropped > 100)
        sender.place.log.isAway = false
        sender.drain()
        #expect(Int(sender.queue.counts.dropped) == dropped)
        // The missing batches are the oldest that waited.
        #expect(try sender.place.stored.map(\.key) == Array(sender.keys[..<5] + sender.keys[(5 + dropped)...]))
    }

    @Test func `batches that exceed the memory limit are written to the disk early`() throws {
        var settings = BatchQueue.Settings()
        settings.memoryBytesMax = 1_500
        let sender = try Sender(Sender.Place(), settings)
        sender.place.log.isAway = true
        sender.seconds(9)
        #expect(sender.queue.counts.kept > 3)
        #expect(sender.queue.counts.dropped == 0)
        sender.place.log.isAway = false
        sender.drain()
        #expect(try sender.place.stored.map(\.key) == sender.keys)
    }

    @Test func `if the disk is full, batches wait in memory, the oldest are dropped, and sending continues`() throws {
        let files = DyingFiles()
        var settings = BatchQueue.Settings()
        settings.memoryBytesMax = 6_000
        let sender = try Sender(Sender.Place(), settings, files: files)
        files.failure = .noSpace
        sender.place.log.isAway = true
        sender.seconds(60)
        #expect(sender.queue.diskFailure == .noSpace)
        #expect(sender.queue.totalSize <= 6_000)
        #expect(sender.queue.counts.dropped > 0)
        files.failure = nil
        sender.seconds(12)
        #expect(sender.queue.diskFailure == nil)
        let dropped = Int(sender.queue.counts.dropped)
        sender.place.log.isAway = false
        sender.drain()
        #expect(try sender.place.stored.map(\.key) == Array(sender.keys[dropped...]))
    }

    @Test func `after a normal stop no batch is missing, and the next process continues`() throws {
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

    @Test func `a batch that the log will never accept is removed, and no other waits for it`() throws {
        let sender = try Sender(Sender.Place())
        sender.second()
        // More than 512 KiB of sightings, which are cut into two batches.
        sender.second(sightings: 60_000)
        sender.seconds(2)
        sender.drain()
        #expect(sender.queue.waiting == 0)
        #expect(sender.queue.counts.refused == 0)
        #expect(Set(try sender.place.stored.map(\.key)) == Set(sender.keys))

        // The same applies if a log accepts less than a gateway assumes.
        var limits = LogLimits()
        limits.batchBytesMax = 300
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

    @Test func `batches of another gateway in the folder are deleted and counted as refused`() throws {
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

    @Test func `a damaged batch on the disk is counted, and those after it are sent`() throws {
        let place = try Sender.Place()
        let first = try Sender(place)
        place.log.isAway = true
        first.seconds(4)
        #expect(first.close())
        let name = try #require(place.files.first)
        let files = SystemFiles()
        let file = try files.open(place.directory.appending(name), isNew: false)
        let byte: [UInt8] = [0xFF]
        // In the first batch, after the file's head and the batch's length.
        _ = try byte.withUnsafeBytes { bytes in try unsafe files.write(file, at: 60, bytes) }
        files.close(file)
        place.log.isAway = false
        let second = try Sender(place)
        #expect(second.queue.waiting == 3)
        #expect(second.queue.counts.damaged == 1)
        second.drain()
        #expect(try place.stored.map(\.key) == Array(first.keys.dropFirst()))
    }

    @Test func `after random faults, all batches are in the log`() throws {
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
            // Each key has one batch.
            #expect(Set(stored).count == sender.keys.count, "seed \(seed)")
            let counts = sender.queue.counts
            #expect(counts.acknowledged == UInt64(sender.keys.count) && counts.dropped == 0, "seed \(seed)")
        }
    }
}
