import EventLoops
import Glibc
package import SystemPackage

/// Reads files with secrets and checks their permissions.
package enum SecretFile {
    // The maximum length of an MQTT password (MQTT 5 §3.1.3.6), and a line end.
    private static let bytesMax = 65_537

    /// Returns the first line of a file, without its line end.
    ///
    /// - Throws: `Errno` of open(2) and read(2).
    package static func password(_ path: String) throws(Errno) -> [UInt8] {
        let bytes = try SmallFile.read(FilePath(path), maximum: bytesMax)
        var line = Array(bytes.prefix { $0 != 0x0A }.prefix(65_535))
        if line.last == 0x0D { line.removeLast() }
        return line
    }

    /// Returns the problem with the permissions of a secret file, and a remedy; `nil` if there is none, or if the file
    /// cannot be examined.
    ///
    /// The group may read a file that belongs to root, because the gateway runs in that group. Any other file must be
    /// readable only by its owner.
    package static func exposure(_ path: String) -> String? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let mode = status.st_mode & 0o777
        if mode & 0o002 != 0 { return "all users can change \(path): sudo chmod o= \(path)" }
        if mode & 0o004 != 0 { return "all users can read \(path): sudo chmod o= \(path)" }
        if mode & 0o020 != 0 { return "the group of \(path) can change it: sudo chmod g-w \(path)" }
        if mode & 0o040 != 0, status.st_uid != 0 {
            return "the group of \(path) can read it: chmod 600 \(path)"
        }
        return nil
    }
}
