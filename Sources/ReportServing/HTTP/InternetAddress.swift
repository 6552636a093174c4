// The structures of sys/socket.h belong to the first imported module that includes it. CMicrohttpd includes it too, so
// it must be imported here.
import CMicrohttpd
import Glibc
package import SystemPackage

/// An IPv4 or IPv6 address (inet_pton(3)).
package struct InternetAddress: Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of unsent bytes that the kernel buffers for a connection.
    private static let unsentMax: Int32 = 32 << 10

    /// The 4 or 16 bytes of the address.
    let bytes: [UInt8]

    /// Reads an address such as `192.0.2.1` or `2001:db8::1`; `nil` if `text` is a name or invalid.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        for (family, size) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: size)
            if unsafe inet_pton(family, text, &bytes) == 1 {
                self.bytes = bytes
                return
            }
        }
        return nil
    }

    /// Reads the address of a socket address; `nil` if it is neither IPv4 nor IPv6. An IPv4-mapped IPv6 address (RFC
    /// 4291 §2.5.5.2) becomes the IPv4 address.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            bytes = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
                unsafe withUnsafeBytes(of: four.pointee.sin_addr) { unsafe Array($0) }
            }
        case AF_INET6:
            let all = unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
                unsafe withUnsafeBytes(of: six.pointee.sin6_addr) { unsafe Array($0) }
            }
            let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
            bytes = all.starts(with: mapped) ? Array(all.suffix(4)) : all
        default: return nil
        }
    }

    /// Whether only this machine can reach it: 127.0.0.0/8, or ::1.
    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// The usual text form.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Creates a non-blocking socket that listens at the address.
    ///
    /// - Parameter port: its TCP port; 0 means a free port.
    /// - Returns: the socket, which the caller must close, and its port.
    /// - Throws: `Errno` of socket(2), bind(2) and listen(2): EADDRINUSE if the port is in use, EACCES for a port below
    ///   1024, EADDRNOTAVAIL if the machine does not have the address.
    package func listen(port: UInt16) throws(Errno) -> (socket: FileDescriptor, port: UInt16) {
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let made = socket(family, type, 0)
        guard made >= 0 else { throw Errno(rawValue: errno) }
        // A restarted server can listen immediately, even if connections of the previous one still exist (socket(7)).
        var one: Int32 = 1
        _ = unsafe setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        // Its connections inherit this limit. Otherwise the kernel buffers up to 4 MB for a client that does not read,
        // and systemd counts them as memory of the program (tcp(7)).
        var unsentMax = Self.unsentMax
        _ = unsafe setsockopt(
            made, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &unsentMax, socklen_t(MemoryLayout<Int32>.size))
        var storage = sockaddr_storage()
        var length = fill(&storage, port: port)
        let isThere =
            unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(made, $0, length) == 0 && Glibc.listen(made, 128) == 0
                        && getsockname(made, $0, &length) == 0
                }
            }
        guard isThere else {
            let failure = Errno(rawValue: errno)
            close(made)
            throw failure
        }
        let given = unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { unsafe $0.pointee.sin_port.bigEndian }
        }
        return (FileDescriptor(rawValue: made), given)
    }

    private func fill(_ storage: inout sockaddr_storage, port: UInt16) -> socklen_t {
        unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            if bytes.count == 4 {
                return unsafe pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
                    unsafe four.pointee.sin_family = sa_family_t(AF_INET)
                    unsafe four.pointee.sin_port = port.bigEndian
                    unsafe withUnsafeMutableBytes(of: &four.pointee.sin_addr) { unsafe $0.copyBytes(from: bytes) }
                    return socklen_t(MemoryLayout<sockaddr_in>.size)
                }
            }
            return unsafe pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
                unsafe six.pointee.sin6_family = sa_family_t(AF_INET6)
                unsafe six.pointee.sin6_port = port.bigEndian
                unsafe withUnsafeMutableBytes(of: &six.pointee.sin6_addr) { unsafe $0.copyBytes(from: bytes) }
                return socklen_t(MemoryLayout<sockaddr_in6>.size)
            }
        }
    }
}
