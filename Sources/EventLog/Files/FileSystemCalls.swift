import JSON
package import SystemPackage

/// The file system calls of a journal. Tests implement it with errors, full disks and power failures.
///
/// Each function makes one or two system calls and does not retry. The journal decides how to handle errors.
package protocol FileSystemCalls: AnyObject {
    /// A file descriptor.
    typealias Handle = Int32

    /// Opens a file for reading and writing. If `isNew`, creates it; it must not exist then (open(2), O_EXCL).
    func open(_ path: FilePath, isNew: Bool) throws(Errno) -> Handle
    /// Creates a file that will replace another, with mode 0600 until ``copyOwnership(of:to:)`` (open(2), O_EXCL).
    func open(_ path: FilePath, replacing original: Handle) throws(Errno) -> Handle
    /// Opens a regular file for reading, without blocking.
    ///
    /// - Throws: `Errno` of open(2); `isDirectory` for a folder; `illegalSeek` for a FIFO, a socket or a device, which
    ///   cannot be read twice.
    func openForReading(_ path: FilePath) throws(Errno) -> Handle
    /// Returns whether `path` is still the path of an open file, which can have been deleted or renamed (stat(2),
    /// fstat(2)).
    ///
    /// Symbolic links are followed, as `open` and `openForReading` do.
    func leads(_ path: FilePath, to file: Handle) throws(Errno) -> Bool
    /// Returns the size of an open file in bytes (fstat(2)).
    func size(of file: Handle) throws(Errno) -> Int
    /// Reads up to `count` bytes at `offset` and appends them to `buffer` (pread(2)).
    ///
    /// - Returns: the number of bytes; 0 at the end of the file.
    func read(_ file: Handle, at offset: Int, count: Int, appendingTo buffer: inout [UInt8]) throws(Errno) -> Int
    /// Writes at `offset` and returns the number of written bytes, at least one (pwrite(2)).
    func write(_ file: Handle, at offset: Int, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int
    /// Truncates a file to `size` bytes (ftruncate(2)).
    func truncate(_ file: Handle, to size: Int) throws(Errno)
    /// Gives an open file the mode, user and group of another (fstat(2), fchown(2), fchmod(2)).
    func copyOwnership(of original: Handle, to file: Handle) throws(Errno)
    /// Returns when the content of a file is on the disk (fdatasync(2)).
    func synchronize(_ file: Handle) throws(Errno)
    /// Closes a file (close(2)).
    func close(_ file: Handle)
    /// Renames a file and replaces an existing one (rename(2)).
    func rename(_ path: FilePath, to other: FilePath) throws(Errno)
    /// Deletes a file (unlink(2)).
    func remove(_ path: FilePath) throws(Errno)
    /// Creates a symbolic link to `target` (symlink(2)).
    func link(_ path: FilePath, to target: String) throws(Errno)
    /// Returns the target of a symbolic link (readlink(2)).
    func target(of link: FilePath) throws(Errno) -> String
    /// Returns the names in a folder except `.` and `..`, in no particular order (readdir(3)).
    func names(in directory: FilePath) throws(Errno) -> [String]
    /// Creates a folder unless it exists (mkdir(2)).
    func makeDirectory(_ path: FilePath) throws(Errno)
    /// Returns when created, renamed and deleted names in a folder are on the disk (fsync(2)).
    func synchronizeDirectory(_ path: FilePath) throws(Errno)
}

extension FileSystemCalls {
    /// Returns whether a path is a symbolic link (readlink(2)).
    func isLink(_ path: FilePath) -> Bool { (try? target(of: path)) != nil }

    /// Removes a file if there is one.
    func removeIfPresent(_ path: FilePath) throws(Errno) {
        do throws(Errno) { try remove(path) } catch .noSuchFileOrDirectory {}
    }

    /// Returns the size of the file at a path in bytes.
    func size(at path: FilePath) throws(Errno) -> Int {
        let file = try openForReading(path)
        defer { close(file) }
        return try size(of: file)
    }

    /// Returns `count` bytes at `offset`, or fewer at the end of the file.
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

    /// Creates a folder and its parents unless they exist.
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
