import Glibc
package import SystemPackage

/// A TCP port of 127.0.0.1 for a server that a test starts.
///
/// The port is bound, but not listening, until this value is released. The kernel gives it to no other program. A
/// server that sets SO_REUSEADDR can listen at it, and again after a restart (socket(7)). Until a server listens, a
/// connection is refused.
package final class HeldPort {
    /// The number of the port.
    package let number: UInt16
    private let socket: FileDescriptor

    /// Binds a port that the kernel chooses.
    ///
    /// - Throws: `Errno` of socket(2), bind(2) and getsockname(2): EADDRINUSE if none is free.
    package init() throws(Errno) {
        let made = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { throw Errno(rawValue: errno) }
        socket = FileDescriptor(rawValue: made)
        var one: Int32 = 1
        setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(made, $0, size) == 0 && getsockname(made, $0, &size) == 0
            }
        }
        guard isBound else {
            let failure = Errno(rawValue: errno)
            close(made)
            throw failure
        }
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { _ = try? socket.close() }
}
