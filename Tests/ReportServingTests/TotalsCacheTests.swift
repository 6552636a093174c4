import BaseTypes
import BeaconMonitoring
import EventLog
import EventLoops
import Foundation
import ProgramSupport
import SystemPackage
import TestSupport
import Testing

@testable import ReportServing

/// The cache of totals of closed event files, with which a start does not have to read all files.
@Suite struct TotalsCacheTests {
    private static let seeds = SeededGenerator.seeds(8)

    @Test(arguments: seeds)
    func `a start from the cache has the totals of all lines, wherever a file ends`(seed: UInt64) async throws {
        var generator = SeededGenerator(state: seed)
        let fixture = try TotalsFixture(&generator)
        var kept = 0
        for count in 2...fixture.files.count {
            try fixture.clear()
            for file in fixture.files[..<count] { try fixture.write(file) }
            do {
                let before = try await fixture.follow(keeping: true)
                try await fixture.keep(before)
            }
            // After a clock line, totals must be stored with the corrected dates, or not at all.
            let totals = fixture.file.read()
            if let totals {
                kept += 1
                #expect(totals.files == count - 1)
                #expect(totals.position.segment == fixture.files[count - 1].name)
            }
            for file in fixture.files[count...] { try fixture.write(file) }
            let begun = Following(fixture.directory, storedIn: fixture.file, on: fixture.loop)
            #expect(
                begun.state.counts.sequence == totals?.position.sequence ?? 0, "lines in the cache are not read again")
            try await fixture.turn(begun)
            let whole = try await fixture.follow(keeping: false)
            #expect(try fixture.bytes(begun) == fixture.bytes(whole), "seed \(seed), \(count) files")
            #expect((begun.missed, begun.damaged) == (whole.missed, whole.damaged))
        }
        #expect(kept > 0)
    }

    @Test func `the cache is ignored if damaged, of another version or folder, or if files changed`() async throws {
        var generator = SeededGenerator(state: 3)
        let fixture = try TotalsFixture(&generator)
        func path(_ place: Int) -> String { "\(fixture.directory)/\(fixture.files[place].name)" }
        let manager = FileManager.default
        // Each change is one that an operator, an erasure, retention or a crash can make.
        let changes: [(String, () throws -> Void)] = [
            (
                "one file was replaced by another with the same bytes",
                {
                    try manager.copyItem(atPath: path(1), toPath: path(1) + ".erasing.new")
                    #expect(rename(path(1) + ".erasing.new", path(1)) == 0)
                }
            ),
            ("the first file was deleted", { try manager.removeItem(atPath: path(0)) }),
            ("one file was cut", { truncate(path(1), off_t(fixture.files[1].text.utf8.count - 1)) }),
            (
                "a byte of one file was changed in its place",
                {
                    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path(1)))
                    try handle.seek(toOffset: 3)
                    try handle.write(contentsOf: Data("v".utf8))
                    try handle.close()
                }
            ),
            (
                "another file was inserted",
                {
                    try manager.copyItem(
                        atPath: path(0), toPath: path(0).replacing("20261121T000000Z", with: "20261121T000001Z"))
                }
            ),
            (
                "the file after the cached ones was deleted",
                { try manager.removeItem(atPath: path(fixture.files.count - 1)) }
            ),
            ("the cache was damaged", { try fixture.damage { $0[$0.count / 2] ^= 1 } }),
            ("the cache ends too early", { try fixture.damage { $0.removeLast() } }),
            ("the cache is empty", { try fixture.damage { $0.removeAll() } }),
            ("the cache has another byte at its end", { try fixture.damage { $0.append(0) } }),
        ]
        for (what, change) in changes {
            try fixture.clear()
            for file in fixture.files { try fixture.write(file) }
            do {
                let following = try await fixture.follow(keeping: true)
                try await fixture.keep(following)
            }
            #expect(fixture.file.read() != nil, "\(what): the cache must exist before the change")
            #expect(TotalsCache(in: fixture.cache, of: fixture.directory, version: "0.0.0").read() == nil)
            #expect(TotalsCache(in: fixture.cache, of: FilePath("/elsewhere")).read() == nil)
            try change()
            #expect(fixture.file.read() == nil, "\(what)")
            let begun = Following(fixture.directory, storedIn: fixture.file, on: fixture.loop)
            #expect(begun.state.counts.sequence == 0, "\(what)")
        }
    }

    @Test func `the cache is ignored if the target of a symbolically linked event file changed`() async throws {
        var generator = SeededGenerator(state: 5)
        let fixture = try TotalsFixture(&generator)
        for file in fixture.files { try fixture.write(file) }
        let (link, target) = ("\(fixture.directory)/\(fixture.files[1].name)", "\(fixture.directory)/archive")
        try FileManager.default.moveItem(atPath: link, toPath: target)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let following = try await fixture.follow(keeping: true)
        try await fixture.keep(following)
        #expect(fixture.file.read() != nil)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: target))
        try handle.write(contentsOf: Data(" ".utf8))
        try handle.close()
        #expect(fixture.file.read() == nil)
    }

    @Test func `after an erasure, the cache is ignored and then stored again without the beacon`() async throws {
        var generator = SeededGenerator(state: 4)
        let fixture = try TotalsFixture(&generator)
        for file in fixture.files { try fixture.write(file) }
        let following = try await fixture.follow(keeping: true)
        try await fixture.keep(following)
        // The first half of the beacon's UUID, as the cache stores it.
        var (beacon, half) = (ByteCoder(), UInt64(0xF782_6DA6_4FA2_4E98))
        try beacon.code(&half)
        let before = try #require(fixture.file.read())
        #expect(try TotalsFixture.bytes(before).firstRange(of: beacon.bytes) != nil)
        for file in fixture.files {
            // The new text does not identify a beacon, as after an erasure.
            let path = "\(fixture.directory)/\(file.name)"
            let text = file.text.replacing("F7826DA6", with: "00000000")
            try Data(text.utf8).write(to: URL(fileURLWithPath: path + ".erasing.new"))
            #expect(rename(path + ".erasing.new", path) == 0)
        }
        try await fixture.turn(following) { following.state.counts.sequence < fixture.last }
        #expect(fixture.file.read() == nil)
        try await fixture.turn(following)
        try await fixture.keep(following)
        let totals = try #require(fixture.file.read())
        #expect(try TotalsFixture.bytes(totals).firstRange(of: beacon.bytes) == nil)
        #expect(following.state.counts.sequence == fixture.last)
    }

    @Test func `a symbolic link in the cache folder is deleted, and its target is not written`() async throws {
        var generator = SeededGenerator(state: 6)
        let fixture = try TotalsFixture(&generator)
        for file in fixture.files { try fixture.write(file) }
        let (link, target) = ("\(fixture.cache)/.fold.new", "\(fixture.directory)/elsewhere")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let following = try await fixture.follow(keeping: true)
        try await fixture.keep(following)
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.cache.string).isEmpty)
    }

    @Test func `without a cache folder, all lines are read and the folder is not created`() async throws {
        var generator = SeededGenerator(state: 5)
        let fixture = try TotalsFixture(&generator)
        for file in fixture.files { try fixture.write(file) }
        try FileManager.default.removeItem(atPath: fixture.cache.string)
        let following = try await fixture.follow(keeping: true)
        try await fixture.keep(following)
        #expect(!FileManager.default.fileExists(atPath: fixture.cache.string))
        #expect(following.state.counts.sequence == fixture.last)
    }

    @Test(arguments: seeds)
    func `reading damaged totals throws or succeeds and never traps; a prefix throws`(seed: UInt64) async throws {
        var generator = SeededGenerator(state: seed)
        let fixture = try TotalsFixture(&generator)
        for file in fixture.files { try fixture.write(file) }
        let following = try await fixture.follow(keeping: false)
        let bytes = try fixture.bytes(following)
        for _ in 0..<500 {
            var damaged = bytes
            for _ in 0...generator.below(4) {
                damaged[generator.below(damaged.count)] = UInt8(truncatingIfNeeded: generator.next())
            }
            if generator.chance(20) { damaged.removeLast(generator.below(damaged.count)) }
            var reading = ByteCoder(reading: damaged)
            var totals = TotalsCache.Totals()
            do throws(ByteCoder.Damage) { try totals.code(with: &reading) } catch { continue }
        }
        // Each prefix lacks the end, so reading it must fail.
        for count in stride(from: 0, to: bytes.count, by: 7) {
            var reading = ByteCoder(reading: Array(bytes[..<count]))
            var totals = TotalsCache.Totals()
            #expect(throws: ByteCoder.Damage.self) { try totals.code(with: &reading) }
        }
    }
}

