import EventLoops
import Foundation
import SystemPackage
import Testing

/// A source with many events must leave some of them for the next turn.
@Suite struct WatchTests {
    @Test func `64 signals are handled in a turn, and the rest in the next one`() throws {
        let loop = try EventLoop()
        // The first real-time signal that the C library leaves free. If it is sent several times, each one is queued
        // (signal(7)).
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
        var calls: [DirectoryWatch.Changes] = []
        let watch = try DirectoryWatch(FilePath(folder.path), on: loop) { calls.append($0) }
        for number in 0..<100 {
            let path = FilePath(folder.path).appending("\(number)")
            try FileDescriptor.open(path, .writeOnly, options: .create, permissions: .ownerReadWrite).close()
        }
        for _ in 0..<3 { try loop.turn(waits: false) }
        #expect(calls == [[], []])
        withExtendedLifetime(watch) {}
    }

    @Test func `a watch reports replaced and removed event files, and a folder that was moved or deleted`() throws {
        let loop = try EventLoop()
        let above = FileManager.default.temporaryDirectory.appendingPathComponent("watch-\(UUID().uuidString)")
        let folder = above.appendingPathComponent("events")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: above) }
        let path = FilePath(folder.path)
        var calls: [DirectoryWatch.Changes] = []
        func changes(_ change: () throws -> Void) throws -> [DirectoryWatch.Changes] {
            calls = []
            let watch = try DirectoryWatch(path, on: loop) { calls.append($0) }
            try change()
            try loop.turn(waits: false)
            withExtendedLifetime(watch) {}
            return calls
        }
        func move(_ from: String, _ to: String) throws {
            try FileManager.default.moveItem(atPath: above.path + "/" + from, toPath: above.path + "/" + to)
        }
        #expect(try changes { try Data("x".utf8).write(to: folder.appendingPathComponent("events-1")) } == [[]])
        #expect(try changes { try move("events/events-1", "events-1") } == [.removed])
        #expect(try changes { try move("events-1", "events/events-1") } == [.replaced])
        #expect(try changes { try FileManager.default.removeItem(atPath: folder.path + "/events-1") } == [.removed])
        #expect(try changes { try move("events", "old") } == [.gone])
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let watch = try DirectoryWatch(path, on: loop)
        #expect(watch.isStill(path))
        try move("events", "older")
        #expect(!watch.isStill(path))
        try move("old", "events")
        #expect(!watch.isStill(path))
        #expect(try changes { try FileManager.default.removeItem(at: folder) } == [.gone])
    }
}
