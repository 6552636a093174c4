import Glibc
import SystemPackage

extension GPXFile {
    // So many octets are read at once.
    private static let window = 1 << 20

    /// Reads a file where it is a GPX file, which its first octets tell.
    ///
    /// - Returns: what stands in it, and how many octets it has; `nil` where it is something else or can't be read.
    package static func read(at path: String) -> (file: GPXFile, size: Int)? {
        // What can be read once only is a capture.
        guard path != "-", isRegularFile(path) else { return nil }
        let reader = GPXReader()
        do {
            let file = try FileDescriptor.open(FilePath(path), .readOnly)
            defer { _ = try? file.close() }
            var size = 0
            while true {
                let bytes = unsafe try [UInt8](unsafeUninitializedCapacity: window) { buffer, count in
                    unsafe count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
                if size == 0, !isGPX(bytes) { return nil }
                if bytes.isEmpty { break }
                size += bytes.count
                reader.read(bytes)
            }
            return (reader.finish(), size)
        } catch {
            // Whoever takes it for something else, or needs it, says why it can't be.
            return nil
        }
    }

    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether octets begin like XML: a tag, a declaration or a comment; an arrow of hcidump's has a blank behind it.
    package static func isGPX(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        // UTF-16 with its mark.
        if rest.starts(with: [0xFE, 0xFF, 0x00, 0x3C]) || rest.starts(with: [0xFF, 0xFE, 0x3C, 0x00]) { return true }
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard rest.first == UInt8(ascii: "<"), let next = rest.dropFirst().first else { return false }
        return next == UInt8(ascii: "?") || next == UInt8(ascii: "!") || (0x41...0x5A).contains(next)
            || (0x61...0x7A).contains(next)
    }
}
