import Glibc
import SystemPackage

/// A client of systemd's journal in its native protocol: an entry is a datagram of fields
/// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/, systemd.journal-fields(7)).
///
/// It never waits. If the journal cannot accept an entry now, the caller must log it in another way.
struct JournalSocket: Sendable {
    /// The path of the journal's socket.
    static let standardPath = "/run/systemd/journal/socket"
    // A larger entry would have to be sent as a file (sd_journal_send(3)). No message of this project is nearly as
    // long.
    private static let bytesMax = 32 << 10
    // sun_path has 108 bytes, of which the last is zero (unix(7)).
    private static let pathBytesMax = 107

    private let socket: FileDescriptor
    private let path: String
    private let program: String

    /// Creates a client if standard error goes to the journal; `nil` if it goes elsewhere, or if the client cannot be
    /// created.
    ///
    /// systemd sets `JOURNAL_STREAM` to the device and the inode of the stream that goes to the journal. A child
    /// process of a service also has this variable if its standard error was redirected (systemd.exec(5)), so it is
    /// compared with the device and the inode of `descriptor`.
    /// - Parameters:
    ///   - stream: the value of `JOURNAL_STREAM`.
    ///   - descriptor: the descriptor to compare with it.
    ///   - path: the path of the journal's socket.
    ///   - program: the name of the program in the entries.
    init?(stream: String?, of descriptor: FileDescriptor, path: String = standardPath, program: String) {
        guard Self.names(stream, descriptor), path.utf8.count <= Self.pathBytesMax else { return nil }
        let made = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { return nil }
        socket = FileDescriptor(rawValue: made)
        self.path = path
        self.program = program
    }

    /// Returns whether `JOURNAL_STREAM` has the device and the inode of the descriptor.
    static func names(_ stream: String?, _ descriptor: FileDescriptor) -> Bool {
        guard let parts = stream?.split(separator: ":"), parts.count == 2, let device = UInt64(parts[0]),
            let inode = UInt64(parts[1])
        else { return false }
        var status = stat()
        guard unsafe fstat(descriptor.rawValue, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// Sends an entry.
    ///
    /// - Returns: whether the journal accepted it.
    func send(_ kind: MessageKind, _ text: String) -> Bool {
        let entry = Self.entry(kind, text, program: program)
        guard entry.count <= Self.bytesMax else { return false }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { place in
            for (index, byte) in path.utf8.enumerated() { unsafe place[index] = byte }
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let sent = unsafe withUnsafePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                unsafe entry.withUnsafeBytes { bytes in
                    unsafe sendto(
                        socket.rawValue, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                        name, length)
                }
            }
        }
        return sent == entry.count
    }

    /// Returns the fields of an entry. A text of several lines is written with its length, because a line end would end
    /// the field.
    static func entry(_ kind: MessageKind, _ text: String, program: String) -> [UInt8] {
        var entry = Array(
            "PRIORITY=\(kind.level.rawValue)\nSYSLOG_IDENTIFIER=\(program)\nMESSAGE_ID=\(kind.identifier)\n".utf8)
        let bytes = Array(text.utf8)
        if bytes.contains(0x0A) {
            entry += "MESSAGE\n".utf8
            let count = UInt64(bytes.count)
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                entry.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        } else {
            entry += "MESSAGE=".utf8
        }
        return entry + bytes + [0x0A]
    }
}