/// A day of a gateway in several event files, and an event loop with its own clock that follows them.
private final class TotalsFixture {
    let files: [(name: String, text: String)]
    let last: Int
    let directory: FilePath
    let cache: FilePath
    let loop: EventLoop
    private let scratch: Scratch
    private let clock: ManualClock

    private final class ManualClock { var now = Instant(nanoseconds: 1) }

    var file: TotalsCache { TotalsCache(in: cache, of: directory) }

    init(_ generator: inout SeededGenerator) throws {
        scratch = try Scratch()
        let clock = ManualClock()
        self.clock = clock
        loop = try EventLoop(clock: { clock.now })
        directory = FilePath(scratch.path("events"))
        cache = FilePath(scratch.path("cache"))
        var writer = LineWriter()
        FollowingEqualityTests.lines(&generator, &writer)
        var files: [(String, String)] = []
        var begin = 0
        while begin < writer.lines.count {
            // There must be at least four files, so that the lines have borders of files between them.
            let end = min(writer.lines.count, begin + 1 + generator.below(max(1, writer.lines.count / 4)))
            let text = writer.lines[begin..<end].map { $0 + "\n" }.joined()
            files.append((String(format: "events-%012d-20261121T000000Z.jsonl", begin + 1), text))
            begin = end
        }
        self.files = files
        last = writer.sequence
        try clear()
    }

