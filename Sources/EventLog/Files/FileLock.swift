import Glibc
package import SystemPackage

/// An exclusive lock on a file, until this value is destroyed or the process ends.
///
/// It is a lock of the open file description (flock(2)), so it excludes other locks of the same process too. The file stays,
/// and has the name and the number of the process that could write to it last.
package final class FileLock {
    /// The reason why a file is not locked.
    package enum Failure: Error {
        /// Another process has the lock: its name and number from the file, or “another process”.
        case held(String)
        /// The file cannot be a lock file: it is a link, a device, or the file of another user.
        case notALock(String)
        /// The file does not exist and cannot be created.
        case missing(Errno)
        /// The file cannot be opened.
        case unopened(Errno)
        /// flock(2) failed.
        case failed(Errno)
    }

    /// The errors of open(2) for a disk that cannot be written.
    package static let diskErrors: Set<Errno> = [.readOnlyFileSystem, .noSpace, .diskQuotaExceeded, .ioError]

    private let descriptor: FileDescriptor

    /// Locks a file, which is created with mode 0640 if it does not exist.
    ///
    /// A file is not locked if it is not a regular file, has several names, or belongs to a user other than root, this process
    /// and the owner of its folder: its content would be overwritten.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - program: The name of the program, which is written to the file if the disk permits it.
    ///   - errors: If the file cannot be opened for writing because of one of these, it is opened for reading: that is enough
    ///     for the lock. The file keeps the name of another process then.
    /// - Throws: ``Failure``.
    package init(_ path: FilePath, program: String, readingAfter errors: Set<Errno> = []) throws(Failure) {
        let file = try Self.open(path, readingAfter: errors)
        let failure: Failure
        if let reason = Self.reason(against: file, in: path.removingLastComponent()) {
            failure = .notALock(reason)
        } else if flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 {
            _ = ftruncate(file.rawValue, 0)
            _ = try? file.writeAll(toAbsoluteOffset: 0, "\(program), process \(getpid())\n".utf8)
            descriptor = file
            return
        } else {
            let error = Errno(rawValue: errno)
            failure = error == .wouldBlock ? .held(Self.holder(of: file)) : .failed(error)
        }
        try? file.close()
        throw failure
    }

    deinit { try? descriptor.close() }

    private static func open(_ path: FilePath, readingAfter errors: Set<Errno>) throws(Failure) -> FileDescriptor {
        // Without noFollow, the file that a link points to would be emptied. Without nonBlocking, a FIFO would block.
        let options: FileDescriptor.OpenOptions = [.closeOnExec, .noFollow, .nonBlocking]
        func open(_ mode: FileDescriptor.AccessMode, _ more: FileDescriptor.OpenOptions) throws(Errno) -> FileDescriptor
        {
            do {
                return try FileDescriptor.open(
                    path, mode, options: options.union(more), permissions: [.ownerReadWrite, .groupRead])
            } catch { throw error as? Errno ?? .ioError }
        }
        do throws(Errno) { return try open(.readWrite, .create) } catch {
            if error == .noSuchFileOrDirectory { throw .missing(error) }
            if error == .tooManySymbolicLinkLevels { throw .notALock("it is a symbolic link") }
            guard errors.contains(error) else { throw .unopened(error) }
            do throws(Errno) { return try open(.readOnly, []) } catch let second {
                throw second == .noSuchFileOrDirectory ? .missing(error) : .unopened(second)
            }
        }
    }

    /// Why an open file cannot be a lock file; `nil` if it can.
    private static func reason(against file: FileDescriptor, in directory: FilePath) -> String? {
        var (status, folder) = (stat(), stat())
        guard unsafe fstat(file.rawValue, &status) == 0 else { return "\(Errno(rawValue: errno))" }
        guard status.st_mode & S_IFMT == S_IFREG else { return "it is not a regular file" }
        guard status.st_nlink == 1 else { return "it has \(status.st_nlink) names (hard links)" }
        // In a folder that all users can write, such as /tmp, another user can put a file there.
        let path = directory.isEmpty ? FilePath(".") : directory
        let isKnown = unsafe path.withPlatformString { unsafe stat($0, &folder) } == 0
        let owners = [geteuid(), 0] + (isKnown ? [folder.st_uid] : [])
        guard owners.contains(status.st_uid) else { return "it belongs to another user (number \(status.st_uid))" }
        return nil
    }

    /// The process in the file, up to the first control character.
    private static func holder(of file: FileDescriptor) -> String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe bytes.withUnsafeMutableBytes {
            (try? unsafe file.read(fromAbsoluteOffset: 0, into: $0)) ?? 0
        }
        let text = bytes[..<count].prefix { $0 >= 0x20 && $0 != 0x7F }
        return text.isEmpty ? "another process" : String(decoding: text, as: UTF8.self)
    }
}
