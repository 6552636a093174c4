import Glibc
import SystemPackage

/// Small files, read and replaced whole.
enum SmallFile {
    /// The octets of a file, at most `maximum` of them; `nil` where it can't be read.
    static func octets(of path: FilePath, maximum: Int = 65_536) -> [UInt8]? {
        guard let file = try? FileDescriptor.open(path, .readOnly, options: .closeOnExec) else { return nil }
        defer { try? file.close() }
        var octets: [UInt8] = []
        // Files of /proc and /sys tell no size; a read that gives nothing is the end.
        while octets.count < maximum {
            var part = [UInt8](repeating: 0, count: 4096)
            guard let count = try? unsafe part.withUnsafeMutableBytes({ bytes in try unsafe file.read(into: bytes) }),
                count > 0
            else { break }
            octets += part[0..<count]
        }
        return octets
    }

    /// The text of a file; `nil` where it can't be read or is no UTF-8.
    static func text(of path: FilePath, maximum: Int = 65_536) -> String? {
        octets(of: path, maximum: maximum).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Puts `text` in the place of what the file held, in one step: who reads it sees the old text or the new one.
    ///
    /// It is not made durable: for directories that are emptied when the machine starts.
    /// - Throws: `Errno` of open(2), write(2) and rename(2).
    static func replace(_ path: FilePath, with text: String) throws(Errno) {
        let temporary = FilePath(path.string + ".new")
        do {
            let file = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .truncate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead])
            try file.closeAfter { _ = try file.writeAll(text.utf8) }
        } catch let error as Errno {
            throw error
        } catch {
            throw .ioError
        }
        let result = unsafe temporary.withPlatformString { from in
            unsafe path.withPlatformString { to in unsafe rename(from, to) }
        }
        guard result == 0 else { throw Errno(rawValue: errno) }
    }

    /// Removes a file, where it is there.
    static func remove(_ path: FilePath) {
        _ = unsafe path.withPlatformString { name in unsafe unlink(name) }
    }

    /// The number of a file's inode; `nil` where it is not there.
    static func inode(of path: FilePath) -> UInt64? {
        var status = stat()
        let result = unsafe path.withPlatformString { name in unsafe stat(name, &status) }
        return result == 0 ? UInt64(status.st_ino) : nil
    }

    /// The names in a directory, at most `maximum`; `nil` where it can't be read.
    static func names(in path: FilePath, maximum: Int = 1 << 20) -> [String]? {
        guard let directory = unsafe path.withPlatformString({ name in unsafe opendir(name) }) else { return nil }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while names.count < maximum, let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        return names
    }
}
