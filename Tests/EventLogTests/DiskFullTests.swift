import BaseTypes
import Foundation
import Glibc
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// A small file system that is unmounted when this value is destroyed.
final class SmallDisk {
    let folder: Folder

    /// Mounts the file system; `nil` if this user has no permission for it.
    init?(kilobytes: Int) {
        guard let folder = try? Folder(), mount("tmpfs", folder.path, "tmpfs", 0, "size=\(kilobytes)k") == 0 else {
            return nil
        }
        self.folder = folder
    }

    /// Whether this user can mount a file system.
    static let isPossible = SmallDisk(kilobytes: 64) != nil

    /// Makes the file system read-only, for root too. Returns whether that succeeded.
    func becomeReadOnly() -> Bool { mount("tmpfs", folder.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 }

    deinit { umount2(folder.path, 2) }
}

/// Rule N5 on a disk that is really full.
@Suite(.enabled(if: SmallDisk.isPossible, "this user may not mount a tmpfs"))
struct DiskFullTests {
    @Test func `N5: on a full disk monitoring continues, sequence shows the gap, and new space is used again`() throws {
        let disk = try #require(SmallDisk(kilobytes: 256))
        let folder = disk.folder
        let journal = try Journal(in: folder) {
            $0.rotateSize = 16 << 10
            $0.queueSize = 8 << 10
        }
        journal.event(at: 0)
        try folder.write("ballast", String(repeating: "x", count: 160 << 10))
        var second = 1
        while journal.isStoring {
            journal.event(at: second)
            second += 1
            try #require(second < 1000)
        }
        let kept = try folder.numbers
        #expect(journal.failure?.contains("No space left") == true)
        #expect(kept == Array(1...kept.count))
        #expect(journal.durableSequence == kept.count)
        // Monitoring continues, with more events than memory has room for.
        for _ in 0..<100 {
            journal.event(at: second)
            second += 1
        }
        #expect(!journal.isStoring)
        #expect(journal.waiting <= 8 << 10)
        #expect(try folder.numbers == kept)
        let dropped = journal.counters.dropped
        #expect(dropped > 0)
        // When there is room again, the lines in memory are written. A restart must not use a number again.
        try FileManager.default.removeItem(atPath: folder.path + "/ballast")
        journal.advance(to: .start + .seconds(second + 60))
        #expect(journal.isStoring)
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

    @Test func `N5: a start on a full disk continues after the existing lines, and keeps lines in memory`() throws {
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
        while journal.isStoring, second < 100 {
            journal.event(at: second)
            second += 1
        }
        #expect(!journal.isStoring)
        #expect(!journal.keep(JournalTests.snapshot(.satisfied), at: .start + .seconds(second)))
        try FileManager.default.removeItem(atPath: folder.path + "/ballast")
        journal.advance(to: .start + .seconds(second + 60))
        #expect(journal.isStoring)
        #expect(try folder.numbers == Array(1...journal.sequence))
    }
}
