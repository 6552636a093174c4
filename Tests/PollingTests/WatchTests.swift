import Foundation
import Polling
import SystemPackage
import Testing

/// That a source with much to read leaves some of it for the next turn.
@Suite struct WatchTests {
    @Test func `64 signals are handled in a turn, and the rest in the next one`() throws {
        let loop = try EventLoop()
        // The first signal that is queued each time that it is sent (signal(7)) and that the C library leaves free.
        let signal = __libc_current_sigrtmin()
        var count = 0
        let watch = try SignalWatch([signal], on: loop) { _ in count += 1 }
        for _ in 0..<100 { try #require(pthread_kill(pthread_self(), signal) == 0) }
        try loop.turn(waits: false)
        #expect(count == 64)
        try loop.turn(waits: false)
        #expect(count == 100)
        withExtendedLifetime(watch) {}
    }

    @Test func `64 events of a folder are read in a turn, and the rest in the next one`() throws {
        let loop = try EventLoop()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("watch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var calls: [Bool] = []
        let watch = try DirectoryWatch(FilePath(folder.path), on: loop) { calls.append($0) }
        for number in 0..<100 {
            let path = FilePath(folder.path).appending("\(number)")
            try FileDescriptor.open(path, .writeOnly, options: .create, permissions: .ownerReadWrite).close()
        }
        for _ in 0..<3 { try loop.turn(waits: false) }
        #expect(calls == [false, false])
        withExtendedLifetime(watch) {}
    }
}
