import Foundation
import Glibc
import Synchronization

/// A broker that a test controls byte by byte, over TCP. With ``ScriptedLink/serve(_:)`` it is a correct broker.
package final class ScriptedBroker: Sendable {
    /// The content of a client's CONNECT.
    package struct Connect: Sendable, Hashable {
        /// 5, or 4 for MQTT 3.1.1.
        package var version: UInt8
        /// The connect flags (MQTT 5 §3.1.2.3).
        package var flags: UInt8
        package var hasWill: Bool { flags & 0x04 != 0 }
        package var willIsRetained: Bool { flags & 0x20 != 0 }
    }

    /// A received message.
    package struct Message: Sendable, Hashable {
        package var topic: String
        package var payload: [UInt8]
        package var isRetained: Bool
        package var identifier: UInt16
        /// The sequence number of the line in the payload; `nil` if there is none.
        package var sequence: Int? {
            let text = String(decoding: payload, as: UTF8.self)
            guard let key = text.range(of: "\"sequence\":") else { return nil }
            return Int(text[key.upperBound...].prefix { $0.isNumber })
        }
    }

    /// Everything that was received so far.
    package struct Arrivals: Sendable {
        package var connects: [Connect] = []
        package var messages: [Message] = []
        /// The number of connections.
        package var connections = 0
        package var numbers: [Int] { messages.compactMap(\.sequence) }
    }

    package let port: UInt16
    package let arrived = Announced(Arrivals())
    private let listener: Int32
    private let sockets = Mutex<Set<Int32>>([])
    private let serve: @Sendable (ScriptedLink, Int) -> Void

    /// Opens a listening socket. `serve` is called with each connection and its number, from 1, in a separate thread.
    package init(_ serve: @escaping @Sendable (ScriptedLink, Int) -> Void) {
        self.serve = serve
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

    /// Accepts no more connections, and closes the open ones.
    package func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        sockets.withLock { for socket in $0 { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    private func accept() {
        var count = 0
        while true {
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                break
            }
            // A child process must not keep the connection open.
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            count += 1
            let number = count
            arrived.change { $0.connections = number }
            var one: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            sockets.withLock { _ = $0.insert(socket) }
            Thread.detachNewThread { [self] in
                let link = ScriptedLink(socket, arrived)
                serve(link, number)
                sockets.withLock { _ = $0.remove(socket) }
                link.close()
            }
        }
        Glibc.close(listener)
    }
}
