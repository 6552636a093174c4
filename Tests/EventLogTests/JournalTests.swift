import BaseTypes
import Foundation
import JSON
import SystemPackage
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// The journal on a real file system.
@Suite struct JournalTests {
    @Test func `N3: an event is the record's last event once it is durable, and not before`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder)
        let staff = try Identifier("staff")
        journal.append(.condition(Sample.change))
        #expect(journal.record(for: staff) == nil)
        journal.commit(at: .start)
        #expect(journal.record(for: staff)?.lastEvent.state == .unknown)
        journal.append(.event(Sample.event(at: 1)))
        #expect(journal.record(for: staff)?.lastEvent.state == .unknown)
        #expect(journal.durableSequence == 1)
        journal.commit(at: .start + .seconds(1))
        #expect(journal.record(for: staff)?.lastEvent == Sample.event(at: 1))
        #expect(journal.durableSequence == 2)
        // The event of a beacon must not change the record of its condition.
        var own = Sample.event(at: 2)
        own.scope = .beacon
        journal.append(.event(own))
        journal.commit(at: .start + .seconds(2))
        #expect(journal.record(for: staff)?.lastEvent == Sample.event(at: 1))
        #expect(journal.sequence == 3)
    }

    @Test func `durability: event synchronizes once a turn, an interval at its end and not before`() throws {
        let (folder, files) = (try Folder(), FailingFiles())
        let journal = try Journal(in: folder, files: files) { $0.durability = .every(.seconds(1)) }
        journal.event(at: 0)
        let before = files.counts[.synchronize] ?? 0
        #expect(journal.durableSequence == 0)
        #expect(try folder.numbers == [1])
        #expect(journal.nextDeadline == .start + .seconds(1))
        journal.advance(to: .start + .milliseconds(999))
        #expect(journal.durableSequence == 0)
        journal.event(at: 1)
        #expect(journal.durableSequence == 2)
        #expect(files.counts[.synchronize] == before + 1)

        let other = try Folder()
        let strict = try Journal(in: other, files: files)
        // The first line reserves numbers.
        strict.event(at: 0)
        let count = files.counts[.synchronize] ?? 0
        for _ in 0..<9 { strict.append(.event(Sample.event(at: 0))) }
        strict.commit(at: .start)
        #expect(strict.durableSequence == 10)
        #expect(files.counts[.synchronize] == count + 1)
    }

    @Test func `a segment ends by size, age or request, and current links to the open one`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder) {
            $0.rotateSize = 1200
            $0.rotateInterval = .seconds(3600)
        }
        for second in 0..<4 { journal.event(at: second) }
        #expect(
            folder.segments == [
                "events-000000000001-20261121T000000Z.jsonl", "events-000000000003-20261121T000002Z.jsonl",
            ])
        journal.rotate()
        #expect(folder.segments.count == 2)
        journal.event(at: 10)
        #expect(folder.segments.last == "events-000000000005-20261121T000010Z.jsonl")
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: folder.path + "/events/current")
                == folder.segments.last)
        journal.advance(to: .start + .seconds(10 + 3599))
        journal.event(at: 3609)
        #expect(folder.segments.count == 3)
        journal.advance(to: .start + .seconds(10 + 3600))
        journal.rotate()
        journal.event(at: 3611)
        #expect(folder.segments.last == "events-000000000007-20261121T010011Z.jsonl")
        #expect(try folder.numbers == Array(1...7))
    }

    @Test func `a restart continues with the number and the file, and removes an incomplete line`() throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            for second in 0..<3 { journal.event(at: second) }
        }
        let name = folder.segments[0]
        try folder.write("events/" + name, try folder.read("events/" + name) + #"{"version":1,"type":"ev"#)
        let journal = try Journal(in: folder, process: 2, at: .start + .seconds(60))
        #expect(journal.recovery.sequence == 3)
        #expect(journal.recovery.tornBytes == 23)
        #expect(journal.recovery.remarks.count == 1)
        #expect(journal.record(for: try Identifier("staff"))?.lastEvent == Sample.event(at: 2))
        journal.event(at: 60)
        #expect(folder.segments == [name])
        #expect(try folder.numbers == [1, 2, 3, 4])
    }

    /// Returns a journal whose last line is an exit without the visit that it ended. The empty files `later` follow it
    /// in the folder.
    private func torn(_ folder: Folder, machine: String = "aaaaaaaa", followedBy later: [String] = []) throws -> Journal
    {
        do {
            let journal = try Journal(in: folder)
            journal.event(at: 0)
            journal.append(.event(Sample.event("staff", .unsatisfied, at: 30)))
            journal.append(.visit(Sample.visit))
            journal.commit(at: .start + .seconds(30))
        }
        let lines = try folder.lines
        #expect(lines.count == 3)
        try folder.write("events/" + folder.segments[0], lines[0...1].joined(separator: "\n") + "\n")
        for name in later { try folder.write("events/" + name, "") }
        return try Journal(in: folder, machine: machine, process: 2, at: .start + .seconds(60))
    }

    @Test func `N3: if an exit was the last line, the next start writes its visit`() throws {
        let folder = try Folder()
        let journal = try torn(folder)
        #expect(journal.recovery.sequence == 2)
        #expect(journal.recovery.snapshot?.conditions.first?.own.state == .unsatisfied)
        #expect(journal.recovery.snapshot?.conditions.first?.own.visit == nil)
        journal.event(at: 61)
        #expect(try folder.numbers == [1, 2, 3, 4])
        var parser = LineParser()
        parser.text = JSONText(Array(try folder.lines[2].utf8))
        let isLine = parser.parse()
        #expect(isLine)
        let visit = try #require(parser.visit())
        #expect(visit.identifier == "staff" && visit.sightings == 1 && visit.reason == .exitTimeout)
        #expect(visit.arrival == .start && visit.departure == .start + .seconds(30))
    }

    @Test func `if an exit was the last line before a restart of the machine, its visit keeps its dates`() throws {
        let folder = try Folder()
        let journal = try torn(folder, machine: "bbbbbbbb")
        journal.event(at: 61)
        #expect(try folder.lines[2].contains(#""arrival":"2026-11-21T00:00:00.000000Z""#))
        #expect(try folder.lines[2].contains(#""departure":"2026-11-21T00:00:30.000000Z""#))
    }

    @Test func `if an exit without its visit is not in the last segment, its segment does not change`() throws {
        let folder = try Folder()
        let later = "events-000000000003-20261121T000100Z.jsonl"
        let journal = try torn(folder, followedBy: [later])
        let first = try folder.read("events/" + folder.segments[0])
        journal.event(at: 61)
        #expect(try folder.read("events/" + folder.segments[0]) == first)
        #expect(folder.segments.last == later)
        #expect(try !folder.read("events/" + later).utf8.contains(0))
        #expect(try folder.numbers == [1, 2, 3, 4])
    }

    @Test func `N5: lines that cannot be written wait, and are written completely later`() throws {
        let (folder, files) = (try Folder(), FailingFiles())
        let journal = try Journal(in: folder, files: files)
        journal.event(at: 0)
        files.failures = [.write: .noSpace]
        files.partial = 20
        journal.event(at: 1)
        #expect(!journal.isStoring)
        #expect(journal.failure?.contains("No space left") == true)
        // The written part of the line is removed at once, so that no program reads an incomplete line.
        #expect(try folder.numbers == [1])
        #expect(journal.durableSequence == 1)
        journal.event(at: 1)
        // Two writes for the reservation and line 1, then one partial write and one that failed.
        #expect(files.counts[.write] == 2 + 2, "not tried again before its time")
        journal.advance(to: .start + .seconds(3))
        #expect(!journal.isStoring)
        files.failures = [:]
        journal.advance(to: .start + .seconds(60))
        #expect(journal.isStoring)
        #expect(journal.waiting == 0)
        #expect(try folder.numbers == [1, 2, 3])
        #expect(journal.counters.dropped == 0)
    }

    @Test func `N5: if too many lines wait, the oldest are dropped, and the numbers have a gap`() throws {
        let (folder, files) = (try Folder(), FailingFiles())
        let journal = try Journal(in: folder, files: files) { $0.queueSize = 2000 }
        journal.event(at: 0)
        files.failures = [.write: .readOnlyFileSystem]
        for second in 1...10 { journal.event(at: second) }
        #expect(journal.waiting <= 2000)
        let dropped = journal.counters.dropped
        #expect(dropped > 0)
        files.failures = [:]
        journal.advance(to: .start + .seconds(100))
        #expect(try folder.numbers == [1] + Array((2 + dropped)...11))
        #expect(journal.record(for: try Identifier("staff"))?.lastEvent == Sample.event(at: 10))
    }

    @Test func `after a failed fsync, lines that were not durable are written again`() throws {
        let (folder, files) = (try Folder(), FailingFiles())
        let journal = try Journal(in: folder, files: files)
        journal.event(at: 0)
        files.failures = [.synchronize: .ioError]
        journal.event(at: 1)
        #expect(journal.durableSequence == 1 && !journal.isStoring)
        let writes = files.counts[.write] ?? 0
        files.failures = [:]
        journal.advance(to: .start + .seconds(10))
        #expect(files.counts[.write] == writes + 1, "written again")
        #expect(try folder.numbers == [1, 2])
        #expect(journal.durableSequence == 2)
    }

    @Test func `if a segment is deleted after a failed fsync, the waiting lines are written to another one`() throws {
        let (folder, files) = (try Folder(), FailingFiles())
        let journal = try Journal(in: folder, files: files)
        journal.event(at: 0)
        files.failures = [.synchronize: .ioError]
        journal.event(at: 1)
        files.failures = [:]
        try FileManager.default.removeItem(atPath: folder.path + "/events/" + folder.segments[0])
        journal.advance(to: .start + .seconds(10))
        #expect(journal.isStoring)
        #expect(try folder.numbers == [2])
    }

    @Test func `a snapshot that cannot be stored is reported and tried again, and the old one stays`() throws {
        let (folder, files) = (try Folder(), FailingFiles())
        let journal = try Journal(in: folder, files: files)
        journal.append(.condition(Sample.change))
        journal.commit(at: .start)
        #expect(journal.keep(Self.snapshot(.unknown), at: .start))
        let before = try folder.read("state/state.json")
        files.failures = [.rename: .ioError]
        #expect(!journal.keep(Self.snapshot(.satisfied), at: .start))
        #expect(journal.failure?.contains("records can't be written") == true)
        #expect(try folder.read("state/state.json") == before)
        files.failures = [:]
        journal.advance(to: .start + .seconds(31))
        #expect(journal.wantsSnapshot)
        #expect(journal.keep(Self.snapshot(.satisfied), at: .start))
        #expect(journal.isStoring)
        #expect(try folder.read("state/state.json") != before)
    }

    @Test func `a snapshot without any change is not written`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder)
        #expect(journal.keep(Self.snapshot(.unknown), at: .start))
        #expect(journal.keep(Self.snapshot(.unknown), at: .start + .seconds(900)))
        #expect(journal.counters.snapshots == 1)
    }

    static func snapshot(_ state: BeaconMonitor.Event.State) -> MonitorSnapshot {
        var snapshot = MonitorSnapshot()
        snapshot.conditions = [
            MonitorSnapshot.Condition(
                monitor: "site", identifier: "staff", condition: Sample.condition, settings: ConditionSettings(),
                own: MonitorSnapshot.Subject(state: state))
        ]
        return snapshot
    }

    @Test func `a newer version of the state file or of a line is refused, with the path and the version`() throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            journal.event(at: 0)
            journal.keep(Self.snapshot(.satisfied), at: .start)
        }
        let state = try folder.read("state/state.json")
        try folder.write("state/state.json", state.replacing("{\"version\":1,", with: "{\"version\":2,"))
        #expect(throws: EventLogError.newerVersion(folder.path + "/state/state.json", 2)) { try Journal(in: folder) }
        try folder.write("state/state.json", state)
        let name = "events/" + folder.segments[0]
        try folder.write(name, try folder.read(name).replacing("{\"version\":2,", with: "{\"version\":3,"))
        #expect(throws: EventLogError.newerVersion(folder.path + "/" + name, 3)) { try Journal(in: folder) }
    }

    @Test(arguments: ["", "{", "null", "[]", #"{"version":1}"#, #"{"version":"1","sequence":3,"offset":0}"#, "\0\0\0"])
    func `an invalid state file is put aside, and the state is restored from the lines`(text: String) throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            journal.append(.condition(Sample.change))
            journal.commit(at: .start)
            journal.event(at: 1)
            journal.keep(Self.snapshot(.satisfied), at: .start + .seconds(1))
        }
        try folder.write("state/state.json", text)
        let journal = try Journal(in: folder, process: 2)
        #expect(journal.recovery.sequence == 2)
        #expect(journal.recovery.snapshot?.conditions.first?.own.state == .satisfied)
        #expect(journal.recovery.remarks.count == 1)
        #expect(try folder.read("state/state.json.damaged") == text)
    }

    /// Moves a segment out of the folder of event files, to `archive`, and leaves a symbolic link in its place.
    private func archive(_ name: String, of folder: Folder) throws {
        let link = folder.path + "/events/" + name
        try FileManager.default.moveItem(atPath: link, toPath: folder.path + "/archive")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../archive")
    }

    @Test func `a last segment that is a symbolic link is read, and the next line starts another file`() throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            journal.event(at: 1)
        }
        let name = try #require(folder.segments.first)
        try archive(name, of: folder)
        // An incomplete end is not removed either.
        let text = try folder.read("archive") + #"{"version":2,"#
        try folder.write("archive", text)
        do {
            let journal = try Journal(in: folder, process: 2)
            #expect(journal.recovery.sequence == 1 && journal.recovery.tornBytes == 0)
            journal.event("staff", .unsatisfied, at: 2)
            journal.event("staff", .satisfied, at: 3)
        }
        #expect(try folder.read("archive") == text)
        #expect(folder.segments.count == 2)
        var reader = try LogReader([FilePath(folder.path + "/events")])
        var numbers: [Int] = []
        try reader.read([.event]) { line in
            numbers.append(line.sequence ?? 0)
            return true
        }
        #expect(numbers == [1, 2, 3])
    }

    @Test func `a segment that is moved and replaced by a link while in use gets no more lines`() throws {
        let folder = try Folder()
        let journal = try Journal(in: folder)
        journal.event(at: 1)
        let name = try #require(folder.segments.first)
        try archive(name, of: folder)
        let text = try folder.read("archive")
        for second in 2...200 { journal.event("staff", second % 2 == 0 ? .unsatisfied : .satisfied, at: second) }
        #expect(folder.segments.count > 1)
        let moved = try folder.read("archive")
        #expect(moved.split(separator: "\n").count < 200 && moved.hasPrefix(text))
        for second in 201...202 { journal.event("staff", second % 2 == 0 ? .unsatisfied : .satisfied, at: second) }
        #expect(try folder.read("archive") == moved)
        #expect(try Set(folder.numbers) == Set(1...202))
    }

    @Test func `numbers continue after the event files were deleted, and after the state was`() throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            for second in 0..<3 { journal.event(at: second) }
            journal.close(Self.snapshot(.satisfied), at: .start + .seconds(3))
        }
        try FileManager.default.removeItem(atPath: folder.path + "/events")
        do {
            let journal = try Journal(in: folder, process: 2)
            #expect(journal.record(for: try Identifier("staff"))?.lastEvent == Sample.event(at: 2))
            journal.event(at: 10)
        }
        #expect(try folder.numbers == [4])
        try FileManager.default.removeItem(atPath: folder.path + "/state")
        let journal = try Journal(in: folder, process: 3)
        #expect(journal.recovery.sequence == 4)
        #expect(journal.recovery.snapshot?.conditions.map(\.identifier) == ["staff"])
    }

    @Test func `a damaged line in the middle is skipped and counted`() throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            for second in 0..<3 { journal.event(at: second) }
        }
        var lines = try folder.lines
        lines[1] = "damaged"
        try folder.write("events/" + folder.segments[0], lines.joined(separator: "\n") + "\n")
        let journal = try Journal(in: folder, process: 2)
        #expect(journal.recovery.sequence == 3)
        #expect(journal.recovery.damagedLines == 1)
    }
}
