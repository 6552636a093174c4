import BaseTypes
import Foundation
import JSON
import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Lines of version 1 can be read, together with lines of version 2. Lines of a later version must not be interpreted.
@Suite struct LineVersionTests {
    private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures/version-1").path

    /// Returns a copy of the files of a gateway whose lines had version 1. It has 24 numbered lines, and the last badge
    /// is still present.
    private func folder(withState: Bool) throws -> Folder {
        let folder = try Folder()
        for name in withState ? ["events", "state"] : ["events"] {
            try FileManager.default.copyItem(atPath: Self.fixture + "/" + name, toPath: folder.path + "/" + name)
        }
        // A gateway leaves this link. It shows that no file is missing.
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/events/current",
            withDestinationPath: try #require(folder.segments.last))
        return folder
    }

    private func entries(of folder: Folder) throws -> [LogLine] {
        var reader = try LogReader([FilePath(folder.path + "/events")])
        var lines: [LogLine] = []
        try reader.read([.event, .visit, .condition, .adapter, .clock, .evidence]) {
            lines.append($0)
            return true
        }
        #expect(reader.damagedLines == 0 && reader.newerLines == 0)
        return lines
    }

    @Test(arguments: [true, false])
    func `a journal of version 1 continues in version 2, and all of it can be read`(withState: Bool) throws {
        let folder = try folder(withState: withState)
        let before = try folder.numbers.compactMap(\.self)
        let last = try #require(before.last)
        #expect(before == Array(1...last) && last > 20)
        let old = try entries(of: folder)
        #expect(old.compactMap(\.sequence) == before)
        do {
            let journal = try Journal(in: folder)
            #expect(journal.recovery.sequence == last)
            #expect(journal.recovery.damagedLines == 0)
            let snapshot = try #require(journal.recovery.snapshot)
            let staff = try #require(snapshot.conditions.first { $0.identifier == "staff" })
            #expect(staff.settings?.exitTimeout == .milliseconds(1500) && staff.settings?.perBeacon == true)
            #expect(staff.own.state == .satisfied)
            #expect(staff.beacons.map(\.beacon?.minor) == [7])
            journal.event(at: 0)
        }
        #expect(try folder.numbers.compactMap(\.self) == before + [last + 1])
        let lines = try folder.lines
        #expect(lines.filter { $0.contains(#""version":1,"#) }.count == lines.count - 1)
        #expect(lines.last?.contains(#"{"version":2,"type":"event""#) == true)
        let all = try entries(of: folder)
        #expect(all.compactMap(\.sequence) == before + [last + 1])
        #expect(all.count == old.count + 1)
        // The next start must be able to read it too.
        #expect(try Journal(in: folder).recovery.sequence == last + 1)
    }

    @Test func `a follower returns lines of version 1 unchanged, each with the topic that it contains`() throws {
        let folder = try folder(withState: false)
        let journal = try Journal(in: folder) { $0.envelope = true }
        journal.event(at: 0)
        var follower = LineFollower(FilePath(folder.path + "/events"), from: LinePosition(sequence: 0))
        var message = LineMessage(prefix: "beacons")
        var (line, topics): ([UInt8], [String]) = ([], [])
        while try follower.next(into: &line, upTo: .max, &message) {
            let text = String(decoding: line, as: UTF8.self)
            let topic = String(decoding: message.topic.dropLast(), as: UTF8.self)
            #expect(text.hasPrefix(#"{"topic":"\#(topic)","#))
            #expect(text.hasSuffix(String(decoding: line[message.payload], as: UTF8.self) + "}"))
            if message.sequence != nil { topics.append(topic) }
        }
        #expect(follower.damaged == 0 && follower.missed == 0)
        #expect(topics.count == follower.position.sequence)
        // In version 1, lines of a beacon had the topic of its condition.
        #expect(topics.dropLast().allSatisfy { $0.split(separator: "/").count == 4 })
    }

    @Test(arguments: [(1, "beacons/lobby/visit/staff"), (2, "beacons/lobby/visit/staff/\(Sample.uuid)/100/7")])
    func `a payload without an envelope has the topic of an envelope of its version`(version: Int, topic: String)
        throws
    {
        var visit = Sample.visit
        visit.scope = .beacon
        visit.refinement = Sample.beacon
        let line = try Sample.line(.visit(visit)).replacing(#"{"version":2,"#, with: #"{"version":\#(version),"#)
        var message = LineMessage(prefix: "beacons")
        let isLine = message.parse(Array(line.utf8))
        #expect(isLine)
        #expect(String(decoding: message.topic.dropLast(), as: UTF8.self) == topic)
    }

    @Test func `unknown keys are ignored, and lines of unknown types are skipped`() throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            for second in 0..<3 { journal.event(at: second) }
        }
        let name = "events/" + folder.segments[0]
        var lines = try folder.lines
        lines[1] = lines[1].replacing(#""monitor":"#, with: #""mood":{"of":["the",1.5,null]},"monitor":"#)
        lines[2] = lines[2].replacing(#""type":"event""#, with: #""type":"omen""#)
        try folder.write(name, lines.map { $0 + "\n" }.joined())
        #expect(try entries(of: folder).compactMap(\.sequence) == [1, 2])
        let recovery = try Journal(in: folder).recovery
        #expect(recovery.sequence == 3 && recovery.damagedLines == 0)
    }

    @Test func `lines of a later version are refused by a start, counted by readers, returned by followers`() throws {
        let folder = try Folder()
        do {
            let journal = try Journal(in: folder)
            for second in 0..<3 { journal.event(at: second) }
        }
        let name = "events/" + folder.segments[0]
        var lines = try folder.lines
        lines[2] = lines[2].replacing(#"{"version":2,"#, with: #"{"version":3,"#)
        try folder.write(name, lines.map { $0 + "\n" }.joined())
        #expect(throws: EventLogError.newerVersion(folder.path + "/" + name, 3)) { try Journal(in: folder) }
        var reader = try LogReader([FilePath(folder.path + "/events")])
        var numbers: [Int?] = []
        try reader.read([.event]) {
            numbers.append($0.sequence)
            return true
        }
        #expect(numbers == [1, 2] && reader.newerLines == 1 && reader.damagedLines == 0)
        var follower = LineFollower(FilePath(folder.path + "/events"), from: LinePosition(sequence: 2))
        var (line, message): ([UInt8], LineMessage) = ([], LineMessage(prefix: "beacons"))
        let isThere = try follower.next(into: &line, upTo: .max, &message)
        #expect(isThere)
        #expect(message.sequence == 3 && message.isPublished)
    }

    @Test func `a state file is written again as it was, except for decimals, and has no key twice`() throws {
        let old = try String(contentsOfFile: Self.fixture + "/state/state.json", encoding: .utf8)
        #expect(old.contains(#""lastEvent""#))
        let state = try StateFile(parsing: Array(old.utf8))
        var buffer = LineBuffer(capacity: 4096)
        _ = state.encode(
            gateway: "lobby",
            now: Instant(nanoseconds: 2_222_933_833_999), into: &buffer)
        let decimals = [
            (":3600,", ":3600.0,"), (":86400}", ":86400.0}"), (#""enterWindow":10,"#, #""enterWindow":10.0,"#),
            (#""exitTimeout":2}"#, #""exitTimeout":2.0}"#), (#""exitTimeout":30}"#, #""exitTimeout":30.0}"#),
        ]
        #expect(
            String(decoding: buffer.bytes, as: UTF8.self)
                == decimals.reduce(old) { $0.replacing($1.0, with: $1.1) })
    }
}
