import Glibc
package import SystemPackage

/// Reads and replaces small files as a whole, such as the files of /proc and /sys.
package enum SmallFile {
    /// Returns the bytes of a file, at most `maximum`.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - maximum: the maximum number of bytes.
    ///   - isBlocking: whether open(2) and read(2) wait for a writer if the file is a FIFO.
    /// - Returns: the bytes.
    /// - Throws: `Errno` of open(2) and read(2).
    package static func read(_ path: FilePath, maximum: Int, isBlocking: Bool = true) throws(Errno) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            let options: FileDescriptor.OpenOptions = isBlocking ? .closeOnExec : [.closeOnExec, .nonBlocking]
            let file = try FileDescriptor.open(path, .readOnly, options: options)
            defer { try? file.close() }
            // Files of /proc and /sys have no size: read(2) returns 0 at the end.
            while bytes.count < maximum {
                let size = min(4096, maximum - bytes.count)
                let part = unsafe try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                    unsafe count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
                if part.isEmpty { break }
                bytes += part
            }
        } catch {
            throw error as? Errno ?? .ioError
        }
        return bytes
    }

    /// Returns the text of a file, at most `maximum` bytes; `nil` if it cannot be read. Invalid UTF-8 becomes U+FFFD.
    package static func text(of path: FilePath, maximum: Int = 65_536) -> String? {
        (try? read(path, maximum: maximum)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the text of a file without the white space at its end, at most 4 KiB; `nil` if it cannot be read.
    package static func value(of path: FilePath) -> String? {
        guard var bytes = try? read(path, maximum: 4096) else { return nil }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Replaces the text of a file in one step, by rename(2): a reader gets the old text or the new text.
    ///
    /// The file is not synchronized with the disk: it is for directories that are emptied when the machine starts.
    ///
    /// - Throws: `Errno` of open(2), write(2) and rename(2).
    package static func replace(_ path: FilePath, with text: String) throws(Errno) {
        let temporary = FilePath(path.string + ".new")
        do {
            let file = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .truncate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead])
            try file.closeAfter { _ = try file.writeAll(text.utf8) }
        } catch {
            throw error as? Errno ?? .ioError
        }
        let result = unsafe temporary.withPlatformString { from in
            unsafe path.withPlatformString { to in unsafe rename(from, to) }
        }
        guard result == 0 else { throw Errno(rawValue: errno) }
    }

    /// Removes a file, if it exists.
    package static func remove(_ path: FilePath) {
        _ = unsafe path.withPlatformString { name in unsafe unlink(name) }
    }

    /// Returns the number of a file's inode; `nil` if the file does not exist.
    package static func inode(of path: FilePath) -> UInt64? { status(of: path).map { UInt64($0.st_ino) } }

    /// Returns whether a path is that of a directory, or of a link to one.
    package static func isDirectory(_ path: FilePath) -> Bool {
        status(of: path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Returns whether a file of any kind exists (access(2)).
    package static func exists(_ path: FilePath) -> Bool {
        unsafe path.withPlatformString { name in unsafe access(name, F_OK) } == 0
    }

    private static func status(of path: FilePath) -> stat? {
        var status = stat()
        let result = unsafe path.withPlatformString { name in unsafe stat(name, &status) }
        return result == 0 ? status : nil
    }

    /// Returns the target of a symbolic link (readlink(2)); `nil` if the path is not a link.
    package static func target(of link: FilePath) -> String? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            let result = unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress else { return 0 }
                return unsafe link.withPlatformString { name in unsafe readlink(name, start, text.count) }
            }
            count = max(result, 0)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the names in a directory, without `.` and `..`, in no order; at most 1,048,576. `nil` if it cannot be
    /// read.
    package static func names(in directory: FilePath) -> [String]? {
        guard let stream = unsafe directory.withPlatformString({ name in unsafe opendir(name) }) else { return nil }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < 1 << 20, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
