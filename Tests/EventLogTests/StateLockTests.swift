import Foundation
import Glibc
import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

@Suite struct StateLockTests {
    let folder: Folder
    let directory: FilePath
    init() throws {
        folder = try Folder()
        directory = FilePath(folder.path + "/state/deep")
    }

    /// Returns the reason why the file cannot be a lock.
    private func flaw(_ location: SourceLocation = #_sourceLocation) throws -> String {
        do throws(EventLogError) {
            _ = try StateLock(in: directory, program: "beacon-gateway run")
            Issue.record("the file must not be locked", sourceLocation: location)
            return ""
        } catch {
            guard case .notALock(let path, let why) = error else { throw error }
            #expect(path == directory.appending("gateway.lock").string, sourceLocation: location)
            return why
        }
    }

    private func makeDirectory() throws {
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
    }

    @Test func `N1: a second lock of a name fails with the holder's name, until the first is released`() throws {
        let site = try Identifier("site")
        let lock = try StateLock(site, in: directory, program: "beacon-gateway run")
        #expect(lock.isHeld)
        #expect {
            _ = try StateLock(site, in: directory, program: "another")
        } throws: { error in
            guard case EventLogError.inUse(let what, let holder, _) = error else { return false }
            return what == "the monitor “site”" && holder.hasPrefix("beacon-gateway run, process ")
        }
        _ = try StateLock(try Identifier("yard"), in: directory, program: "a")
        _ = try StateLock(in: directory, program: "a")
        lock.release()
        #expect(!lock.isHeld)
        _ = try StateLock(site, in: directory, program: "a")
    }

    @Test func `only one journal can use a folder of event files, and the lock is not an event file`() throws {
        let events = FilePath(folder.path + "/events")
        let lock = try StateLock(events: events, program: "beacon-gateway run")
        #expect {
            _ = try StateLock(events: events, program: "another")
        } throws: { error in
            guard case EventLogError.inUse(let what, let holder, let path) = error else { return false }
            return what == "the folder of event files \(events.string)"
                && holder == "beacon-gateway run, process \(getpid())" && path == events.string + "/events.lock"
        }
        // The locks of the state and of the events are two locks, even in one folder.
        _ = try StateLock(in: events, program: "a")
        #expect(folder.segments.isEmpty)
        #expect(try LogReader([events]).size == 0)
        lock.release()
    }

    @Test func `a lock that is a link is refused, and the target keeps its content`() throws {
        try makeDirectory()
        try folder.write("precious", "events")
        let path = directory.appending("gateway.lock").string
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/precious")
        #expect(try flaw() == "it is a symbolic link")
        #expect(try folder.read("precious") == "events")
        // If the target does not exist, it is not created.
        try FileManager.default.removeItem(atPath: folder.path + "/precious")
        #expect(try flaw() == "it is a symbolic link")
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/precious"))
        try FileManager.default.removeItem(atPath: path)
        try folder.write("precious", "events")
        #expect(link(folder.path + "/precious", path) == 0)
        #expect(try flaw() == "it has 2 names (hard links)")
        #expect(try folder.read("precious") == "events")
    }

    @Test func `a lock that is a FIFO is refused at once`() throws {
        try makeDirectory()
        let path = directory.appending("gateway.lock").string
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try flaw() == "it is not a regular file")
        unlink(path)
    }

    @Test(.enabled(if: geteuid() == 0, "this user may not change the owner of a file"))
    func `a lock of another user is refused in a folder of this user`() throws {
        try makeDirectory()
        let path = directory.appending("gateway.lock").string
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chown(path, 4711, 4711) == 0)
        #expect(try flaw() == "it belongs to another user (number 4711)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "theirs")
        // If root works in the service's folder, the lock can belong to the service.
        #expect(chown(directory.string, 4711, 4711) == 0)
        _ = try StateLock(in: directory, program: "a")
    }

    @Test func `only the user and the group of a lock and its folder have access to them`() throws {
        let lock = try StateLock(in: directory, program: "a")
        var status = stat()
        #expect(stat(directory.appending("gateway.lock").string, &status) == 0)
        #expect(status.st_mode & 0o007 == 0)
        #expect(stat(directory.string, &status) == 0)
        #expect(status.st_mode & 0o007 == 0)
        lock.release()
    }
}

/// Rule N5 on a file system that cannot be written at all.
@Suite(.enabled(if: SmallDisk.isPossible, "this user may not mount a tmpfs"))
struct ReadOnlyLockTests {
    @Test func `N5: on a read-only file system an existing lock is effective, and its holder is reported`() throws {
        let disk = try #require(SmallDisk(kilobytes: 64))
        let directory = FilePath(disk.folder.path + "/state")
        try StateLock(in: directory, program: "beacon-gateway run").release()
        try #require(disk.becomeReadOnly())
        let lock = try StateLock(in: directory, program: "beacon-gateway run")
        #expect(lock.isHeld)
        #expect(lock.remark == nil)
        #expect {
            _ = try StateLock(in: directory, program: "another")
        } throws: { error in
            guard case EventLogError.inUse(_, let holder, _) = error else { return false }
            return holder.hasPrefix("beacon-gateway run, process ")
        }
    }

    @Test func `N5: if no lock file can be created, nothing is locked, and a remark reports it`() throws {
        let disk = try #require(SmallDisk(kilobytes: 64))
        try #require(disk.becomeReadOnly())
        for name in ["", "/state", "/state/deep"] {
            let lock = try StateLock(in: FilePath(disk.folder.path + name), program: "beacon-gateway run")
            #expect(!lock.isHeld)
            let remark = try #require(lock.remark)
            #expect(remark.contains("gateway.lock can't be created: Read-only file system"))
        }
    }

    @Test func `N5: a journal whose folders are read-only continues, and reports why lines wait`() throws {
        let disk = try #require(SmallDisk(kilobytes: 64))
        do {
            let journal = try Journal(in: disk.folder)
            journal.event(at: 0)
            journal.close(nil, at: .start)
        }
        try #require(disk.becomeReadOnly())
        let journal = try Journal(in: disk.folder)
        #expect(journal.sequence == 1)
        journal.event(at: 1)
        #expect(journal.linesWait)
        #expect(journal.failure?.contains("Read-only file system") == true)
    }
}
