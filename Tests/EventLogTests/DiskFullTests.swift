import BaseTypes
import Foundation
import Glibc
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// A small file system of its own, gone with this value.
final class SmallDisk {
    let folder: Folder

    /// `nil` where this user may not mount.
    init?(kilobytes: Int) {
        guard let folder = try? Folder(), mount("tmpfs", folder.path, "tmpfs", 0, "size=\(kilobytes)k") == 0 else {
            return nil
        }
        self.folder = folder
    }

    /// Whether it can be had here at all.
    static let isPossible = SmallDisk(kilobytes: 64) != nil

    /// From now on it takes no writing, root's neither.
    func becomeReadOnly() -> Bool { mount("tmpfs", folder.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 }

    deinit { umount2(folder.path, 2) }
}

/// N5 on a disk that is really full.
@Suite(.enabled(if: SmallDisk.isPossible, "this user may not mount a tmpfs"))
struct DiskFullTests {
    @Test func `N5: a disk fills, monitoring goes on, the gap shows in sequence, and space that returns is used`()
        throws
    {
        let disk = try #require(SmallDisk(kilobytes: 256))
        let folder = disk.folder
        let journal = try Journal(in: folder) {
            $0.rotateSize = 16 << 10
            $0.queueSize = 8 << 10
        }
        journal.event(at: 0)
        try folder.write("ballast", String(repeating: "x", count: 160 << 10))
        var second = 1
        while journal.isKeeping {
            journal.event(at: second)
            second += 1
            try #require(second < 1000)
        }
        let kept = try folder.numbers
        #expect(journal.trouble?.contains("No space left") == true)
        #expect(kept == Array(1...kept.count))
        #expect(journal.durableSequence == kept.count)
        // It goes on: more events than memory has room for.
        for _ in 0..<100 {
            journal.event(at: second)
            second += 1
        }
        #expect(!journal.isKeeping)
        #expect(journal.waiting <= 8 << 10)
        #expect(try folder.numbers == kept)
        let dropped = journal.counters.dropped
        #expect(dropped > 0)
        // A restart in the middle of it reuses no number that was kept.
        try FileManager.default.removeItem(atPath: folder.path + "/ballast")
        journal.advance(to: .start + .seconds(second + 60))
        #expect(journal.isKeeping)
        #expect(journal.waiting == 0)
        let numbers = try folder.numbers
        #expect(numbers.count == journal.sequence - dropped)
        #expect(Array(numbers.prefix(kept.count)) == kept)
        #expect(numbers.last == journal.sequence)
        #expect(zip(numbers, numbers.dropFirst()).count { $0 + 1 != $1 } == 1)
        #expect(journal.record(for: try Identifier("staff"))?.lastEvent == Sample.event(at: second - 1))
        let state = journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(second + 60))
        #expect(state)
        let later = try Journal(in: folder, process: 2, at: .start + .seconds(second + 100))
        #expect(later.recovery.sequence == journal.sequence)
    }

    @Test func `N5: a start on a full disk begins with what is there and keeps lines in memory`() throws {
        let disk = try #require(SmallDisk(kilobytes: 64))
        let folder = disk.folder
        do {
            let journal = try Journal(in: folder)
            journal.event(at: 0)
        }
        let room = (try? FileManager.default.attributesOfFileSystem(forPath: folder.path)[.systemFreeSize] as? Int) ?? 0
        try folder.write("ballast", String(repeating: "x", count: room & ~4095))
        let journal = try Journal(in: folder, process: 2, at: .start + .seconds(10))
        #expect(journal.recovery.sequence == 1)
        var second = 10
        while journal.isKeeping, second < 100 {
            journal.event(at: second)
            second += 1
        }
        #expect(!journal.isKeeping)
        #expect(!journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(second)))
        try FileManager.default.removeItem(atPath: folder.path + "/ballast")
        journal.advance(to: .start + .seconds(second + 60))
        #expect(journal.isKeeping)
        #expect(try folder.numbers == Array(1...journal.sequence))
    }
}
