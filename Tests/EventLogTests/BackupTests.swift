import BaseTypes
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// A copy that is made as the manual describes, while the gateway runs: first the state, then the event files, without
/// `current`.
@Suite struct BackupTests {
    private static let seeds = SeededGenerator.seeds(8)

    /// A gateway that continues to write while it is copied.
    private struct Fixture {
        let folder: Folder
        let journal: Journal
        var random: SeededGenerator
        var now = Instant.start

        init(seed: UInt64) throws {
            folder = try Folder()
            random = SeededGenerator(state: seed)
            journal = try Fixture.journal(folder, "aaaaaaaa", at: now)
        }

        static func journal(_ folder: Folder, _ machine: String, at now: Instant) throws -> Journal {
            let files = FailingFiles()
            files.synchronizes = false
            return try Journal(in: folder, files: files, machine: machine, at: now) {
                $0.rotateSize = 4000
                $0.snapshotInterval = .seconds(60)
            }
        }

        mutating func proceed(_ most: Int) {
            for _ in 0...random.below(most) {
                now = now + .seconds(1 + random.below(20))
                let seconds = Int((now - Instant.start).components.seconds)
                journal.event(
                    random.chance(50) ? "staff" : "visitors", random.chance(50) ? .satisfied : .unsatisfied, at: seconds
                )
                journal.advance(to: now)
                if journal.wantsSnapshot || random.chance(5) { journal.keep(MonitorSnapshot(), at: now) }
            }
        }
    }

    private static func copy(_ name: String, from: Folder, to: Folder) throws {
        let target = to.path + "/" + name
        try FileManager.default.createDirectory(
            atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: from.path + "/" + name, toPath: target)
    }

    @Test(arguments: seeds)
    func `a copy continues with unused numbers, whenever and however long ago it was made`(seed: UInt64) throws {
        var fixture = try Fixture(seed: seed)
        fixture.proceed(80)
        fixture.journal.keep(MonitorSnapshot(), at: fixture.now)
        let copy = try Folder()
        try Self.copy("state/state.json", from: fixture.folder, to: copy)
        fixture.proceed(20)
        // A file that is created during the copying can be missing in the copy.
        for name in fixture.folder.segments {
            try Self.copy("events/" + name, from: fixture.folder, to: copy)
            fixture.proceed(6)
        }
        let copied = try copy.numbers
        if fixture.random.chance(50), let last = copy.segments.last {
            // The last line is cut, as if it was written just then.
            let path = copy.path + "/events/" + last
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try bytes.dropLast(fixture.random.below(60)).write(to: URL(fileURLWithPath: path))
        }
        // The gateway continues for a long time, and all of its lines are published.
        fixture.proceed(300)
        let issued = fixture.journal.sequence
        try copy.write("state/restored", "")
        let start = fixture.now + .seconds(1_000_000)
        var journal = try Fixture.journal(copy, "bbbbbbbb", at: start)
        #expect(journal.sequence > issued + 900_000_000, "seed \(seed)")
        #expect(journal.recovery.remarks.contains { $0.contains("restored") })
        let first = journal.sequence
        // If the start is killed before it stores a snapshot, the next start skips the same numbers. After that,
        // numbers continue.
        journal = try Fixture.journal(copy, "bbbbbbbb", at: start)
        #expect(journal.sequence >= first, "seed \(seed)")
        #expect(journal.keep(MonitorSnapshot(), at: start))
        #expect(!FileManager.default.fileExists(atPath: copy.path + "/state/restored"))
        let next = journal.sequence
        journal.append(.event(Sample.event("staff", .satisfied, at: 2_000_000)))
        journal.close(MonitorSnapshot(), at: start)
        let again = try Fixture.journal(copy, "bbbbbbbb", at: start)
        #expect(again.sequence == next + 1, "seed \(seed)")
        // The copied lines must still be in the files.
        let numbers = try copy.numbers.filter { (1...issued).contains($0) }
        #expect(numbers == Array(copied.prefix(numbers.count)) && numbers.count >= copied.count - 1, "seed \(seed)")
    }
}