    /// Deletes all event files and the cache, and leaves empty folders.
    func clear() throws {
        for folder in [directory.string, cache.string] {
            try? FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }

    func write(_ file: (name: String, text: String)) throws {
        try Data(file.text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(file.name)"))
    }

    /// Returns a follower that has read all lines. It uses the cache if `keeping` is `true`.
    func follow(keeping: Bool) async throws -> Following {
        let following = Following(directory, storedIn: keeping ? file : nil, on: loop)
        try await turn(following)
        return following
    }

    func turn(_ following: Following) async throws { try await turn(following) { !following.isReading } }

    func turn(_ following: Following, until isSo: () -> Bool) async throws {
        try await until("all lines are read", saw: following.isReading ? "it reads" : "it waits") {
            clock.now = clock.now + .milliseconds(100)
            try loop.turn(waits: false)
            return isSo()
        }
    }

    /// Runs the loop for 4 s of its clock, which is longer than storing the cache takes.
    func keep(_ following: Following) async throws {
        for _ in 0..<40 {
            clock.now = clock.now + .milliseconds(100)
            try loop.turn(waits: false)
        }
    }

    func damage(_ body: (inout [UInt8]) -> Void) throws {
        let url = URL(fileURLWithPath: cache.appending(TotalsCache.name).string)
        var bytes = [UInt8](try Data(contentsOf: url))
        body(&bytes)
        try Data(bytes).write(to: url)
    }

    /// Returns the totals of a follower in the format of the cache. Equal totals have equal bytes.
    func bytes(_ following: Following) throws -> [UInt8] {
        try Self.bytes(TotalsCache.Totals(state: following.state))
    }

    static func bytes(_ totals: TotalsCache.Totals) throws -> [UInt8] {
        var (bytes, totals) = (ByteCoder(), totals)
        try totals.code(with: &bytes)
        return bytes.bytes
    }
}
