import Glibc
import SystemPackage

/// Files of a few lines, such as sysfs and procfs have.
package enum SmallFiles {
    // A process's status has some 1,500 octets, what sysfs tells at most a page.
    private static let octetsMax = 4_096
    // Folders are read to an end; more entries than any process table has are not looked at.
    private static let namesMax = 65_536

    /// What a file holds, without the white space at its end, at most 4 KiB; `nil` where it can't be read.
    package static func text(_ path: String) -> String? {
        guard let file = try? FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec) else { return nil }
        defer { try? file.close() }
        let octets = try? unsafe [UInt8](unsafeUninitializedCapacity: octetsMax) { buffer, count in
            unsafe count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
        }
        guard var octets else { return nil }
        while let last = octets.last, last <= 0x20 { octets.removeLast() }
        return String(decoding: octets, as: UTF8.self)
    }

    /// The names in a folder, in no order; none where it can't be read.
    package static func names(in folder: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < namesMax, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
                unsafe String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Where a symbolic link points to.
    package static func link(_ path: String) -> String? {
        let octets = unsafe [UInt8](unsafeUninitializedCapacity: octetsMax) { buffer, count in
            let result = unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress else { return 0 }
                return unsafe readlink(path, start, text.count)
            }
            count = max(result, 0)
        }
        return octets.isEmpty ? nil : String(decoding: octets, as: UTF8.self)
    }

    /// Whether something is there.
    package static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Whether a folder is there.
    package static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
