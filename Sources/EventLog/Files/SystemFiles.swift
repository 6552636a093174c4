import Glibc
package import SystemPackage

/// The machine's own file system.
package final class SystemFiles: FileSystemCalls {
    /// Calls the system; all of these are alike.
    package init() {}

    /// Opens a file for reading and writing; makes it if `isNew`, and it must not exist then (open(2), O_EXCL).
    ///
    /// A new file has mode 0640, less the umask: only the owner and the group may read who was present.
    package func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle {
        let flags = O_RDWR | O_CLOEXEC | (isNew ? O_CREAT | O_EXCL : 0)
        return try Self.check(unsafe path.withPlatformString { unsafe Self.open($0, flags, 0o640) })
    }

    /// Makes a file that is to replace another, with mode 0600 (open(2), O_EXCL).
    ///
    /// If the original is another user's and this process is root's, the new file is root's until ``copyOwnership(of:to:)``:
    /// the user that the process acts as cannot open it, and has no descriptor of it when it is given away.
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

    /// Opens a plain file that is only read, and waits for nobody.
    ///
    /// - Throws: `Errno` of open(2); `isDirectory` for a folder, `illegalSeek` for a FIFO, a socket or a device.
    package func openForReading(_ path: FilePath) throws(Errno) -> Handle {
        // A FIFO would be waited for until somebody writes (fifo(7)).
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

    /// Whether `path` still leads to an open file, through symbolic links too (stat(2), fstat(2)).
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

    /// How long an open file is (fstat(2)).
    package func size(of file: Handle) throws(Errno) -> Int {
        var status = stat()
        _ = try Self.check(unsafe fstat(file, &status))
        return Int(status.st_size)
    }

    /// Reads up to `count` octets at `offset` behind what `buffer` holds (pread(2)).
    ///
    /// - Returns: how many were read; none at the end.
    package func read(
        _ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]
    ) throws(Errno) -> Int {
        var (taken, failure) = (0, Int32(0))
        buffer.append(addingCapacity: count) { span in
            unsafe span.withUnsafeMutableBufferPointer { octets, filled in
                unsafe taken = pread(file, octets.baseAddress, count, off_t(offset))
                failure = errno
                filled += max(taken, 0)
            }
        }
        if taken < 0 { throw Errno(rawValue: failure) }
        return taken
    }

    /// Writes at `offset`; gives how many octets were, at least one (pwrite(2)).
    package func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        let written = unsafe pwrite(file, bytes.baseAddress, bytes.count, off_t(offset))
        if written < 0 { throw Errno(rawValue: errno) }
        // A file that takes nothing and says nothing would be asked for ever.
        if written == 0, unsafe !bytes.isEmpty { throw .noSpace }
        return written
    }

    /// Cuts a file to `size` octets (ftruncate(2)).
    package func truncate(_ file: Handle, to size: Int) throws(Errno) {
        _ = try Self.check(ftruncate(file, off_t(size)))
    }

    /// Gives an open file the mode, user and group of another (fstat(2), fchown(2), fchmod(2)).
    ///
    /// The bits that run a program as its owner, and the sticky bit, are not copied. A process whose real user is root acts as
    /// root during the call: only root may give files away.
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

    /// Returns when all of a file is on the disk (fdatasync(2)).
    package func synchronize(_ file: Handle) throws(Errno) { _ = try Self.check(fdatasync(file)) }

    /// Closes a file (close(2)).
    package func close(_ file: Handle) {
        // All that was written has been synchronised, or was said not to be.
        _ = Glibc.close(file)
    }

    /// Gives a file another name, in place of what has it (rename(2)).
    package func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        let result = unsafe path.withPlatformString { path in
            unsafe other.withPlatformString { unsafe Self.rename(path, $0) }
        }
        _ = try Self.check(result)
    }

    private static func rename(_ path: UnsafePointer<CChar>, _ other: UnsafePointer<CChar>) -> Int32 {
        unsafe Glibc.rename(path, other)
    }

    /// Takes a name away (unlink(2)).
    package func remove(_ path: FilePath) throws(Errno) {
        _ = try Self.check(unsafe path.withPlatformString { unsafe unlink($0) })
    }

    /// Makes a link that shows `target` (symlink(2)).
    package func link(_ path: FilePath, to target: String) throws(Errno) {
        _ = try Self.check(unsafe path.withPlatformString { unsafe symlink(target, $0) })
    }

    /// What a link shows (readlink(2)).
    package func target(of link: FilePath) throws(Errno) -> String {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe link.withPlatformString { unsafe readlink($0, start, buffer.count) }
        }
        guard count >= 0 else { throw Errno(rawValue: errno) }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The names in a folder, but for `.` and `..`, in no order (readdir(3)).
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

    /// Makes a folder, where it is not there (mkdir(2)): mode 0750, less what the umask takes.
    package func makeDirectory(_ path: FilePath) throws(Errno) {
        let result = unsafe path.withPlatformString { unsafe mkdir($0, 0o750) }
        if result != 0, errno != EEXIST { throw Errno(rawValue: errno) }
    }

    /// Returns when what was made, renamed and removed in a folder is on the disk (fsync(2)).
    package func synchronizeDirectory(_ path: FilePath) throws(Errno) {
        let folder = try Self.check(
            unsafe path.withPlatformString { unsafe Self.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) })
        defer { close(folder) }
        // Not every file system can (EINVAL): those that can't keep names in order by themselves.
        if fsync(folder) != 0, errno != EINVAL { throw Errno(rawValue: errno) }
    }

    private static func check(_ result: Int32) throws(Errno) -> Int32 {
        guard result >= 0 else { throw Errno(rawValue: errno) }
        return result
    }
}
