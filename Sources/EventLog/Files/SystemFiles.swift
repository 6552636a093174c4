import Glibc
package import SystemPackage

/// The file system of the machine.
package final class SystemFiles: FileSystemCalls {
    /// Creates an instance. All instances are equivalent.
    package init() {}

    /// Opens a file for reading and writing. If `isNew`, creates it; it must not exist then (open(2), O_EXCL).
    ///
    /// A new file has mode 0640 minus the umask, so that only the owner and the group can read presence data.
    package func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle {
        let flags = O_RDWR | O_CLOEXEC | (isNew ? O_CREAT | O_EXCL : 0)
        return try Self.check(unsafe path.withPlatformString { unsafe Self.open($0, flags, 0o640) })
    }

    /// Creates a file that will replace another, with mode 0600 (open(2), O_EXCL).
    ///
    /// If the original belongs to another user and this process is root's, the new file belongs to root until
    /// ``copyOwnership(of:to:)``. The user that the process acts as cannot open it, and has no descriptor of it when
    /// its owner changes.
    package func open(_ path: FilePath, replacing original: Handle) throws(Errno) -> Handle {
        var status = stat()
        _ = try Self.check(unsafe fstat(original, &status))
        let flags = O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL
        guard status.st_uid != geteuid(), getuid() == 0 else {
            return try Self.check(unsafe path.withPlatformString { unsafe Self.open($0, flags, 0o600) })
        }
        return try Self.asRoot { () throws(Errno) in
            try Self.check(unsafe path.withPlatformString { unsafe Self.open($0, flags, 0o600) })
        }
    }

    /// Calls `body` as root, if the real user of this process is root (seteuid(2)).
    private static func asRoot<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        let actor = geteuid()
        _ = try check(seteuid(0))
        let result: Result
        do throws(Errno) { result = try body() } catch {
            _ = try check(seteuid(actor))
            throw error
        }
        _ = try check(seteuid(actor))
        return result
    }

    /// Opens a regular file for reading, without blocking.
    ///
    /// - Throws: `Errno` of open(2); `isDirectory` for a folder; `illegalSeek` for a FIFO, a socket or a device.
    package func openForReading(_ path: FilePath) throws(Errno) -> Handle {
        // Opening a FIFO would block until another process writes to it (fifo(7)).
        let file = try Self.check(
            unsafe path.withPlatformString { unsafe Self.open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) })
        var status = stat()
        let kind = unsafe fstat(file, &status) == 0 ? status.st_mode & S_IFMT : 0
        guard kind == S_IFREG else {
            close(file)
            throw kind == S_IFDIR ? .isDirectory : .illegalSeek
        }
        return file
    }

    /// Returns whether `path` is still the path of an open file, also through symbolic links (stat(2), fstat(2)).
    package func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool {
        var (found, opened) = (stat(), stat())
        _ = try Self.check(unsafe fstat(file, &opened))
        let result = unsafe path.withPlatformString { unsafe stat($0, &found) }
        if result != 0, errno == ENOENT { return false }
        _ = try Self.check(result)
        return found.st_dev == opened.st_dev && found.st_ino == opened.st_ino
    }

    private static func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 {
        unsafe Glibc.open(path, flags, mode)
    }

    /// Returns the size of an open file in bytes (fstat(2)).
    package func size(of file: Handle) throws(Errno) -> Int {
        var status = stat()
        _ = try Self.check(unsafe fstat(file, &status))
        return Int(status.st_size)
    }

    /// Reads up to `count` bytes at `offset` and appends them to `buffer` (pread(2)).
    ///
    /// - Returns: the number of bytes; 0 at the end of the file.
    package func read(
        _ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]
    ) throws(Errno) -> Int {
        var (taken, failure) = (0, Int32(0))
        buffer.append(addingCapacity: count) { span in
            unsafe span.withUnsafeMutableBufferPointer { bytes, filled in
                unsafe taken = pread(file, bytes.baseAddress, count, off_t(offset))
                failure = errno
                filled += max(taken, 0)
            }
        }
        if taken < 0 { throw Errno(rawValue: failure) }
        return taken
    }

    /// Writes at `offset` and returns the number of written bytes, at least one (pwrite(2)).
    package func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        let written = unsafe pwrite(file, bytes.baseAddress, bytes.count, off_t(offset))
        if written < 0 { throw Errno(rawValue: errno) }
        // Without an error here, a caller would retry without end.
        if written == 0, unsafe !bytes.isEmpty { throw .noSpace }
        return written
    }

    /// Truncates a file to `size` bytes (ftruncate(2)).
    package func truncate(_ file: Handle, to size: Int) throws(Errno) {
        _ = try Self.check(ftruncate(file, off_t(size)))
    }

    /// Gives an open file the mode, user and group of another (fstat(2), fchown(2), fchmod(2)).
    ///
    /// The bits that run a program as its owner, and the sticky bit, are not copied. A process whose real user is root
    /// acts as root during the call: only root may give files away.
    package func copyOwnership(of original: Handle, to file: Handle) throws(Errno) {
        var status = stat()
        _ = try Self.check(unsafe fstat(original, &status))
        let (mode, user, group) = (status.st_mode & 0o777, status.st_uid, status.st_gid)
        func copy() throws(Errno) {
            _ = try Self.check(fchmod(file, mode))
            _ = try Self.check(fchown(file, user, group))
        }
        if getuid() == 0 { try Self.asRoot(copy) } else { try copy() }
    }

    /// Returns when the content of a file is on the disk (fdatasync(2)).
    package func synchronize(_ file: Handle) throws(Errno) { _ = try Self.check(fdatasync(file)) }

    /// Closes a file (close(2)).
    package func close(_ file: Handle) {
        // An error needs no action: everything was synchronized, or reported as not synchronized.
        _ = Glibc.close(file)
    }

    /// Renames a file and replaces an existing one (rename(2)).
    package func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        let result = unsafe path.withPlatformString { path in
            unsafe other.withPlatformString { unsafe Self.rename(path, $0) }
        }
        _ = try Self.check(result)
    }

    private static func rename(_ path: UnsafePointer<CChar>, _ other: UnsafePointer<CChar>) -> Int32 {
        unsafe Glibc.rename(path, other)
    }

    /// Deletes a file (unlink(2)).
    package func remove(_ path: FilePath) throws(Errno) {
        _ = try Self.check(unsafe path.withPlatformString { unsafe unlink($0) })
    }

    /// Creates a symbolic link to `target` (symlink(2)).
    package func link(_ path: FilePath, to target: String) throws(Errno) {
        _ = try Self.check(unsafe path.withPlatformString { unsafe symlink(target, $0) })
    }

    /// Returns the target of a symbolic link (readlink(2)).
    package func target(of link: FilePath) throws(Errno) -> String {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe link.withPlatformString { unsafe readlink($0, start, buffer.count) }
        }
        guard count >= 0 else { throw Errno(rawValue: errno) }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the names in a folder except `.` and `..`, in no particular order (readdir(3)).
    package func names(in directory: FilePath) throws(Errno) -> [String] {
        guard let folder = unsafe directory.withPlatformString({ unsafe opendir($0) }) else {
            throw Errno(rawValue: errno)
        }
        defer { unsafe _ = closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Creates a folder unless it exists (mkdir(2)), with mode 0750 minus the umask.
    package func makeDirectory(_ path: FilePath) throws(Errno) {
        let result = unsafe path.withPlatformString { unsafe mkdir($0, 0o750) }
        if result != 0, errno != EEXIST { throw Errno(rawValue: errno) }
    }

    /// Returns when created, renamed and deleted names in a folder are on the disk (fsync(2)).
    package func synchronizeDirectory(_ path: FilePath) throws(Errno) {
        let folder = try Self.check(
            unsafe path.withPlatformString { unsafe Self.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) })
        defer { close(folder) }
        // Some file systems return EINVAL because they keep names in order without it.
        if fsync(folder) != 0, errno != EINVAL { throw Errno(rawValue: errno) }
    }

    private static func check(_ result: Int32) throws(Errno) -> Int32 {
        guard result >= 0 else { throw Errno(rawValue: errno) }
        return result
    }
}
