import Foundation
import JSON
import SystemPackage
import TestSupport
import Testing

@testable import EventLog

@Suite struct LineFollowerTests {
    /// A folder of segments, and a follower.
    private final class Fixture {
        let folder: Folder
        var follower: LineFollower
        var message = LineMessage(prefix: "p")
        var line: [UInt8] = []

        let files = FailingFiles()

        init(from position: LinePosition = LinePosition(sequence: 0)) throws {
            folder = try Folder()
            try FileManager.default.createDirectory(atPath: folder.path + "/events", withIntermediateDirectories: true)
            follower = LineFollower(FilePath(folder.path + "/events"), from: position, files: files)
        }

        static func name(_ first: Int) -> String { String(format: "events-%012d-20261121T074627Z.jsonl", first) }
        static func line(_ number: Int) -> String {
            #"{"topic":"p/g/event/a","qos":1,"retain":false,"payload":{"version":2,"type":"event","gateway":"g","#
                + #""boot":"b","sequence":\#(number),"date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1}}"#
                + "\n"
        }
        static func lines(_ numbers: ClosedRange<Int>) -> String { numbers.map(line).joined() }

        func write(_ first: Int, _ text: String) throws { try folder.write("events/" + Self.name(first), text) }
        func append(_ first: Int, _ text: String) throws {
            try write(first, try folder.read("events/" + Self.name(first)) + text)
        }

        /// Returns the numbers of all lines that can be read now; −1 for a line without a number.
        func take(upTo limit: Int = .max) throws -> [Int] {
            var numbers: [Int] = []
            while try follower.next(into: &line, upTo: limit, &message) { numbers.append(message.sequence ?? -1) }
            return numbers
        }
    }

    @Test func `lines are read in order over segments, then as they are written, then from a new segment`() throws {
        let fixture = try Fixture()
        #expect(try fixture.take() == [])
        try fixture.write(1, Fixture.lines(1...3))
        try fixture.write(4, Fixture.lines(4...5))
        #expect(try fixture.take() == [1, 2, 3, 4, 5])
        try fixture.append(4, Fixture.lines(6...7))
        #expect(try fixture.take() == [6, 7])
        // Lines that were appended to the old segment before the new one started must come first.
        try fixture.append(4, Fixture.line(8))
        try fixture.write(9, Fixture.line(9))
        #expect(try fixture.take() == [8, 9])
        #expect(fixture.follower.missed == 0)
    }

    @Test func `a segment that is deleted just before it is opened is skipped`() throws {
        let fixture = try Fixture()
        // The listing reads the first line of each segment. After that, the follower opens them.
        fixture.files.deletions = [Fixture.name(1): 2, Fixture.name(5): 2]
        for first in [1, 3, 5, 7] { try fixture.write(first, Fixture.lines(first...first + 1)) }
        #expect(try fixture.take() == [3, 4, 7, 8])
        #expect(fixture.files.deletions.values.allSatisfy { $0 <= 0 })
        #expect(fixture.follower.missed == 2)
    }

    @Test func `an error names the path that cannot be opened, otherwise the segment that is read`() throws {
        let fixture = try Fixture()
        let manager = FileManager.default
        try fixture.write(1, Fixture.lines(1...2))
        #expect(try fixture.take() == [1, 2])
        let link = fixture.folder.path + "/events/" + Fixture.name(3)
        try manager.createSymbolicLink(atPath: link, withDestinationPath: "/nowhere")
        #expect(throws: Errno.noSuchFileOrDirectory) { try fixture.take() }
        #expect(fixture.follower.failure(.ioError) == .readFailed(link, .ioError))
        try manager.removeItem(atPath: link)
        #expect(try fixture.take() == [])
        let segment = fixture.folder.path + "/events/" + Fixture.name(1)
        #expect(fixture.follower.failure(.ioError) == .readFailed(segment, .ioError))
        let folder = fixture.folder.path + "/events"
        try manager.moveItem(atPath: folder, toPath: folder + ".old")
        try Data().write(to: URL(fileURLWithPath: folder))
        fixture.follower.move(to: LinePosition(sequence: 0))
        #expect(throws: Errno.notDirectory) { try fixture.take() }
        #expect(fixture.follower.failure(.ioError) == .readFailed(folder, .ioError))
    }

