import Glibc
import SystemPackage

/// systemd's journal, spoken to in its own protocol: an entry is a datagram of fields
/// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/, systemd.journal-fields(7)).
///
/// It never waits: an entry that the journal can't take now is for the caller to say otherwise.
struct JournalSocket: Sendable {
    /// Where the journal listens.
    static let standardPath = "/run/systemd/journal/socket"
    // Above that an entry would have to go by a file (sd_journal_send(3)); nothing that is said here is nearly as long.
    private static let octetsMax = 32 << 10
    // sun_path has 108 octets, the last one zero (unix(7)).
    private static let pathOctetsMax = 107

    private let socket: FileDescriptor
    private let path: String
    private let program: String

    /// The journal, where standard error goes to it; `nil` where it goes elsewhere, or the journal can't be reached.
    ///
    /// systemd says by `JOURNAL_STREAM` which stream is the journal's, by its device and inode; a child of a service whose
    /// standard error was led elsewhere has the variable all the same (systemd.exec(5)).
    /// - Parameters:
    ///   - stream: the value of `JOURNAL_STREAM`.
    ///   - descriptor: what is compared with it.
    ///   - path: where the journal listens.
    ///   - program: what entries are said to come from.
    init?(stream: String?, of descriptor: FileDescriptor, path: String = standardPath, program: String) {
        guard Self.names(stream, descriptor), path.utf8.count <= Self.pathOctetsMax else { return nil }
        let made = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { return nil }
        socket = FileDescriptor(rawValue: made)
        self.path = path
        self.program = program
    }

    /// Whether `JOURNAL_STREAM` names this very descriptor.
    static func names(_ stream: String?, _ descriptor: FileDescriptor) -> Bool {
        guard let parts = stream?.split(separator: ":"), parts.count == 2, let device = UInt64(parts[0]),
            let inode = UInt64(parts[1])
        else { return false }
        var status = stat()
        guard unsafe fstat(descriptor.rawValue, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// Makes an entry.
    ///
    /// - Returns: whether the journal took it.
    func send(_ kind: MessageKind, _ text: String) -> Bool {
        let entry = Self.entry(kind, text, program: program)
        guard entry.count <= Self.octetsMax else { return false }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { place in
            for (index, octet) in path.utf8.enumerated() { unsafe place[index] = octet }
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let sent = unsafe withUnsafePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                unsafe entry.withUnsafeBytes { octets in
                    unsafe sendto(
                        socket.rawValue, octets.baseAddress, octets.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                        name, length)
                }
            }
        }
        return sent == entry.count
    }

    /// The fields of an entry. A text of several lines is written with its length, since a line's end would end the field.
    static func entry(_ kind: MessageKind, _ text: String, program: String) -> [UInt8] {
        var entry = Array(
            "PRIORITY=\(kind.level.rawValue)\nSYSLOG_IDENTIFIER=\(program)\nMESSAGE_ID=\(kind.identifier)\n".utf8)
        let octets = Array(text.utf8)
        if octets.contains(0x0A) {
            entry += "MESSAGE\n".utf8
            let count = UInt64(octets.count)
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                entry.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        } else {
            entry += "MESSAGE=".utf8
        }
        return entry + octets + [0x0A]
    }
}
