import BaseTypes
import BluetoothLE
import Foundation
import JSON
import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Starts with files that are not as the gateway left them.
@Suite struct RecoveryTests {
    /// Returns a folder to which `count` events were written. After that the process was killed, or stopped normally if
    /// `closes` is true.
    private func written(
        _ count: Int, closes: Bool = false, _ change: (inout JournalOptions) -> Void = { _ in }
    ) throws -> Folder {
        let folder = try Folder()
        let journal = try Journal(in: folder, change)
        for second in 0..<count {
            journal.event(at: second)
            if journal.wantsSnapshot {
                journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(second))
            }
        }
        if closes { journal.close(JournalTests.snapshot(.satisfied), at: .start + .seconds(count)) }
        return folder
    }

    private func damage(_ folder: Folder, _ name: String, _ body: (inout [UInt8]) -> Void) throws {
        let url = URL(fileURLWithPath: folder.path + "/events/" + name)
        var bytes = Array(try Data(contentsOf: url))
        body(&bytes)
        try Data(bytes).write(to: url)
    }

    /// Starts again and writes an event. Returns its number, and the remarks.
    private func restart(_ folder: Folder) throws -> (number: Int, remarks: [String]) {
        let journal = try Journal(in: folder, process: 2, at: .start + .seconds(1000))
        journal.event(at: 1000)
        journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(1000))
        return (try folder.numbers.max() ?? 0, journal.recovery.remarks)
    }

    @Test func `one zero byte costs only its line, and is reported with the file and the place`() throws {
        let folder = try written(42)
        let name = folder.segments[0]
        try damage(folder, name) { $0[200] = 0 }
        let (number, remarks) = try restart(folder)
        #expect(number == 43)
        #expect(try folder.numbers.filter { $0 > 0 } == Array(2...43))
        #expect(remarks.count == 1 && remarks[0].hasPrefix("\(name): bytes 0 to "), "\(remarks)")
        var follower = LineFollower(FilePath(folder.path + "/events"), from: LinePosition(sequence: 0))
        var (line, message, found): ([UInt8], LineMessage, [Int]) = ([], LineMessage(prefix: "p"), [])
        while try follower.next(into: &line, upTo: .max, &message) { found.append(message.sequence ?? 0) }
        #expect(found == Array(2...43))
    }

    @Test(arguments: [0 as UInt8, 0xA5])
    func `if the damage of a line includes its line end, the next line is still found`(byte: UInt8) throws {
        let folder = try written(10)
        // The end of line 4 with its line end, but no byte of the next line.
        let ends = Array(try folder.read("events/" + folder.segments[0]).utf8).indices(of: 0x0A).ranges.map(
            \.lowerBound)
        try damage(folder, folder.segments[0]) { for place in ends[3] - 30...ends[3] { $0[place] = byte } }
        let (number, remarks) = try restart(folder)
        #expect(number == 11)
        #expect(remarks.count == 1)
        var follower = LineFollower(FilePath(folder.path + "/events"), from: LinePosition(sequence: 0))
        var (line, message, found): ([UInt8], LineMessage, [Int]) = ([], LineMessage(prefix: "p"), [])
        while try follower.next(into: &line, upTo: .max, &message) { found.append(message.sequence ?? 0) }
        #expect(found == [1, 2, 3] + Array(5...11))
    }

    @Test func `numbers that can have been in zeros after the last complete line are not used again`() throws {
        let folder = try written(10)
        try damage(folder, folder.segments[0]) { bytes in
            let end = bytes.indices(of: 0x0A).ranges.map(\.lowerBound)[6]
            for place in end + 10..<bytes.count { bytes[place] = 0 }
        }
        let (number, remarks) = try restart(folder)
        // Lines 8 to 10 were there, but this cannot be detected.
        #expect(number > 10 && number < 40)
        #expect(try folder.numbers.filter { $0 > 0 } == Array(1...7) + [number])
        #expect(folder.segments.count == 2)
        #expect(remarks.count == 1 && remarks[0].contains("numbers continue with \(number)"))
        // If a start is killed before it writes its first line, the next start must find the same.
        let other = try written(10)
        try damage(other, other.segments[0]) { $0[$0.count - 300] = 0 }
        let first = try Journal(in: other, process: 2).recovery.sequence
        #expect(first >= 10)
        #expect(try Journal(in: other, process: 3).recovery.sequence == first)
    }

    @Test func `numbers continue after the reservation if the last segment is missing`() throws {
        let folder = try written(42) { $0.rotateSize = 4000 }
        try PublishingCheckpoint(position: LinePosition(sequence: 41)).write(FilePath(folder.path + "/state/mqtt.json"))
        try FileManager.default.removeItem(atPath: folder.path + "/events/" + folder.segments.last!)
        let (number, remarks) = try restart(folder)
        #expect(number > 10_000 && number < 10_100)
        #expect(remarks.contains { $0.contains("is missing") && $0.contains("numbers continue with \(number)") })
        // This is reported once: the next start finds everything as it was left.
        let (next, later) = try restart(folder)
        #expect(next == number + 1)
        #expect(later.isEmpty)
    }

    @Test func `numbers continue after the reservation if current, or all event files, are missing`() throws {
        for name in ["events/current", "events"] {
            let folder = try written(42)
            try FileManager.default.removeItem(atPath: folder.path + "/" + name)
            #expect(try restart(folder).number > 10_000)
        }
    }

    @Test func `if the last segment and the state are missing, no number is used again`() throws {
        let folder = try written(42) { $0.rotateSize = 4000 }
        try FileManager.default.removeItem(atPath: folder.path + "/state")
        try FileManager.default.removeItem(atPath: folder.path + "/events/" + folder.segments.last!)
        #expect(try restart(folder).number > 42)
    }

    @Test func `if the files have fewer lines than were published, numbers continue after the published ones`() throws {
        let folder = try written(42)
        try FileManager.default.removeItem(atPath: folder.path + "/state/state.json")
        try PublishingCheckpoint(position: LinePosition(sequence: 42)).write(FilePath(folder.path + "/state/mqtt.json"))
        let lines = try folder.lines
        try folder.write("events/" + folder.segments[0], lines[..<30].joined(separator: "\n") + "\n")
        #expect(try restart(folder).number > 42)
    }

    @Test func `after a normal stop numbers continue without a gap, even if files were deleted since`() throws {
        for missing in [nil, "events/current", "events", "state/mqtt.json"] {
            let folder = try written(42, closes: true)
            if let missing { try? FileManager.default.removeItem(atPath: folder.path + "/" + missing) }
            let (number, remarks) = try restart(folder)
            #expect(number == 43)
            #expect(remarks.isEmpty)
        }
    }

    @Test func `numbers are reserved before they are used, and again before they run out`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder) { $0.durability = .every(.seconds(3600)) }
        for second in 0..<12_000 {
            journal.append(.event(Sample.event(at: second / 100)))
            if second % 100 == 99 { journal.commit(at: .start + .seconds(second / 100)) }
        }
        let state = try folder.read("state/state.json")
        let reserved = try #require(try StateFile(parsing: Array(state.utf8)).reserved)
        #expect(reserved >= 12_000 && reserved < 30_000)
        #expect(journal.counters.bytes > 0)
        // A snapshot keeps the reservation until half of its numbers are used.
        journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(121))
        #expect(try StateFile(parsing: Array(folder.read("state/state.json").utf8)).reserved == reserved)
    }

    @Test(arguments: [Int.max, LinePosition.sequenceMax + 1])
    func `a number above the maximum is an error with its file, and causes no trap`(number: Int) throws {
        let folder = try written(3)
        let state = try folder.read("state/state.json")
        try folder.write("state/state.json", state.replacing("\"sequence\":1,", with: "\"sequence\":\(number),"))
        let path = folder.path + "/state/state.json"
        #expect(throws: EventLogError.numberTooGreat(path, offset: nil)) { try Journal(in: folder, process: 2) }
        #expect(throws: EventLogError.self) { try LastState.read(from: FilePath(folder.path + "/state")) }
        try folder.write("state/state.json", state)
        let name = folder.segments[0]
        let text = try folder.read("events/" + name)
        let place = try #require(text.utf8.firstIndex(of: 0x0A)).utf16Offset(in: text) + 1
        try folder.write("events/" + name, text.replacing("\"sequence\":2,", with: "\"sequence\":\(number),"))
        let error = EventLogError.numberTooGreat(folder.path + "/events/" + name, offset: place)
        #expect(throws: error) { try Journal(in: folder, process: 2) }
        #expect(error.description.contains("byte \(place)") && error.description.contains("remove the line"))
        var reader = try LogReader([FilePath(folder.path + "/events")])
        var found: [Int] = []
        try reader.read([.event]) { line in
            found.append(line.sequence ?? 0)
            return true
        }
        #expect(found == [1, 3])
        var follower = LineFollower(FilePath(folder.path + "/events"), from: LinePosition(sequence: number))
        var (line, message): ([UInt8], LineMessage) = ([], LineMessage(prefix: "p"))
        let isThere = try follower.next(into: &line, upTo: .max, &message)
        #expect(!isThere)
        #expect(throws: PublishingCheckpoint.Problem.self) {
            try folder.write("mqtt.json", "{\"version\":1,\"sequence\":\(number)}")
            _ = try PublishingCheckpoint.read(FilePath(folder.path + "/mqtt.json"))
        }
    }

    @Test func `if the segment in use is deleted, this is reported, and another starts at the next number`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder)
        for second in 0..<5 { journal.event(at: second) }
        let gone = folder.segments[0]
        try FileManager.default.removeItem(atPath: folder.path + "/events/" + gone)
        journal.event(at: 5)
        #expect(journal.durableSequence == 6 && journal.isStoring)
        #expect(folder.segments == ["events-000000000006-20261121T000005Z.jsonl"])
        #expect(try folder.numbers == [6])
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: folder.path + "/events/current")
                == folder.segments[0])
        let remarks = journal.drainRemarks()
        #expect(remarks.count == 1 && remarks[0].contains(gone) && remarks[0].contains("lines 1 to 5"))
        #expect(journal.counters.segmentsTakenAway == 1)
        // The folder is deleted, then the segment is truncated.
        try FileManager.default.removeItem(atPath: folder.path + "/events")
        journal.event(at: 6)
        try folder.write("events/" + folder.segments[0], "")
        journal.event(at: 7)
        #expect(try folder.numbers == [8])
        #expect(journal.counters.segmentsTakenAway == 3)
    }

    @Test func `lines that are not durable yet are not lost if their segment is deleted`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder) { $0.durability = .every(.seconds(5)) }
        for second in 0..<3 { journal.event(at: second) }
        try FileManager.default.removeItem(atPath: folder.path + "/events/" + folder.segments[0])
        journal.event(at: 3)
        journal.advance(to: .start + .seconds(20))
        #expect(try folder.numbers == [1, 2, 3, 4])
    }

    @Test func `a FIFO or a folder with the name of an event file is an error with its path, and does not block`()
        throws
    {
        let folder = try written(3)
        let path = folder.path + "/events/events-000000000009-20261121T000009Z.jsonl"
        try #require(mkfifo(path, 0o600) == 0)
        #expect(throws: EventLogError.readFailed(path, .illegalSeek)) { try Journal(in: folder, process: 2) }
        #expect(throws: EventLogError.readFailed(path, .illegalSeek)) {
            try LogReader([FilePath(folder.path + "/events")])
        }
        #expect(throws: Errno.illegalSeek) { _ = try SegmentReader(FilePath(path), files: SystemFiles()) }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: EventLogError.readFailed(path, .isDirectory)) { try Journal(in: folder, process: 2) }
    }

    // MARK: Missing lines

    /// Applies the lines of some actions.
    private func builder(after actions: [Action]) throws -> RecordBuilder {
        var builder = RecordBuilder()
        for (index, action) in actions.enumerated() {
            var parser = LineParser()
            let line = try Sample.line(action) { $0.boot = "aaaaaaaa-00000001" }
            let numbered = line.replacing("\"sequence\":1,", with: "\"sequence\":\(index + 1),")
            parser.text = JSONText(Array(numbered.utf8))
            let isLine = parser.parse()
            try #require(isLine)
            builder.apply(&parser)
        }
        return builder
    }

    private func snapshot(after actions: [Action]) throws -> MonitorSnapshot {
        try builder(after: actions).snapshot(machine: "aaaaaaaa")
    }

    private func condition(after actions: [Action]) throws -> MonitorSnapshot.Condition {
        let conditions = try snapshot(after: actions).conditions
        try #require(conditions.count == 1)
        return conditions[0]
    }

    private static let other = Condition.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: Sample.uuid, major: 100))

    @Test func `a state without measured power is written and read again; an invalid value is refused`() throws {
        var event = Sample.event(at: 1)
        event.sighting?.measuredPower = nil
        let builder = try builder(after: [.condition(Sample.change), .event(event)])
        var state = StateFile()
        state.snapshot = builder.snapshot(machine: "aaaaaaaa")
        state.records = builder.records
        #expect(state.snapshot.conditions.first?.own.lastRefresh?.beacon == Sample.beacon)
        #expect(state.snapshot.conditions.first?.own.lastRefresh?.measuredPower == nil)
        var buffer = LineBuffer(capacity: 4096)
        _ = state.encode(gateway: "lobby", now: .start, into: &buffer)
        let text = String(decoding: buffer.bytes, as: UTF8.self)
        #expect(!text.contains("measuredPower"))
        let again = try StateFile(parsing: Array(text.utf8))
        #expect(again.snapshot.conditions == state.snapshot.conditions)
        let staff = Identifier(lookup: "staff")
        #expect(again.records[staff]?.event == event)
        // A file of an older version has -128.
        func read(_ value: String) throws -> StateFile {
            let marks = [#""lastRefresh":{"#, #""sighting":{"#]
            return try StateFile(
                parsing: Array(
                    marks.reduce(text) { $0.replacing($1, with: $1 + #""measuredPower":\#(value),"#) }.utf8))
        }
        #expect(try read("-128").snapshot.conditions == state.snapshot.conditions)
        #expect(try read("-128").records[staff]?.event == event)
        #expect(try read("-127").snapshot.conditions.first?.own.lastRefresh?.measuredPower == -127)
        for value in ["128", #""-59""#, "null"] {
            #expect(try read(value).snapshot.conditions.first?.own.lastRefresh == nil)
            #expect(try read(value).records[staff]?.event.sighting == nil)
        }
    }

    @Test(arguments: [BeaconMonitor.Event.State.satisfied, .unsatisfied])
    func `C2: an event of a beacon shows that the condition was replaced by one with per_beacon`(
        state: BeaconMonitor.Event.State
    ) throws {
        var event = Sample.event
        var settings = ConditionSettings()
        settings.exitTimeout = .seconds(7)
        var change = Sample.change
        change.settings = settings
        settings.perBeacon = true
        var actions = [Action.condition(change), .event(event)]
        event.state = state
        if state == .unsatisfied { actions.append(.event(event)) }
        let condition = try condition(after: actions)
        #expect(condition.settings == settings)
        #expect(condition.beacons.map(\.beacon) == (state == .satisfied ? [Sample.beacon] : []))
    }

    @Test func `C2: an event of another condition shows that the condition was replaced`() throws {
        var event = Sample.event(at: 5)
        event.condition = Self.other
        let before = try condition(after: [.condition(Sample.change), .event(Sample.event(at: 1)), .event(event)])
        // The entry before was to the replaced condition, so it is not part of the visit.
        #expect(before.condition == Self.other)
        #expect(before.settings == nil)
        #expect(before.own.state == .satisfied)
        #expect(before.own.visit?.arrival == .timeline(event.time))
        #expect(before.own.visit?.refreshes == 1)
        // An exit without its entry has no visit, and no beacon of the replaced condition stays.
        (event.state, event.refinement) = (.unsatisfied, nil)
        let after = try condition(after: [.condition(Sample.change), .event(Sample.event), .event(event)])
        #expect(after.own.state == .unsatisfied)
        #expect(after.own.visit == nil)
        #expect(after.beacons.isEmpty)
    }

    @Test(arguments: [true, false])
    func `C2: a change of settings shows that the condition was replaced`(isOther: Bool) throws {
        var change = Sample.change
        change.kind = .changed
        change.assumed = nil
        if isOther { change.condition = Self.other } else { change.settings.perBeacon = true }
        let condition = try condition(
            after: [.condition(Sample.change), .event(Sample.event(at: 1)), .condition(change)])
        #expect(condition.condition == change.condition)
        #expect(condition.settings == change.settings)
        #expect(condition.own == MonitorSnapshot.Subject(state: .unknown))
    }

    @Test func `C1: the record of a condition whose line is missing is a placeholder with the time of the next line`()
        throws
    {
        var (change, event) = (Sample.change, Sample.event)
        change.kind = .changed
        change.assumed = nil
        (change.condition, event.condition) = (Self.other, Self.other)
        (change.time, event.time) = (.start, .start)
        for action in [Action.condition(change), .event(event)] {
            let builder = try builder(after: [.condition(Sample.change), .event(Sample.event(at: 1)), action])
            let record = try #require(builder.records[Identifier(lookup: "staff")])
            #expect(record.isPlaceholder)
            #expect(record.event.condition == Self.other)
            #expect(record.event.state == .unknown)
            #expect(record.event.time == .start)
        }
    }

    @Test func `C2: a change of other settings keeps the state`() throws {
        var change = Sample.change
        change.kind = .changed
        change.assumed = nil
        change.settings.exitTimeout = .seconds(7)
        let condition = try condition(
            after: [.condition(Sample.change), .event(Sample.event(at: 1)), .condition(change)])
        #expect(condition.settings == change.settings)
        #expect(condition.own.state == .satisfied)
        #expect(condition.own.visit != nil)
    }

    @Test func `L7: a line with the address of another adapter shows that this one was forgotten and has a new name`()
        throws
    {
        var change = Sample.adapterChange
        change.address = DeviceAddress(0x00AA_0100_0002, kind: .unspecified)
        var renamed = change
        renamed.adapter = "hci1"
        let snapshot = try snapshot(
            after: [
                .condition(Sample.change), .adapter(change), .event(Sample.event(at: 1)), .event(Sample.event),
                .adapter(renamed),
            ])
        #expect(snapshot.adapters == [MonitorSnapshot.Adapter(name: "hci1", address: change.address, stopped: nil)])
        #expect(snapshot.conditions[0].own.holders.isEmpty)
        #expect(snapshot.conditions[0].beacons.map(\.holders) == [[]])
        // The name in the last sighting stays, because the line had it.
        #expect(snapshot.conditions[0].own.lastRefresh?.adapter == "hci0")
        // The same address at another gateway is another adapter.
        (change.adapter, renamed.adapter) = ("lobby/hci0", "yard/hci1")
        #expect(try self.snapshot(after: [.adapter(change), .adapter(renamed)]).adapters.count == 2)
    }
}
