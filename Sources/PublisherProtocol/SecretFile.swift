import EventLoops
import Glibc
package import SystemPackage

/// Files that hold secrets.
package enum SecretFile {
    // MQTT's limit for a password (MQTT 5 §3.1.3.6), and a line end.
    private static let octetsMax = 65_537

    /// The first line of a file, without its end.
    ///
    /// - Throws: `Errno` of open(2) and read(2).
    package static func password(_ path: String) throws(Errno) -> [UInt8] {
        let octets = try SmallFile.read(FilePath(path), maximum: octetsMax)
        var line = Array(octets.prefix { $0 != 0x0A }.prefix(65_535))
        if line.last == 0x0D { line.removeLast() }
        return line
    }

    /// What is wrong with a secret file's rights, with what to do; `nil` where nothing is, or it can't be looked at.
    ///
    /// Root's file may be read by the group that the gateway runs as; anybody else's by its owner alone.
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
