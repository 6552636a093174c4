import BrokerSupport
import Foundation
import Glibc
import Synchronization

/// A proxy between a publisher and a broker. It counts messages, cuts connections, and can act as an old broker.
final class CountingProxy: Sendable {
    let port: UInt16
    private let target: UInt16
    private let listener: Int32
    private struct State: Sendable {
        var sockets: [Int32] = []
        var sent: [Int] = []
        // By the number of the connection through which they arrived, counted from 1.
        var acknowledged: [Int: Set<Int>] = [:]
        var connections = 0
        var versions: [UInt8] = []
        var isClosed = false
        // The connection is cut after this number of further messages.
        var cutAfter = Int.max
    }

    private let state = Mutex(State())
    /// Whether a connection with MQTT 5 is refused, as by a broker that supports only 3.1.1.
    private let refusesFive: Bool

    init(to target: UInt16, refusesFive: Bool = false) {
        self.target = target
        self.refusesFive = refusesFive
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

    func close() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    /// Closes all open connections.
    func cut() { state.withLock { for socket in $0.sockets { shutdown(socket, Int32(SHUT_RDWR)) } } }

    /// Closes the connection after `count` more messages.
    func cut(after count: Int) { state.withLock { $0.cutAfter = count } }

    /// The sequence numbers of all messages that were sent to the broker, in order.
    var sent: [Int] { state.withLock { $0.sent } }
    /// The sequence numbers that the broker acknowledged.
    var acknowledged: Set<Int> { acknowledged(through: .max) }
    /// Returns the sequence numbers that the broker acknowledged in connections 1 to `connections`.
    func acknowledged(through connections: Int) -> Set<Int> {
        state.withLock { state in
            state.acknowledged.reduce(into: []) { if $1.key <= connections { $0.formUnion($1.value) } }
        }
    }
    var connections: Int { state.withLock { $0.connections } }
    var versions: [UInt8] { state.withLock { $0.versions } }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            if client < 0 {
                if state.withLock({ $0.isClosed }) { break }
                if errno == EINTR || errno == ECONNABORTED { continue }
                break
            }
            let server = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            address.sin_port = target.bigEndian
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else {
                Glibc.close(client)
                Glibc.close(server)
                continue
            }
            var one: Int32 = 1
            for socket in [client, server] {
                setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            }
            let number = state.withLock { state in
                state.connections += 1
                state.sockets += [client, server]
                return state.connections
            }
            let link = Link(self, number, client, server)
            Thread.detachNewThread { link.up() }
            Thread.detachNewThread { link.down() }
        }
        Glibc.close(listener)
    }

    /// One connection, with both of its directions.
    private final class Link: Sendable {
        let proxy: CountingProxy
        let number: Int
        let client: Int32
        let server: Int32
        // The sequence numbers of messages that were sent, by the library's numbers, and the number of open directions.
        private let numbers = Mutex<[UInt16: Int]>([:])
        private let open = Mutex(2)

        init(_ proxy: CountingProxy, _ number: Int, _ client: Int32, _ server: Int32) {
            self.proxy = proxy
            self.number = number
            self.client = client
            self.server = server
        }

        func up() {
            copy(from: client, to: server) { type, body in
                switch type >> 4 {
                case 1:
                    // CONNECT: the length of the protocol's name, the name, the version.
                    let version = body.count > 6 ? body[6] : 0
                    proxy.state.withLock { $0.versions.append(version) }
                    guard version == 5, proxy.refusesFive else { break }
                    // Unacceptable protocol version, in the format of 3.1.1 (§3.2.2.3).
                    let refusal: [UInt8] = [0x20, 2, 0, 1]
                    _ = refusal.withUnsafeBytes { Glibc.send(client, $0.baseAddress, 4, Int32(MSG_NOSIGNAL)) }
                    return false
                case 3 where type & 0x06 == 2:
                    guard body.count > 4 else { break }
                    let length = Int(body[0]) << 8 | Int(body[1])
                    guard body.count > length + 4 else { break }
                    let message = UInt16(body[length + 2]) << 8 | UInt16(body[length + 3])
                    let text = String(decoding: body[(length + 4)...], as: UTF8.self)
                    guard let key = text.range(of: "\"sequence\":"),
                        let number = Int(text[key.upperBound...].prefix { $0.isNumber })
                    else { break }
                    numbers.withLock { $0[message] = number }
                    return proxy.state.withLock { state in
                        state.sent.append(number)
                        state.cutAfter -= state.cutAfter == .max ? 0 : 1
                        guard state.cutAfter <= 0 else { return true }
                        state.cutAfter = .max
                        return false
                    }
                default: break
                }
                return true
            }
        }

        func down() {
            copy(from: server, to: client) { type, body in
                guard type >> 4 == 4, body.count >= 2, body.count < 3 || body[2] < 0x80 else { return true }
                let message = UInt16(body[0]) << 8 | UInt16(body[1])
                if let number = numbers.withLock({ $0.removeValue(forKey: message) }) {
                    let place = self.number
                    proxy.state.withLock { _ = $0.acknowledged[place, default: []].insert(number) }
                }
                return true
            }
        }

        /// Copies bytes, and calls `look` with each packet before it is forwarded. If it returns `false`, the
        /// connection ends.
        private func copy(from: Int32, to: Int32, _ look: (UInt8, ArraySlice<UInt8>) -> Bool) {
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            reading: while true {
                let count = Glibc.recv(from, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                rest += buffer[..<count]
                var start = 0
                var isCut = false
                while let (header, length) = Self.packet(rest[start...]) {
                    let body = rest[start + header..<start + header + length]
                    guard look(rest[start], ArraySlice(Array(body))) else {
                        isCut = true
                        break
                    }
                    start += header + length
                }
                var sent = 0
                while sent < start {
                    let part = rest[sent..<start].withUnsafeBytes {
                        Glibc.send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard part > 0 else { break reading }
                    sent += part
                }
                rest.removeFirst(start)
                if isCut { break }
            }
            shutdown(from, Int32(SHUT_RDWR))
            shutdown(to, Int32(SHUT_RDWR))
            let isLast = open.withLock { open in
                open -= 1
                return open == 0
            }
            guard isLast else { return }
            proxy.state.withLock { [client, server] in $0.sockets.removeAll { $0 == client || $0 == server } }
            Glibc.close(client)
            Glibc.close(server)
        }

        /// Returns the lengths of the header and the body of the packet at the start of `bytes`; `nil` if it is
        /// incomplete.
        private static func packet(_ bytes: ArraySlice<UInt8>) -> (Int, Int)? {
            var (length, shift, index) = (0, 0, bytes.startIndex + 1)
            while true {
                guard index < bytes.endIndex, shift < 28 else { return nil }
                length |= Int(bytes[index] & 0x7F) << shift
                shift += 7
                index += 1
                if bytes[index - 1] & 0x80 == 0 { break }
            }
            let header = index - bytes.startIndex
            return bytes.count >= header + length ? (header, length) : nil
        }
    }
}
