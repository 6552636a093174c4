import BaseTypes
import SystemPackage
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

@Suite struct NumberReservationTests {
    @Test func `a reservation is requested before the first line after the last reserved number`() {
        let reservation = NumberReservation(40)
        #expect(reservation.wanted(for: 40, at: .start) == nil)
        #expect(reservation.wanted(for: 41, at: .start) == 41 + NumberReservation.count)
    }

    @Test func `a reservation that could not be stored is tried again after 30 s, not 1 ns earlier`() {
        var reservation = NumberReservation(0)
        reservation.isRefused(at: .start)
        #expect(reservation.wanted(for: 1, at: .start + .seconds(30) - .nanoseconds(1)) == nil)
        #expect(reservation.wanted(for: 1, at: .start + .seconds(30)) == 1 + NumberReservation.count)
        reservation.isReserved(7)
        #expect(reservation.wanted(for: 7, at: .start) == nil)
        #expect(reservation.wanted(for: 8, at: .start) != nil)
    }

    @Test func `a snapshot renews the reservation if fewer than half are left, and ends it with the journal`() {
        let (count, half) = (NumberReservation.count, NumberReservation.count / 2)
        let reservation = NumberReservation(count)
        #expect(reservation.forSnapshot(at: count - half, isEnd: false) == count)
        #expect(reservation.forSnapshot(at: count - half + 1, isEnd: false) == 2 * count - half + 1)
        #expect(reservation.forSnapshot(at: 12, isEnd: true) == 12)
    }
}

@Suite struct SnapshotScheduleTests {
    private func schedule(size: Int = 1000, lines: Int = 0) -> SnapshotSchedule {
        var schedule = SnapshotSchedule(interval: .seconds(900), size: size, lines: lines, at: .start)
        schedule.begin()
        schedule.isKept(size: nil)
        return schedule
    }

    @Test func `a snapshot is due at the start, and after the interval, not 1 ns earlier`() {
        let fresh = SnapshotSchedule(interval: .seconds(900), size: 0, lines: 0, at: .start)
        #expect(fresh.isTime)
        var schedule = schedule()
        schedule.advance(to: .start + .seconds(900) - .nanoseconds(1))
        #expect(!schedule.isTime)
        schedule.advance(to: .start + .seconds(900))
        #expect(schedule.isTime)
        #expect(schedule.due == .start + .seconds(1800))
    }

    @Test(arguments: [(999, false), (1000, true)])
    func `after a rotation, a snapshot is due when the lines are as large as the last one`(bytes: Int, isTime: Bool) {
        var schedule = schedule()
        schedule.requestSnapshot()
        schedule.note(bytes: bytes, lines: 1)
        #expect(schedule.isTime == isTime)
    }

    @Test(arguments: [(4999, false), (5000, true)])
    func `a snapshot is due after 5,000 lines, so that a start does not read many more`(lines: Int, isTime: Bool) {
        var schedule = schedule()
        schedule.note(bytes: 1_000_000, lines: lines)
        #expect(schedule.isTime == isTime)
    }

    @Test func `a snapshot that failed is tried again soon, and an earlier due time stays`() {
        var schedule = schedule()
        schedule.postpone(until: .start + .seconds(30))
        #expect(schedule.due == .start + .seconds(30))
        schedule.postpone(until: .start + .seconds(60))
        #expect(schedule.due == .start + .seconds(30))
    }
}

@Suite struct RecordTableTests {
    private func update(_ identifier: String, _ state: BeaconMonitor.Event.State = .satisfied) -> RecordTable.Update {
        var event = Sample.event
        (event.identifier, event.scope, event.state) = (identifier, .condition, state)
        return .event(event, adapter: "hci0")
    }

    @Test func `N3: a dropped event is a record as soon as a snapshot with it is stored, not before`() throws {
        var table = RecordTable([:])
        let identifier = try Identifier("staff")
        table.apply([update("staff", .satisfied)])
        table.drop([update("staff", .unsatisfied)])
        #expect(table.record(for: identifier) { _ in nil }?.lastEvent.state == .satisfied)
        #expect(table.forSnapshot[identifier]?.event.state == .unsatisfied)
        table.noteSnapshotStored()
        #expect(table.record(for: identifier) { _ in nil }?.lastEvent.state == .unsatisfied)
    }

    @Test func `of many dropped events the last one of each condition is kept`() throws {
        var table = RecordTable([:])
        for number in 0..<10_000 {
            table.drop([update("c\(number % 3)", number < 9_997 ? .satisfied : .unknown)])
        }
        table.drop([.removed("c1")])
        table.noteSnapshotStored()
        #expect(table.identifiers.map(\.text) == ["c0", "c2"])
        for identifier in table.identifiers {
            #expect(table.record(for: identifier) { _ in nil }?.lastEvent.state == .unknown)
        }
    }

    @Test func `the adapter of a record is the engine's adapter of the same name`() throws {
        var table = RecordTable([:])
        table.apply([update("staff")])
        let record = table.record(for: try Identifier("staff")) { $0 == "hci0" ? AdapterID(index: 4) : nil }
        #expect(record?.lastEvent.sighting?.adapter == AdapterID(index: 4))
    }
}

@Suite struct LineQueueTests {
    private func queue() throws -> LineQueue {
        let options = JournalOptions(directory: "/", stateDirectory: "/", gateway: try Identifier("lobby"))
        return LineQueue(options, boot: BootID(machine: "aaaaaaaa", process: 1), after: 0)
    }

