import JSON
package import SystemPackage

/// What a journal asks of the file system: the seam at which a test makes it fail, fill up, or lose power.
///
/// Each call is one system call or two, and none is tried again here: what becomes of an error is the journal's to say.
package protocol FileSystemCalls: AnyObject {
    /// An open file.
    typealias Handle = Int32

    /// Opens a file for reading and writing; makes it if `isNew`, and it must not exist then (open(2), O_EXCL).
    func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle
    /// Makes a file that is to replace another, with mode 0600, until ``copyOwnership(of:to:)`` (open(2), O_EXCL).
    func open(_ path: FilePath, replacing original: Handle) throws(Errno) -> Handle
    /// Opens a plain file that is only read, and waits for nobody.
    ///
    /// - Throws: `Errno` of open(2); `isDirectory` for a folder, `illegalSeek` for a FIFO, a socket or a device, which have
    ///   no octet that could be read twice.
    func openForReading(_ path: FilePath) throws(Errno) -> Handle
    /// Whether `path` still leads to an open file, which may have been deleted or renamed since (stat(2), fstat(2)).
    ///
    /// Symbolic links are followed, as `open` and `openForReading` follow them.
    func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool
    /// How long an open file is (fstat(2)).
    func size(of file: Handle) throws(Errno) -> Int
    /// Reads up to `count` octets at `offset` behind what `buffer` holds (pread(2)).
    ///
    /// - Returns: how many were read; none at the end.
    func read(_ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]) throws(Errno) -> Int
    /// Writes at `offset`; gives how many octets were, at least one (pwrite(2)).
    func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int
    /// Cuts a file to `size` octets (ftruncate(2)).
    func truncate(_ file: Handle, to size: Int) throws(Errno)
    /// Gives an open file the mode, user and group of another (fstat(2), fchown(2), fchmod(2)).
    func copyOwnership(of original: Handle, to file: Handle) throws(Errno)
    /// Returns when all of a file is on the disk (fdatasync(2)).
    func synchronize(_ file: Handle) throws(Errno)
    /// Closes a file (close(2)).
    func close(_ file: Handle)
    /// Gives a file another name, in place of what has it (rename(2)).
    func rename(_ path: FilePath, to other: FilePath) throws(Errno)
    /// Takes a name away (unlink(2)).
    func remove(_ path: FilePath) throws(Errno)
    /// Makes a link that shows `target` (symlink(2)).
    func link(_ path: FilePath, to target: String) throws(Errno)
    /// What a link shows (readlink(2)).
    func target(of link: FilePath) throws(Errno) -> String
    /// The names in a folder, but for `.` and `..`, in no order (readdir(3)).
    func names(in directory: FilePath) throws(Errno) -> [String]
    /// Makes a folder, where it is not there (mkdir(2)).
    func makeDirectory(_ path: FilePath) throws(Errno)
    /// Returns when what was made, renamed and removed in a folder is on the disk (fsync(2)).
    func synchronizeDirectory(_ path: FilePath) throws(Errno)
}

extension FileSystemCalls {
    /// Whether a symbolic link has this name (readlink(2)).
    func isLink(_ path: FilePath) -> Bool { (try? target(of: path)) != nil }

    /// Removes a file if there is one.
    func removeIfPresent(_ path: FilePath) throws(Errno) {
        do throws(Errno) { try remove(path) } catch .noSuchFileOrDirectory {}
    }

    /// The size of the file at a path.
    func size(at path: FilePath) throws(Errno) -> Int {
        let file = try openForReading(path)
        defer { close(file) }
        return try size(of: file)
    }

    /// Reads `count` bytes at `offset`, or those up to the end of the file.
    package func readAll(_ file: Handle, at offset: Int, count: Int) throws(Errno) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try read(file, at: offset + bytes.count, count: count - bytes.count, appendingTo: &bytes)
            if more == 0 { break }
        }
        return bytes
    }

    /// Writes all bytes at `offset`.
    package func writeAll(_ file: Handle, at offset: Int, _ bytes: [UInt8]) throws(Errno) {
        try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(Errno) in
            try unsafe writeAll(file, at: offset, bytes)
        }
    }

    /// Writes the content of a buffer at `offset`.
    func writeAll(_ file: Handle, at offset: Int, _ buffer: borrowing LineBuffer) throws(Errno) {
        try unsafe buffer.withBytes { bytes throws(Errno) in try unsafe writeAll(file, at: offset, bytes) }
    }

    private func writeAll(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
            written += try unsafe write(file, at: offset + written, rest)
        }
    }

    /// Makes a folder and those above it, where they are not there.
    func makeDirectories(_ path: FilePath) throws(Errno) {
        do throws(Errno) {
            try makeDirectory(path)
        } catch {
            var parent = path
            guard error == .noSuchFileOrDirectory, parent.removeLastComponent(), !parent.isEmpty else { throw error }
            try makeDirectories(parent)
            try makeDirectory(path)
        }
    }
}
