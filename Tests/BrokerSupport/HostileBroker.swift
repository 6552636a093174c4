import Foundation
import Glibc
import Synchronization

/// Takes connections at the loopback, and answers the first octets of each with what a test has it say.
package final class HostileBroker: Sendable {
    package let port: UInt16
    private let listener: Int32
    private let count = Mutex(0)
    private let say: @Sendable (Int) -> [UInt8]?

    /// How many connections came.
    package var connections: Int { count.withLock { $0 } }

    /// - Parameter say: what is sent, by how often something was; until it is not taken any more.
    package init(_ say: @escaping @Sendable (Int) -> [UInt8]?) {
        self.say = say
        listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = Glibc.bind(listener, pointer, size)
                _ = Glibc.listen(listener, 16)
                _ = getsockname(listener, pointer, &size)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in accept() }
    }

    package func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func accept() {
        while true {
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else { return }
            count.withLock { $0 += 1 }
            var buffer = [UInt8](repeating: 0, count: 4096)
            if recv(socket, &buffer, buffer.count, 0) > 0 {
                var sent = 0
                while sent < 400, let octets = say(sent), send(socket, octets, octets.count, Int32(MSG_NOSIGNAL)) > 0 {
                    sent += 1
                    if octets.count < 64, sent > 0, say(sent) == octets {
                        // Said all: the other end's answer, or its end, is waited for.
                        _ = recv(socket, &buffer, buffer.count, 0)
                        break
                    }
                }
            }
            Glibc.close(socket)
        }
    }
}
