import Foundation
import JSON
import SystemPackage
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// Erasures of one beacon, in given lines and in random folders.
///
/// `BEACON_ERASURES` sets the number of simulation runs in which an erasure is killed at each call that changes a file.
/// If it is at most two, these runs are small. `BEACON_SEED` is the seed of the first run.
@Suite struct ErasureTests {
    private static let erasures = environment("BEACON_ERASURES", default: 2)
    private static let killed = SeededGenerator.seeds(erasures)
    private static let seeds = SeededGenerator.seeds(6)

    private static let beacon = Sample.beacon
    private static let torn = #"{"topic":"beacons/lobby/event/staff/\#(Sample.uuid)/100/7","qos":1,"ret"#

    /// Returns the text of an event file after an erasure.
    private func erased(_ text: String) throws -> String {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path + "/events", withIntermediateDirectories: true)
        let name = "events/events-000000000001-20261121T074627Z.jsonl"
        try folder.write(name, text)
        var erasure = try EventFilesErasure(FilePath(folder.path + "/events"), ErasureRequest(Self.beacon))
        try erasure.run()
        return try folder.read(name)
    }

    private func line(_ type: String, _ more: String, number: Int = 1) -> String {
        #"{"topic":"beacons/lobby/\#(type)","qos":1,"retain":false,"payload":{"version":2,"type":"\#(type)","#
            + #""gateway":"lobby","sequence":\#(number),"date":"2026-11-21T07:46:27.123456Z","time":1795247187123,"#
            + #""monotonic":1,\#(more)}}"# + "\n"
    }

    @Test func `a line with the beacon in a place that this version does not know is erased`() throws {
        let beacon = #""uuid":"\#(Sample.uuid)","major":100,"minor":7"#
        for more in [
            #""statistics":{"loudest":{\#(beacon)}}"#, #""list":[[{\#(beacon),"rssi":-60}]]"#,
            #""note":"seen \#(Sample.uuid)/100/7 there""#, #""b":{"minor":7, "major":100, "uuid":"\#(Sample.uuid)"}"#,
            #""b":{"minor":7,"major":100,"uuid":"\#("\(Sample.uuid)".lowercased())"}"#,
        ] {
            let text = line("surprise", more) + line("surprise", #""note":"nobody""#, number: 2)
            let after = try erased(text)
            #expect(after.utf8.count == text.utf8.count)
            #expect(after.hasPrefix(#"{"topic":"beacons/lobby/erased","qos":1,"retain":false,"payload":{"version":2,"#))
            #expect(!after.contains("100") && after.hasSuffix(line("surprise", #""note":"nobody""#, number: 2)))
        }
    }

    @Test(arguments: [("100", "70"), ("10", "7"), ("1000", "7"), ("100", "8")])
    func `a line of another beacon whose numbers start alike does not change`(major: String, minor: String) throws {
        let text = line("x", #""b":{"uuid":"\#(Sample.uuid)","major":\#(major),"minor":\#(minor)},"n":[7,100]"#)
        #expect(try erased(text) == text)
    }

    @Test(arguments: ["", "\n", "\0\0\0", "\n" + String(repeating: "x", count: 300) + "\n"])
    func `an incomplete or damaged line with the beacon becomes blank, and the next line stays`(end: String) throws {
        let whole = line("x", #""n":1"#, number: 2)
        let text = line("x", #""n":1"#) + Self.torn + end + whole
        let after = try erased(text)
        #expect(after.utf8.count == text.utf8.count)
        #expect(!after.contains("100/7"))
        #expect(after.hasSuffix(whole) && after.hasPrefix(line("x", #""n":1"#)))
        #expect(try erased(Self.torn) == String(repeating: " ", count: Self.torn.utf8.count))
    }

    // If the lines of two gateways are in one folder, numbers do not show which files a gateway writes.
    @Test func `files that existed before, or start up to the given number, are erased; others are not`() throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path + "/events", withIntermediateDirectories: true)
        func name(_ first: Int) -> String { String(format: "events/events-%012d-20261121T074627Z.jsonl", first) }
        func text(_ number: Int) -> String {
            let beacon = #""b":{"uuid":"\#(Sample.uuid)","major":100,"minor":7}"#
            return line("surprise", beacon, number: number) + line("surprise", #""n":1"#, number: number + 1)
        }
        for number in [1, 900] { try folder.write(name(number), text(number)) }
        var erasure = try EventFilesErasure(FilePath(folder.path + "/events"), ErasureRequest(Self.beacon))
        for number in [40, 60] { try folder.write(name(number), text(number)) }
        try erasure.run(upTo: 59)
        #expect(erasure.files == 3 && erasure.counts.erased == 3)
        for number in [1, 40, 60, 900] {
            #expect(try folder.read(name(number)).contains("\(Sample.uuid)") == (number == 60), "\(number)")
        }
    }

    @Test func `it is an error if another process replaces a file meanwhile, but not if it deletes it`() throws {
        let text = line("x", #""b":{"uuid":"\#(Sample.uuid)","major":100,"minor":7}"#)
        for isDeleted in [false, true] {
            let folder = try Folder()
            try FileManager.default.createDirectory(atPath: folder.path + "/events", withIntermediateDirectories: true)
            let name = "events/events-000000000001-20261121T074627Z.jsonl"
            try folder.write(name, text)
            try folder.write("other", text)
            let files = DyingFiles(after: .max)
            let path = folder.path + "/" + name
            files.meanwhile = {
                guard FileManager.default.fileExists(atPath: folder.path + "/events/.erasing.new"),
                    rename(folder.path + "/other", path) == 0, isDeleted
                else { return }
                try FileManager.default.removeItem(atPath: path)
            }
            var erasure = try EventFilesErasure(
                FilePath(folder.path + "/events"), ErasureRequest(Self.beacon), files: files)
            if isDeleted {
                try erasure.run()
                #expect(erasure.files == 0 && erasure.counts.isEmpty)
            } else {
                #expect(throws: EventLogError.changedMeanwhile(path)) { try erasure.run() }
                #expect(try folder.read(name) == text)
            }
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/events/.erasing.new"))
        }
    }

    @Test func `evidence in a forged line without a topic, or with an empty one, is erased too`() throws {
        let beacon = #""condition":{"uuid":"\#(Sample.uuid)","major":100,"minor":7},"identifier":"x""#
        let payload =
            #""payload":{"version":1,"type":"evidence","date":"2026-11-21T00:02:00.000000Z","monotonic":1,"event":5}}"#
        let text =
            line("event", beacon, number: 5) + "{\(payload)\n" + "{\"topic\":\"\",\(payload)\n"
            + line("x", #""n":1"#, number: 7)
        let after = try erased(text)
        #expect(after.utf8.count == text.utf8.count)
        let lines = after.split(separator: "\n", omittingEmptySubsequences: false)
        for index in 0..<3 { #expect(lines[index].contains(#""type":"erased""#), "\(lines[index])") }
        #expect(!lines[1].contains("topic") && lines[2].hasPrefix(#"{"topic":"erased","payload":{"version":1,"#))
        #expect(lines[3] + "\n" == line("x", #""n":1"#, number: 7))
    }

    @Test(arguments: ["\t", "\r", "  ", "\t \r"])
    func `with white space around a comma, a line is still valid JSON after the erasure`(space: String) throws {
        let text = line(
            "event",
            #""state":"satisfied"\#(space),\#(space)"refinement"\#(space):\#(space){"uuid":"\#(Sample.uuid)","major":100,"minor":7}"#
        )
        var parsed = JSONText(Array(try erased(text).utf8.dropLast()))
        let isJSON = parsed.parse()
        let payload = try #require(parsed.find("payload", in: 0))
        #expect(isJSON && parsed.integer(parsed.find("sequence", in: payload)) == 1)
        #expect(parsed.string(parsed.find("gateway", in: payload)) == "lobby")
    }

    @Test(arguments: [FailingFiles.Call.copyOwnership, .rename, .synchronize, .write])
    func `if a file cannot be replaced, it does not change, and no copy is left`(call: FailingFiles.Call) throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path + "/events", withIntermediateDirectories: true)
        let name = "events/events-000000000001-20261121T074627Z.jsonl"
        let text = line("x", #""b":{"uuid":"\#(Sample.uuid)","major":100,"minor":7}"#)
        try folder.write(name, text)
        let files = FailingFiles()
        files.failures = [call: .notPermitted]
        let path = folder.path + "/" + name
        var erasure = try EventFilesErasure(
            FilePath(folder.path + "/events"), ErasureRequest(Self.beacon), files: files)
        let expected: EventLogError =
            call == .copyOwnership ? .ownerNotKept(path, .notPermitted) : .writeFailed(path, .notPermitted)
        #expect(throws: expected) { try erasure.run() }
        #expect(try folder.read(name) == text)
        #expect(folder.segments.count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/events").count == 1)
    }

    @Test func `while a gateway runs, only the damaged state file of an earlier start is deleted`() throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path + "/state", withIntermediateDirectories: true)
        let text = #"{"b":{"uuid":"\#(Sample.uuid)","major":100,"minor":7}"#
        let temporary = [".state.json.new", ".erase.json.new", ".mqtt-state.json.new", ".mqtt-forget.json.new"]
        for name in ["state.json", "state.json.damaged"] + temporary { try folder.write("state/" + name, text) }
        let erasure = StateErasure(FilePath(folder.path + "/state"), ErasureRequest(Self.beacon))
        #expect(try erasure.run(isDryRun: true, isRunning: true) == ["state.json.damaged"])
        #expect(try folder.read("state/state.json.damaged") == text)
        #expect(try erasure.run(isRunning: true) == ["state.json.damaged"])
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/state/state.json.damaged"))
        for name in ["state.json"] + temporary { #expect(try folder.read("state/" + name) == text) }
        // Without a gateway, temporary files that a power failure left are deleted too.
        try FileManager.default.removeItem(atPath: folder.path + "/state/state.json")
        #expect(try Set(erasure.run()) == Set(temporary))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state").isEmpty)
    }

    @Test(arguments: seeds)
    func `no file contains the beacon any more, and all other lines keep their bytes`(seed: UInt64) throws {
        let fixture = try ErasureFixture(seed: seed)
        for beacon in fixture.beacons.shuffled(using: &fixture.random).prefix(2) {
            let truth = try ErasureTruth(fixture, beacon)
            let numbers = try fixture.numbers()
            let expected = try fixture.erase(ErasureRequest(beacon), isDryRun: true)
            let done = try fixture.erase(ErasureRequest(beacon))
            #expect(done == expected, "seed \(seed)")
            try truth.check(fixture)
            #expect(try fixture.numbers() == numbers, "seed \(seed)")
            var reader = try LogReader([FilePath(fixture.folder.path + "/events")])
            try reader.read([.event, .visit, .condition, .adapter, .clock, .gateway, .evidence]) { _ in true }
            #expect(reader.damagedLines == 0, "seed \(seed)")
            // A second erasure must not count or rewrite anything.
            let files = DyingFiles(after: .max)
            let again = try fixture.erase(ErasureRequest(beacon), files: files)
            #expect(again == (0, ErasureCounts(), []), "seed \(seed)")
        }
        // A gateway continues with the remaining lines and their numbers.
        let last = try fixture.numbers().last ?? 0
        #expect(try fixture.journal().recovery.sequence == last, "seed \(seed)")
    }

    @Test(arguments: seeds)
    func `each file that is rewritten keeps its mode, also the state file`(seed: UInt64) throws {
        let fixture = try ErasureFixture(seed: seed)
        let names = try fixture.files().keys
        for name in names { #expect(chmod(fixture.folder.path + "/" + name, 0o604) == 0) }
        let before = try fixture.files()
        for beacon in fixture.beacons { _ = try fixture.erase(ErasureRequest(beacon)) }
        let after = try fixture.files()
        #expect(after["state/state.json"] == nil || before["state/state.json"] != after["state/state.json"])
        for name in after.keys {
            var status = stat()
            try #require(stat(fixture.folder.path + "/" + name, &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o604, "\(name), seed \(seed)")
        }
    }

    @Test(arguments: killed)
    func `an erasure that is killed at any call that changes a file is completed by the next one`(seed: UInt64) throws {
        let fixture = try ErasureFixture(seed: seed, turns: Self.erasures > 2 ? 25 : 8)
        let beacon = fixture.random.pick(fixture.beacons)
        let truth = try ErasureTruth(fixture, beacon)
        let copy = try fixture.files()
        let whole = DyingFiles(after: .max)
        _ = try fixture.erase(ErasureRequest(beacon), files: whole)
        try truth.check(fixture)
        let result = try fixture.files()
        #expect(!whole.changes.isEmpty)
        for (call, partial) in whole.changes.flatMap({ [($0, false), ($0, true)] }) {
            try fixture.restore(copy)
            let dying = DyingFiles(after: call, partial: partial)
            #expect(throws: (any Error).self) { _ = try fixture.erase(ErasureRequest(beacon), files: dying) }
            // Each file must be complete, old or new.
            #expect(try fixture.numbers() == truth.numbers, "seed \(seed), call \(call)")
            _ = try fixture.erase(ErasureRequest(beacon))
            try truth.check(fixture)
            #expect(try fixture.files() == result, "seed \(seed), call \(call)")
        }
    }

    @Test(arguments: seeds)
    func `a follower misses no line and gets none twice while files are erased`(seed: UInt64) throws {
        let fixture = try ErasureFixture(seed: seed)
        let beacon = fixture.random.pick(fixture.beacons)
        let all = try fixture.numbers()
        let reader = FollowerBox(
            LineFollower(FilePath(fixture.folder.path + "/events"), from: LinePosition(sequence: 0)))
        reader.numbers = try reader.follower.takeNumbers(fixture.random.below(all.count))
        var random = SeededGenerator(state: seed)
        let files = DyingFiles(after: .max)
        files.meanwhile = { if random.chance(30) { reader.numbers += try reader.follower.takeNumbers(3) } }
        _ = try fixture.erase(ErasureRequest(beacon), files: files)
        reader.numbers += try reader.follower.takeNumbers(.max)
        #expect(reader.numbers == all, "seed \(seed)")
        #expect(reader.follower.missed == 0)
        #expect(reader.follower.damaged == 0)
        // The checkpoint of a publisher stays valid too: its position and its byte offset.
        var follower = LineFollower(FilePath(fixture.folder.path + "/events"), from: reader.follower.position)
        #expect(try follower.takeNumbers(.max) == [])
    }

    @Test(arguments: seeds)
    func `lines before a date lose the beacon, and lines from that date on keep it`(seed: UInt64) throws {
        let fixture = try ErasureFixture(seed: seed)
        let beacon = fixture.random.pick(fixture.beacons)
        func dates() throws -> (named: [WallDate], all: [Int]) {
            var (named, all): ([WallDate], [Int]) = ([], [])
            var reader = try LogReader([FilePath(fixture.folder.path + "/events")])
            try reader.read([.event, .visit]) { line in
                all.append(line.sequence ?? 0)
                switch line.entry {
                case .event(let event) where event.refinement == beacon: named.append(line.date)
                case .visit(let visit) where visit.refinement == beacon: named.append(line.date)
                default: break
                }
                return true
            }
            return (named, all)
        }
        let reported = try dates().named.sorted()
        guard reported.count > 1 else { return }
        let date = reported[reported.count / 2]
        _ = try fixture.erase(ErasureRequest(beacon, before: date))
        #expect(try dates().named.sorted() == reported.filter { $0 >= date }, "seed \(seed)")
    }
}

/// A follower that is read in two places of a test.
private final class FollowerBox {
    var follower: LineFollower
    var numbers: [Int] = []
    init(_ follower: consuming LineFollower) { self.follower = follower }
}

extension ErasureFixture {
    /// Restores earlier contents of the files.
    func restore(_ files: [String: Data]) throws {
        for name in try self.files().keys where files[name] == nil {
            try FileManager.default.removeItem(atPath: folder.path + "/" + name)
        }
        for (name, data) in files { try data.write(to: URL(fileURLWithPath: folder.path + "/" + name)) }
    }
}
