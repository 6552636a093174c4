import JSON
package import SystemPackage

/// Small files that are read and replaced as a whole. After a power failure, the file is the old one or the new one.
package enum WholeFile {
    /// Returns the bytes of a file; `nil` if there is none.
    ///
    /// - Throws: `Errno` of open(2) and pread(2); `fileTooLarge` if it has more than `bytesMax` bytes.
    package static func read(
        _ path: FilePath, bytesMax: Int, files: any FileSystemCalls = SystemFiles()
    ) throws(Errno) -> [UInt8]? {
        guard let bytes = try prefix(of: path, count: bytesMax == .max ? bytesMax : bytesMax + 1, files: files)
        else {
            return nil
        }
        guard bytes.count <= bytesMax else { throw .fileTooLarge }
        return bytes
    }

    /// Returns the first bytes of a file, at most `count`; `nil` if there is no file.
    ///
    /// - Throws: `Errno` of open(2) and pread(2); `isDirectory` or `illegalSeek` if it is not a regular file.
    package static func prefix(
        of path: FilePath, count: Int, files: any FileSystemCalls = SystemFiles()
    ) throws(Errno) -> [UInt8]? {
        let file: FileSystemCalls.Handle
        do throws(Errno) { file = try files.openForReading(path) } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return nil
        }
        defer { files.close(file) }
        var bytes: [UInt8] = []
        while bytes.count < count {
            let size = min(64 << 10, count - bytes.count)
            if try files.read(file, at: bytes.count, count: size, appendingTo: &bytes) == 0 { break }
        }
        return bytes
    }

    /// Replaces a file: writes a temporary file, synchronizes and renames it, and synchronizes the folder.
    ///
    /// - Throws: `Errno` of any of these calls. The file is the old one or the new one then.
    package static func replace(
        _ path: FilePath, with bytes: [UInt8], files: any FileSystemCalls = SystemFiles()
    ) throws(Errno) {
        var buffer = LineBuffer(capacity: bytes.count)
        buffer.append(bytes)
        try replace(path, with: buffer, files: files)
    }

    /// Replaces a file with the bytes of a buffer.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - buffer: the bytes.
    ///   - files: the file system.
    ///   - keepsOwnership: whether the new file has the mode, user and group of the old one; else mode 0640, less the
    ///     umask.
    /// - Throws: `Errno`; the file is the old one or the new one then.
    static func replace(
        _ path: FilePath, with buffer: borrowing LineBuffer, files: any FileSystemCalls, keepsOwnership: Bool = false
    ) throws(Errno) {
        let directory = path.removingLastComponent()
        let folder = directory.isEmpty ? FilePath(".") : directory
        let temporary = folder.appending(".\(path.lastComponent?.string ?? "file").new")
        try files.removeIfPresent(temporary)
        let original = keepsOwnership ? try files.openForReading(path) : nil
        defer { if let original { files.close(original) } }
        let file =
            if let original { try files.open(temporary, replacing: original) } else {
                try files.open(temporary, isNew: true)
            }
        do throws(Errno) {
            try files.writeAll(file, at: 0, buffer)
            if let original { try files.copyOwnership(of: original, to: file) }
            try files.synchronize(file)
        } catch {
            files.close(file)
            // The temporary file can use space that is missing.
            try? files.remove(temporary)
            throw error
        }
        files.close(file)
        try files.rename(temporary, to: path)
        try files.synchronizeDirectory(folder)
    }
}
