import Foundation
import Glibc

/// One connection of a scripted broker. It belongs to the thread that serves it.
package final class ScriptedLink {
    /// The differences from a correct broker.
    package struct Manner: Sendable {
        /// The properties of the CONNACK in MQTT 5, without their length.
        package var properties: [UInt8] = []
        /// Returns the reason code of the PUBACK for a message: 0 if it is accepted, `nil` if there is no PUBACK at
        /// all.
        package var reason: @Sendable (ScriptedBroker.Message) -> UInt8? = { _ in 0 }

        package init() {}
    }

    /// A received packet.
    package struct Packet {
        package var type: UInt8
        package var body: [UInt8]
        package var kind: UInt8 { type >> 4 }
    }

    package let socket: Int32
    private let arrived: Announced<ScriptedBroker.Arrivals>
    private var rest: [UInt8] = []
    private var version: UInt8 = 5
    private var isClosed = false

    init(_ socket: Int32, _ arrived: Announced<ScriptedBroker.Arrivals>) {
        self.socket = socket
        self.arrived = arrived
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        Glibc.close(socket)
    }

    /// Makes the connection end with RST when it is closed.
    package func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends bytes, and returns whether all of them were sent.
    @discardableResult package func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let part = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard part > 0 else { return false }
            sent += part
        }
        return true
    }

    /// Reads and discards data until the client ends the connection, or nothing arrives for this time.
    package func drain(milliseconds: Int32) { while read(milliseconds) {} }

    private func read(_ milliseconds: Int32) -> Bool {
        var poll = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, milliseconds) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = Glibc.recv(socket, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        rest += buffer[..<count]
        return true
    }

    /// Returns the next packet, and records it; `nil` if the connection has ended, or nothing arrives for this time.
    package func packet(milliseconds: Int32 = 60_000) -> Packet? {
        while true {
            if let (header, length) = Self.size(rest[...]) {
                let packet = Packet(type: rest[0], body: Array(rest[header..<header + length]))
                rest.removeFirst(header + length)
                note(packet)
                return packet
            }
            guard read(milliseconds) else { return nil }
        }
    }

    /// Answers a packet as a correct broker, except for the differences in `manner`. It returns whether the connection
    /// continues.
    package func answer(_ packet: Packet, _ manner: Manner = Manner()) -> Bool {
        switch packet.kind {
        case 1:
            let properties = version == 5 ? [UInt8(manner.properties.count)] + manner.properties : []
            return send([0x20, UInt8(2 + properties.count), 0, 0] + properties)
        case 3 where packet.type & 0x06 == 2:
            guard let message = message(packet), let reason = manner.reason(message) else { return true }
            let identifier = [UInt8(message.identifier >> 8), UInt8(message.identifier & 0xFF)]
            return send(reason == 0 || version != 5 ? [0x40, 2] + identifier : [0x40, 3] + identifier + [reason])
        case 12: return send([0xD0, 0])
        case 14: return false
        default: return true
        }
    }

    /// Behaves as a correct broker until the connection ends.
    package func serve(_ manner: Manner = Manner()) {
        while let packet = packet(), answer(packet, manner) {}
    }

    private func note(_ packet: Packet) {
        switch packet.kind {
        case 1 where packet.body.count > 7:
            version = packet.body[6]
            let connect = ScriptedBroker.Connect(version: version, flags: packet.body[7])
            arrived.change { $0.connects.append(connect) }
        case 3:
            if let message = message(packet) { arrived.change { $0.messages.append(message) } }
        default: break
        }
    }

    package func message(_ packet: Packet) -> ScriptedBroker.Message? {
        let body = packet.body
        guard body.count >= 2 else { return nil }
        let length = Int(body[0]) << 8 | Int(body[1])
        var index = 2 + length
        guard body.count >= index else { return nil }
        let topic = String(decoding: body[2..<index], as: UTF8.self)
        var identifier: UInt16 = 0
        if packet.type & 0x06 != 0 {
            guard body.count >= index + 2 else { return nil }
            identifier = UInt16(body[index]) << 8 | UInt16(body[index + 1])
            index += 2
        }
        // The length of the properties has one byte: a sequence number and an expiry are shorter than 128 bytes.
        if version == 5 { index += body.count > index ? 1 + Int(body[index]) : 0 }
        guard body.count >= index else { return nil }
        return ScriptedBroker.Message(
            topic: topic, payload: Array(body[index...]), isRetained: packet.type & 1 != 0, identifier: identifier)
    }

    /// Returns the lengths of the header and the body of the packet at the start of `bytes`; `nil` if it is
    /// incomplete.
    private static func size(_ bytes: ArraySlice<UInt8>) -> (Int, Int)? {
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
