import Foundation
import JSON
import SystemPackage
import TestSupport
import Testing

@testable import EventLog

@Suite struct LineFollowerTests {
    /// A folder of segments, and a follower.
    private final class World {
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
        let world = try World()
        #expect(try world.take() == [])
        try world.write(1, World.lines(1...3))
        try world.write(4, World.lines(4...5))
        #expect(try world.take() == [1, 2, 3, 4, 5])
        try world.append(4, World.lines(6...7))
        #expect(try world.take() == [6, 7])
        // Lines that were appended to the old segment before the new one started must come first.
        try world.append(4, World.line(8))
        try world.write(9, World.line(9))
        #expect(try world.take() == [8, 9])
        #expect(world.follower.missed == 0)
    }

    @Test func `a segment that is deleted just before it is opened is skipped`() throws {
        let world = try World()
        // The listing reads the first line of each segment. After that, the follower opens them.
        world.files.deletions = [World.name(1): 2, World.name(5): 2]
        for first in [1, 3, 5, 7] { try world.write(first, World.lines(first...first + 1)) }
        #expect(try world.take() == [3, 4, 7, 8])
        #expect(world.files.deletions.values.allSatisfy { $0 <= 0 })
        #expect(world.follower.missed == 2)
    }

    @Test func `an error names the path that cannot be opened, otherwise the segment that is read`() throws {
        let world = try World()
        let manager = FileManager.default
        try world.write(1, World.lines(1...2))
        #expect(try world.take() == [1, 2])
        let link = world.folder.path + "/events/" + World.name(3)
        try manager.createSymbolicLink(atPath: link, withDestinationPath: "/nowhere")
        #expect(throws: Errno.noSuchFileOrDirectory) { try world.take() }
        #expect(world.follower.failure(.ioError) == .readFailed(link, .ioError))
        try manager.removeItem(atPath: link)
        #expect(try world.take() == [])
        let segment = world.folder.path + "/events/" + World.name(1)
        #expect(world.follower.failure(.ioError) == .readFailed(segment, .ioError))
        let folder = world.folder.path + "/events"
        try manager.moveItem(atPath: folder, toPath: folder + ".old")
        try Data().write(to: URL(fileURLWithPath: folder))
        world.follower.move(to: LinePosition(sequence: 0))
        #expect(throws: Errno.notDirectory) { try world.take() }
        #expect(world.follower.failure(.ioError) == .readFailed(folder, .ioError))
    }

    @Test func `a segment that is a symbolic link is read once, and again if its target is replaced`() throws {
        let world = try World()
        try world.write(1, World.lines(1...3))
        let target = world.folder.path + "/archive"
        let link = world.folder.path + "/events/" + World.name(1)
        try FileManager.default.moveItem(atPath: link, toPath: target)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(try world.take() == [1, 2, 3])
        #expect(try world.take() == [])
        try world.folder.write("new", World.lines(1...5))
        try #require(rename(world.folder.path + "/new", target) == 0)
        #expect(try world.take() == [4, 5])
        try world.write(6, World.lines(6...7))
        #expect(try world.take() == [6, 7])
        #expect(world.follower.missed == 0 && world.follower.damaged == 0)
    }

    @Test func `an incomplete line is not read until its end is written`() throws {
        let world = try World()
        let line = World.line(2)
        try world.write(1, World.line(1) + line.prefix(40))
        #expect(try world.take() == [1])
        #expect(try world.take() == [])
        try world.append(1, String(line.dropFirst(40)))
        #expect(try world.take() == [2])
    }

    @Test func `a line above the limit is read when the limit permits it, with its bytes at that time`() throws {
        let world = try World()
        try world.write(1, World.lines(1...2) + World.line(3).replacingOccurrences(of: "\"b\"", with: "\"old\""))
        #expect(try world.take(upTo: 2) == [1, 2])
        try world.write(1, World.lines(1...4))
        #expect(try world.take(upTo: 3) == [3])
        #expect(!String(decoding: world.line, as: UTF8.self).contains("old"))
        #expect(try world.take() == [4])
    }

    @Test func `if a restart removes an incomplete end and writes again, no line is missed or read twice`() throws {
        let world = try World()
        try world.write(1, World.lines(1...3) + World.line(4).prefix(90))
        #expect(try world.take() == [1, 2, 3])
        try world.write(1, World.lines(1...2))
        #expect(try world.take() == [])
        try world.append(1, World.lines(3...5))
        #expect(try world.take() == [4, 5])
        #expect(world.follower.missed == 0)
    }

