import Foundation
import Glibc
import SystemPackage
import Testing

@testable import EventLog

@Suite struct FileLockTests {
    let folder: Folder
    let path: FilePath
    init() throws {
        folder = try Folder()
        path = FilePath(folder.path + "/lock")
    }

    /// The reason why the file is not locked; `nil` if it is.
    private func failure(readingAfter errors: Set<Errno> = []) -> String? {
        do throws(FileLock.Failure) {
            _ = try FileLock(path, program: "a", readingAfter: errors)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `a second lock in a process fails with the first one's program, until the first is released`() throws {
        var lock: FileLock? = try FileLock(path, program: "Türwächter")
        #expect(failure() == #"held("Türwächter, process \#(getpid())")"#)
        #expect(lock != nil)
        lock = nil
        #expect(failure() == nil)
    }

    @Test func `a held lock file without a readable name is reported as held by another process`() throws {
        let lock = try FileLock(path, program: "a")
        try Data([0x1B, 0x41]).write(to: URL(fileURLWithPath: path.string))
        #expect(failure() == #"held("another process")"#)
        withExtendedLifetime(lock) {}
    }

    @Test func `a symbolic link, a file with two names and a FIFO are refused, and content stays`() throws {
        try folder.write("precious", "events")
        symlink(folder.path + "/precious", path.string)
        #expect(failure() == #"notALock("it is a symbolic link")"#)
        unlink(path.string)
        #expect(link(folder.path + "/precious", path.string) == 0)
        #expect(failure() == #"notALock("it has 2 names (hard links)")"#)
        unlink(path.string)
        #expect(mkfifo(path.string, 0o600) == 0)
        #expect(failure()?.hasPrefix("notALock") == true)
        #expect(try folder.read("precious") == "events")
    }

    @Test func `a lock file in a folder that does not exist is reported as missing`() {
        let none = FilePath(folder.path + "/none/lock")
        #expect(throws: FileLock.Failure.self) { try FileLock(none, program: "a", readingAfter: FileLock.diskErrors) }
        do throws(FileLock.Failure) { _ = try FileLock(none, program: "a") } catch {
            guard case .missing(.noSuchFileOrDirectory) = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible, "this user may not mount a tmpfs"))
    func `on a read-only disk an existing file is locked if the caller permits it`() throws {
        let disk = try #require(SmallDisk(kilobytes: 64))
        let path = FilePath(disk.folder.path + "/lock")
        _ = try FileLock(path, program: "a")
        try #require(disk.becomeReadOnly())
        func failure(_ path: FilePath, _ errors: Set<Errno>) -> FileLock.Failure? {
            do throws(FileLock.Failure) {
                _ = try FileLock(path, program: "b", readingAfter: errors)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure(path, FileLock.diskErrors) == nil)
        guard case .unopened(.readOnlyFileSystem) = failure(path, []) else {
            Issue.record("the file must not be locked without permission of the caller")
            return
        }
        guard case .missing(.readOnlyFileSystem) = failure(FilePath(path.string + "2"), FileLock.diskErrors) else {
            Issue.record("the file must be reported as missing")
            return
        }
    }
}