    private var leaving: BeaconMonitor.Event {
        var event = Sample.event
        (event.scope, event.state) = (.condition, .unsatisfied)
        return event
    }

    @Test func `if a write fails after a part, no line counts as written, and all are written the next time`() throws {
        var queue = try queue()
        queue.append(.event(Sample.event))
        queue.append(.condition(Sample.change))
        let bytes = queue.bytes
        var written: [UInt8] = []
        #expect(throws: Errno.noSpace) {
            try queue.write { bytes, before throws(Errno) in
                #expect(before == written.count)
                if written.count >= 20 { throw .noSpace }
                written += bytes.prefix(10)
                return 10
            }
        }
        #expect(queue.written == 0)
        written = []
        try queue.write { bytes, _ throws(Errno) in
            written += bytes.prefix(100)
            return min(bytes.count, 100)
        }
        #expect(written == bytes)
        #expect(!queue.hasUnwritten && queue.written == bytes.count)
        let durable = queue.removeWritten()
        #expect((durable.bytes, durable.lines, durable.last) == (bytes.count, 2, 2))
        #expect(queue.isEmpty && queue.size == 0)
    }

    @Test func `an exit and the visit that it ends are dropped together`() throws {
        var queue = try queue()
        queue.append(.event(leaving))
        let event = queue.size
        queue.append(.visit(Sample.visit))
        queue.append(.adapter(Sample.adapterChange))
        let dropped = queue.dropOldest(bytesMax: queue.size - event)
        #expect((dropped.numbered, dropped.unnumbered, dropped.updates.count) == (2, 0, 1))
        #expect(queue.firstUnwritten == 3)
    }

    @Test func `a visit of the next turn is not dropped together with the exit`() throws {
        var queue = try queue()
        queue.append(.event(leaving))
        let event = queue.size
        queue.endTurn()
        queue.append(.visit(Sample.visit))
        let dropped = queue.dropOldest(bytesMax: queue.size - event)
        #expect((dropped.numbered, queue.firstUnwritten) == (1, 2))
    }

    @Test func `lines in the open segment are not dropped, and are written again after a failure`() throws {
        var queue = try queue()
        queue.append(.event(Sample.event))
        let bytes = queue.bytes
        try queue.write { bytes, _ throws(Errno) in bytes.count }
        #expect(queue.dropOldest(bytesMax: 0).numbered == 0)
        queue.rewind()
        #expect(queue.hasUnwritten && queue.bytes == bytes)
        #expect(queue.dropOldest(bytesMax: 0).numbered == 1)
    }
}

@Suite struct SegmentWriterTests {
    private let date = WallDate(microseconds: 1_795_219_200_000_000)

    @Test func `if the name of a segment cannot be synchronized, the segment is not started`() throws {
        let (folder, files) = (try Folder(), FailingFiles())
        files.failures[.synchronizeDirectory] = .ioError
        var writer = SegmentWriter(FilePath(folder.path + "/events"), files)
        var tally = WriteTally(start: .start)
        #expect(throws: Errno.ioError) {
            try writer.begin(first: 1, date: date, rotateAt: .latest, at: .start, &tally)
        }
        #expect(writer.name == nil && folder.segments == [] && tally.counters.segments == 0)
        files.failures = [:]
        #expect(try writer.begin(first: 1, date: date, rotateAt: .latest, at: .start, &tally) == folder.segments.first)
        #expect(tally.counters.segments == 1)
    }

    @Test func `bytes after the durable ones are truncated when a segment is opened again`() throws {
        let folder = try Folder()
        var writer = SegmentWriter(FilePath(folder.path + "/events"), SystemFiles())
        var tally = WriteTally(start: .start)
        let name = try writer.begin(first: 1, date: date, rotateAt: .latest, at: .start, &tally)
        let written = try [UInt8]("12345678".utf8).withUnsafeBytes { bytes throws(Errno) in
            try writer.write(bytes, behind: 0)
        }
        try writer.synchronize(5, at: .start, &tally)
        #expect((written, writer.durable) == (8, 5))
        writer.suspend()
        #expect(try writer.resume())
        #expect(try folder.read("events/" + name) == "12345")
        // Another program truncates the file, so durable bytes are missing.
        try folder.write("events/" + name, "1234")
        writer.suspend()
        #expect(try !writer.resume())
    }

    @Test func `a segment that was renamed has been taken away, until it is closed`() throws {
        let folder = try Folder()
        var writer = SegmentWriter(FilePath(folder.path + "/events"), SystemFiles())
        var tally = WriteTally(start: .start)
        let name = try writer.begin(first: 1, date: date, rotateAt: .latest, at: .start, &tally)
        #expect(try !writer.isTakenAway())
        let path = FilePath(folder.path + "/events/").appending(name)
        try SystemFiles().rename(path, to: FilePath(folder.path + "/events/other"))
        #expect(try writer.isTakenAway())
        #expect(writer.name == name)
        writer.close()
        #expect(try writer.name == nil && !writer.isTakenAway())
    }
}

@Suite struct RemarkLogTests {
    @Test func `the last hundred of many remarks are kept, and returned once`() {
        var remarks = RemarkLog()
        for number in 1...101 { remarks.say("\(number)") }
        let said = remarks.removeAll()
        #expect((said.count, said.first, said.last) == (100, "2", "101"))
        #expect(remarks.removeAll() == [])
    }
}