    @Test(arguments: [0, 1, 4, 6, 9])
    func `a position that has only a number is found`(_ sequence: Int) throws {
        let world = try World(from: LinePosition(sequence: sequence))
        try world.write(1, World.lines(1...5))
        try world.write(6, World.lines(6...9))
        #expect(try world.take() == Array((sequence + 1)..<10))
        #expect(world.follower.missed == 0)
    }

    @Test func `the place of a position saves a search, and a wrong place neither loses nor repeats a line`() throws {
        let world = try World()
        try world.write(1, World.lines(1...5))
        while try world.follower.next(into: &world.line, upTo: 3, &world.message) {}
        let position = world.follower.position
        #expect(position.sequence == 3)
        #expect(position.segment == World.name(1))
        #expect(position.offset == World.lines(1...3).utf8.count)
        for wrong in [
            position, LinePosition(sequence: 3, segment: "gone", offset: 7),
            LinePosition(sequence: 3, segment: World.name(1), offset: 1 << 40),
            LinePosition(sequence: 3, segment: World.name(1), offset: position.offset + 11),
            LinePosition(sequence: 3, segment: World.name(1), offset: 0),
        ] {
            world.follower.move(to: wrong)
            #expect(try world.take() == [4, 5], "\(wrong)")
        }
    }

    /// Replaces a segment in one step, as an erasure does, with one in which every line has another boot.
    private static func replace(_ world: World, _ first: Int) throws {
        let (name, new) = ("events/" + World.name(first), "events/replacement")
        try world.folder.write(
            new, try world.folder.read(name).replacingOccurrences(of: #""boot":"b""#, with: #""boot":"x""#))
        #expect(rename(world.folder.path + "/" + new, world.folder.path + "/" + name) == 0)
    }

    @Test func `if a segment is replaced while it is read, no line above the limit is returned`() throws {
        let world = try World()
        try world.write(1, World.lines(1...6))
        #expect(try world.take(upTo: 3) == [1, 2, 3])
        try Self.replace(world, 1)
        #expect(try world.take(upTo: 4) == [4])
        #expect(String(decoding: world.line, as: UTF8.self).contains(#""boot":"x""#))
        #expect(try world.take() == [5, 6])
        #expect(world.follower.missed == 0 && world.follower.damaged == 0)
    }

    @Test func `after a refresh, buffered lines of a segment that was replaced are not returned`() throws {
        let world = try World()
        try world.write(1, World.lines(1...6))
        for _ in 1...3 { #expect(try world.follower.next(into: &world.line, upTo: .max, &world.message)) }
        #expect(try world.follower.refresh() == false)
        try Self.replace(world, 1)
        #expect(try world.follower.refresh())
        #expect(try world.follower.next(into: &world.line, upTo: .max, &world.message))
        #expect(String(decoding: world.line, as: UTF8.self).contains(#""boot":"x""#))
        #expect(try world.take() == [5, 6])
        #expect(world.follower.missed == 0 && world.follower.damaged == 0)
    }

    @Test func `a segment that is deleted while it is read is read to its end`() throws {
        let world = try World()
        try world.write(1, World.lines(1...6))
        try world.write(7, World.line(7))
        #expect(try world.take(upTo: 3) == [1, 2, 3])
        try FileManager.default.removeItem(atPath: world.folder.path + "/events/" + World.name(1))
        #expect(try world.follower.refresh() == false)
        #expect(try world.take() == [4, 5, 6, 7])
        #expect(world.follower.missed == 0)
    }

    @Test func `missing lines are counted, and invalid lines are skipped`() throws {
        let world = try World(from: LinePosition(sequence: 3))
        try world.write(10, World.line(10) + "{\"torn\n" + World.line(13))
        #expect(try world.take() == [10, 13])
        #expect(world.follower.missed == 8)
        // The line is read twice, because the gap after it can be a truncation.
        #expect(world.follower.damaged >= 1)
    }

    @Test func `evidence has no number and is not returned; ranging is returned`() throws {
        let world = try World()
        let evidence =
            #"{"version":2,"type":"evidence","gateway":"g","boot":"b","event":1,"date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1}"#
        let ranging =
            #"{"topic":"p/g/ranging/a","qos":0,"retain":false,"payload":{"version":2,"type":"ranging","gateway":"g","boot":"b","date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"monotonic":1}}"#
        try world.write(1, World.line(1) + evidence + "\n" + ranging + "\n" + World.line(2))
        #expect(try world.take() == [1, -1, 2])
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

@Suite struct ShippingCheckpointTests {
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