    @Test func `a segment that is a symbolic link is read once, and again if its target is replaced`() throws {
        let fixture = try Fixture()
        try fixture.write(1, Fixture.lines(1...3))
        let target = fixture.folder.path + "/archive"
        let link = fixture.folder.path + "/events/" + Fixture.name(1)
        try FileManager.default.moveItem(atPath: link, toPath: target)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(try fixture.take() == [1, 2, 3])
        #expect(try fixture.take() == [])
        try fixture.folder.write("new", Fixture.lines(1...5))
        try #require(rename(fixture.folder.path + "/new", target) == 0)
        #expect(try fixture.take() == [4, 5])
        try fixture.write(6, Fixture.lines(6...7))
        #expect(try fixture.take() == [6, 7])
        #expect(fixture.follower.missed == 0 && fixture.follower.damaged == 0)
    }

    @Test func `an incomplete line is not read until its end is written`() throws {
        let fixture = try Fixture()
        let line = Fixture.line(2)
        try fixture.write(1, Fixture.line(1) + line.prefix(40))
        #expect(try fixture.take() == [1])
        #expect(try fixture.take() == [])
        try fixture.append(1, String(line.dropFirst(40)))
        #expect(try fixture.take() == [2])
    }

    @Test func `a line above the limit is read when the limit permits it, with its bytes at that time`() throws {
        let fixture = try Fixture()
        try fixture.write(1, Fixture.lines(1...2) + Fixture.line(3).replacingOccurrences(of: "\"b\"", with: "\"old\""))
        #expect(try fixture.take(upTo: 2) == [1, 2])
        try fixture.write(1, Fixture.lines(1...4))
        #expect(try fixture.take(upTo: 3) == [3])
        #expect(!String(decoding: fixture.line, as: UTF8.self).contains("old"))
        #expect(try fixture.take() == [4])
    }

    @Test func `if a restart removes an incomplete end and writes again, no line is missed or read twice`() throws {
        let fixture = try Fixture()
        try fixture.write(1, Fixture.lines(1...3) + Fixture.line(4).prefix(90))
        #expect(try fixture.take() == [1, 2, 3])
        try fixture.write(1, Fixture.lines(1...2))
        #expect(try fixture.take() == [])
        try fixture.append(1, Fixture.lines(3...5))
        #expect(try fixture.take() == [4, 5])
        #expect(fixture.follower.missed == 0)
    }

    @Test(arguments: [0, 1, 4, 6, 9])
    func `a position that has only a number is found`(_ sequence: Int) throws {
        let fixture = try Fixture(from: LinePosition(sequence: sequence))
        try fixture.write(1, Fixture.lines(1...5))
        try fixture.write(6, Fixture.lines(6...9))
        #expect(try fixture.take() == Array((sequence + 1)..<10))
        #expect(fixture.follower.missed == 0)
    }

    @Test func `the place of a position saves a search, and a wrong place neither loses nor repeats a line`() throws {
        let fixture = try Fixture()
        try fixture.write(1, Fixture.lines(1...5))
        while try fixture.follower.next(into: &fixture.line, upTo: 3, &fixture.message) {}
        let position = fixture.follower.position
        #expect(position.sequence == 3)
        #expect(position.segment == Fixture.name(1))
        #expect(position.offset == Fixture.lines(1...3).utf8.count)
        for wrong in [
            position, LinePosition(sequence: 3, segment: "gone", offset: 7),
            LinePosition(sequence: 3, segment: Fixture.name(1), offset: 1 << 40),
            LinePosition(sequence: 3, segment: Fixture.name(1), offset: position.offset + 11),
            LinePosition(sequence: 3, segment: Fixture.name(1), offset: 0),
        ] {
            fixture.follower.move(to: wrong)
            #expect(try fixture.take() == [4, 5], "\(wrong)")
        }
    }

    /// Replaces a segment in one step, as an erasure does, with one in which every line has another boot.
    private static func replace(_ fixture: Fixture, _ first: Int) throws {
        let (name, new) = ("events/" + Fixture.name(first), "events/replacement")
        try fixture.folder.write(
            new, try fixture.folder.read(name).replacingOccurrences(of: #""boot":"b""#, with: #""boot":"x""#))
        #expect(rename(fixture.folder.path + "/" + new, fixture.folder.path + "/" + name) == 0)
    }

    @Test func `if a segment is replaced while it is read, no line above the limit is returned`() throws {
        let fixture = try Fixture()
        try fixture.write(1, Fixture.lines(1...6))
        #expect(try fixture.take(upTo: 3) == [1, 2, 3])
        try Self.replace(fixture, 1)
        #expect(try fixture.take(upTo: 4) == [4])
        #expect(String(decoding: fixture.line, as: UTF8.self).contains(#""boot":"x""#))
        #expect(try fixture.take() == [5, 6])
        #expect(fixture.follower.missed == 0 && fixture.follower.damaged == 0)
    }

    @Test func `after a refresh, buffered lines of a segment that was replaced are not returned`() throws {
        let fixture = try Fixture()
        try fixture.write(1, Fixture.lines(1...6))
        for _ in 1...3 { #expect(try fixture.follower.next(into: &fixture.line, upTo: .max, &fixture.message)) }
        #expect(try fixture.follower.refresh() == false)
        try Self.replace(fixture, 1)
        #expect(try fixture.follower.refresh())
        #expect(try fixture.follower.next(into: &fixture.line, upTo: .max, &fixture.message))
        #expect(String(decoding: fixture.line, as: UTF8.self).contains(#""boot":"x""#))
        #expect(try fixture.take() == [5, 6])
        #expect(fixture.follower.missed == 0 && fixture.follower.damaged == 0)
    }

    @Test func `a segment that is deleted while it is read is read to its end`() throws {
        let fixture = try Fixture()
        try fixture.write(1, Fixture.lines(1...6))
        try fixture.write(7, Fixture.line(7))
        #expect(try fixture.take(upTo: 3) == [1, 2, 3])
        try FileManager.default.removeItem(atPath: fixture.folder.path + "/events/" + Fixture.name(1))
        #expect(try fixture.follower.refresh() == false)
        #expect(try fixture.take() == [4, 5, 6, 7])
        #expect(fixture.follower.missed == 0)
    }

    @Test func `missing lines are counted, and invalid lines are skipped`() throws {
        let fixture = try Fixture(from: LinePosition(sequence: 3))
        try fixture.write(10, Fixture.line(10) + "{\"torn\n" + Fixture.line(13))
        #expect(try fixture.take() == [10, 13])
        #expect(fixture.follower.missed == 8)
        // The line is read twice, because the gap after it can be a truncation.
        #expect(fixture.follower.damaged >= 1)
    }

    @Test func `evidence has no number and is not returned; ranging is returned`() throws {
        let fixture = try Fixture()
        let evidence =
            #"{"version":2,"type":"evidence","gateway":"g","boot":"b","event":1,"date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1}"#
        let ranging =
            #"{"topic":"p/g/ranging/a","qos":0,"retain":false,"payload":{"version":2,"type":"ranging","gateway":"g","boot":"b","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1}}"#
        try fixture.write(1, Fixture.line(1) + evidence + "\n" + ranging + "\n" + Fixture.line(2))
        #expect(try fixture.take() == [1, -1, 2])
    }
}

@Suite struct LineMessageTests {
    private func message(_ line: String) -> LineMessage? {
        var message = LineMessage(prefix: "beacons")
        return message.parse(Array(line.utf8)) ? message : nil
    }

    private func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    private static let payload =
        #"{"version":2,"type":"event","gateway":"lobby","boot":"b","sequence":42,"identifier":"staff","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1}"#

    @Test(arguments: ["", "   "])
    func `an erased line has its number and is not published`(padding: String) {
        let erased = Self.payload.replacingOccurrences(of: #""type":"event""#, with: #""type":"erased""#)
            .replacingOccurrences(of: #""identifier":"staff","#, with: padding)
        for line in [erased, #"{"topic":"beacons/lobby/erased","qos":1,"retain":false,"payload":\#(erased)}"#] {
            let message = message(line)
            #expect(message?.sequence == 42 && message?.isErased == true && message?.isPublished == false)
        }
        #expect(message(Self.payload)?.isErased == false)
    }

    @Test func `an envelope has the topic, and its payload is published`() throws {
        let line = #"{"topic":"beacons/lobby/event/staff","qos":1,"retain":false,"payload":\#(Self.payload)}"#
        let message = try #require(self.message(line))
        #expect(message.sequence == 42)
        #expect(text(message.topic) == "beacons/lobby/event/staff\0")
        #expect(text(Array(line.utf8)[message.payload]) == Self.payload)
        #expect(message.isPublished)
    }

    @Test func `a line can have keys in another order, spaces and escapes`() throws {
        let line = #"{ "qos":1, "topic":"beacons/lobby/event/a\"b\u00e9", "payload":\#(Self.payload) }"#
        let message = try #require(self.message(line))
        #expect(message.sequence == 42)
        #expect(text(message.topic) == "beacons/lobby/event/a\"bé\0")
        #expect(text(Array(line.utf8)[message.payload]) == Self.payload)
    }

    @Test func `a payload without an envelope has the topic that its envelope would have`() throws {
        let message = try #require(self.message(Self.payload))
        #expect(text(message.topic) == "beacons/lobby/event/staff\0")
        #expect(message.sequence == 42)
        #expect(text(Array(Self.payload.utf8)[message.payload]) == Self.payload)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"topic":"a"}"#, #"{"topic":"a","qos":1,"retain":false,"payload":{"#,
    ])
    func `text that is not a line is refused`(_ line: String) {
        #expect(message(line) == nil)
    }

    @Test(arguments: ["beacons/+/a", "beacons/#", ""])
    func `a line with a topic that MQTT does not allow is not published`(_ topic: String) throws {
        let line = #"{"topic":"\#(topic)","qos":1,"retain":true,"payload":\#(Self.payload)}"#
        #expect(try #require(self.message(line)).isPublished == false)
    }

    @Test(arguments: [0, 7, 64])
    func `truncated lines are refused, and changed lines cause no trap`(_ seed: Int) {
        let line = Array(
            #"{"topic":"beacons/lobby/event/staff","qos":1,"retain":false,"payload":\#(Self.payload)}"#.utf8)
        var message = LineMessage(prefix: "beacons")
        for end in line.indices { #expect(message.parse(Array(line[..<end])) == false) }
        for index in line.indices {
            var changed = line
            changed[index] = UInt8(truncatingIfNeeded: seed)
            if message.parse(changed) { #expect(message.payload.upperBound <= changed.count) }
        }
    }
}

@Suite struct PublishingCheckpointTests {
    @Test func `a checkpoint is read as it was written, and is nil if there is none`() throws {
        let folder = try Folder()
        let path = FilePath(folder.path + "/mqtt.json")
        #expect(try PublishingCheckpoint.read(path) == nil)
        let checkpoint = PublishingCheckpoint(position: LinePosition(sequence: 42, segment: "events-1", offset: 7))
        try checkpoint.write(path)
        #expect(try PublishingCheckpoint.read(path) == checkpoint)
    }

    @Test(arguments: [
        "", "{", "{}", #"{"version":1}"#, #"{"version":1,"sequence":-1}"#, #"{"version":"1","sequence":1}"#,
    ])
    func `a damaged checkpoint is an error with its path`(_ text: String) throws {
        let folder = try Folder()
        try folder.write("mqtt.json", text)
        #expect(throws: PublishingCheckpoint.Problem.damaged(folder.path + "/mqtt.json")) {
            try PublishingCheckpoint.read(FilePath(folder.path + "/mqtt.json"))
        }
    }

    @Test func `a checkpoint of a newer version is an error with its path and version`() throws {
        let folder = try Folder()
        try folder.write("mqtt.json", #"{"version":2,"sequence":1}"#)
        #expect(throws: PublishingCheckpoint.Problem.newer(folder.path + "/mqtt.json", 2)) {
            try PublishingCheckpoint.read(FilePath(folder.path + "/mqtt.json"))
        }
    }
}
