import BrokerSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// A named behavior of a hostile broker: one session, after which the connection is closed.
struct HostileMode: Sendable, CustomTestStringConvertible {
    let name: String
    /// Plays the session. It ends within some seconds, whatever the client does.
    let play: @Sendable (ScriptedLink) -> Void

    var testDescription: String { name }

    init(_ name: String, _ play: @escaping @Sendable (ScriptedLink) -> Void) {
        self.name = name
        self.play = play
    }

    /// Sends bytes in answer to the CONNECT, and records the packets that follow.
    private static func first(_ name: String, _ bytes: [UInt8], hold milliseconds: Int32 = 100) -> HostileMode {
        HostileMode(name) { link in
            guard link.packet(milliseconds: 2000) != nil else { return }
            link.send(bytes)
            link.look(milliseconds)
        }
    }

    /// Sends a CONNACK of MQTT 5 that accepts the connection, with these properties.
    private static func taken(_ name: String, _ properties: [UInt8]) -> HostileMode {
        first(name, [0x20, UInt8(3 + properties.count), 0, 0, UInt8(properties.count)] + properties)
    }

    /// Sends bytes after the connection was accepted and the first line has arrived.
    private static func later(_ name: String, _ bytes: [UInt8], hold milliseconds: Int32 = 100) -> HostileMode {
        HostileMode(name) { link in
            guard link.take() != nil else { return }
            link.send(bytes)
            link.look(milliseconds)
        }
    }

    /// Returns a message to the client.
    private static func publish(_ quality: UInt8, _ identifier: UInt16, _ payload: [UInt8]) -> [UInt8] {
        let numbered: [UInt8] = quality == 0 ? [] : [UInt8(identifier >> 8), UInt8(identifier & 0xFF)]
        let body: [UInt8] = [0, 1, 0x61] + numbered + [0] + payload
        return [0x30 | quality << 1] + length(body.count) + body
    }

    /// Returns a variable byte integer (MQTT 5 §1.5.5).
    static func length(_ count: Int) -> [UInt8] {
        var (bytes, rest): ([UInt8], Int) = ([], count)
        repeat {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return bytes
    }

    private static func user(_ count: Int) -> [UInt8] {
        Array(repeatElement([0x26, 0, 1, 0x61, 0, 1, 0x62] as [UInt8], count: count).joined())
    }

    /// Sessions in which no connection is accepted correctly.
    private static let before: [HostileMode] = [
        HostileMode("silence") { $0.drain(milliseconds: 300) },
        HostileMode("closed without a byte") { _ in },
        HostileMode("reset without a byte") { $0.reset() },
        HostileMode("closed at the request") { _ = $0.packet(milliseconds: 2000) },
        HostileMode("reset at the request") { link in
            _ = link.packet(milliseconds: 2000)
            link.reset()
        },
        first("a CONNACK's first byte", [0x20]),
        first("a CONNACK's header", [0x20, 3]),
        first("a CONNACK of no bytes", [0x20, 0]),
        first("a CONNACK of one byte", [0x20, 1, 0]),
        first(
            "a CONNACK of 256 MiB, its start", [0x20, 0xFF, 0xFF, 0xFF, 0x7F] + [UInt8](repeating: 0, count: 4096)),
        first("a length of five bytes", [0x20, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
        first("a length with more bytes than needed", [0x20, 0x83, 0x80, 0x00, 0, 0, 0]),
        first("a CONNACK with all flags", [0x20, 3, 0xFF, 0, 0]),
        first("a CONNACK with flags in its header", [0x2F, 3, 0, 0, 0]),
        first("properties that are longer than the packet", [0x20, 3, 0, 0, 0x7F]),
        first("a refusal with an unknown reason", [0x20, 3, 0, 0xFF, 0]),
        first("a refusal with a reason below 0x80", [0x20, 3, 0, 0x42, 0]),
        first("3.1.1's sixth refusal", [0x20, 2, 0, 6]),
        first("a refusal of the version, in 5", [0x20, 3, 0, 0x84, 0]),
        first("no retained messages", [0x20, 3, 0, 0x9A, 0]),
        first("a PUBACK first", [0x40, 2, 0, 1]),
        first("a message first", publish(0, 0, [1, 2, 3])),
        first("an answer to a ping first", [0xD0, 0]),
        first("an AUTH first", [0xF0, 2, 0x18, 0]),
        first("a SUBACK first", [0x90, 4, 0, 1, 0, 0]),
        first("a request for a connection", [0x10, 13, 0, 4] + Array("MQTT".utf8) + [5, 2, 0, 60, 0, 0, 0]),
        first("a DISCONNECT first", [0xE0, 2, 0x8B, 0]),
        first("packet type 0", [0x00, 2, 0, 0]),
        first("an alert of TLS", [0x15, 3, 1, 0, 2, 2, 70]),
        first("HTTP", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)),
        HostileMode("a banner of mail") { link in
            link.send(Array("220 mail.example ESMTP\r\n".utf8))
            link.look(100)
        },
        first("zeros", [UInt8](repeating: 0, count: 70_000)),
        first("ones", [UInt8](repeating: 0xFF, count: 70_000)),
    ]

    /// Sessions with an unusual CONNACK that accepts the connection.
    private static let taking: [HostileMode] = [
        first("a session that is reported as present", [0x20, 3, 1, 0, 0]),
        taken("an unknown property", [0x7F, 1]),
        taken("a property of other packets", [0x0B, 1]),
        taken("a property twice", [0x21, 0, 1, 0x21, 0, 1]),
        taken("half a property", [0x21, 0]),
        taken("a text longer than its property", [0x1F, 0xFF, 0xFF, 0x61]),
        taken("a text that is not UTF-8", [0x1F, 0, 2, 0xC0, 0x80]),
        taken("receive maximum 0", [0x21, 0, 0]),
        taken("receive maximum 1", [0x21, 0, 1]),
        taken("keep alive 0", [0x13, 0, 0]),
        taken("packets of 0 bytes", [0x27, 0, 0, 0, 0]),
        taken("packets of 1 byte", [0x27, 0, 0, 0, 1]),
        taken("no QoS 1", [0x24, 0]),
        taken("a greatest QoS of 9", [0x24, 9]),
        taken("retained messages of 7", [0x25, 7]),
        taken("65,535 topic aliases", [0x22, 0xFF, 0xFF]),
        taken("another client identifier", [0x12, 0, 3, 0x61, 0x62, 0x63]),
        taken("a reference to another server", [0x1C, 0, 3, 0x61, 0x62, 0x63]),
        first("10,000 user properties", [0x20] + length(5 + 70_000) + [0, 0] + length(70_000) + user(10_000)),
        HostileMode("a CONNACK, byte by byte") { link in
            guard link.packet(milliseconds: 2000) != nil else { return }
            for byte in [0x20, 3, 0, 0, 0] as [UInt8] {
                link.send([byte])
                link.drain(milliseconds: 50)
            }
            link.look(100)
        },
    ]

    /// Sessions that become hostile after the first line.
    private static let after: [HostileMode] = [
        later("a second CONNACK that accepts", [0x20, 3, 0, 0, 0]),
        later("a second CONNACK that refuses", [0x20, 3, 0, 0x87, 0]),
        later(
            "PUBACKs of messages that were not sent",
            Array(
                (0x4000..<0x5000).flatMap { number -> [UInt8] in
                    [0x40, 2, UInt8(number >> 8), UInt8(number & 0xFF)]
                })),
        HostileMode("each PUBACK twice") { link in
            guard var packet = link.take() else { return }
            for _ in 0..<20 {
                for _ in 0..<2 { guard link.answer(packet) else { return } }
                guard let next = link.packet(milliseconds: 200) else { return }
                packet = next
            }
        },
        HostileMode("PUBREC in place of PUBACK") { link in
            guard let packet = link.take(), let message = link.message(packet) else { return }
            link.send([0x50, 2, UInt8(message.identifier >> 8), UInt8(message.identifier & 0xFF)])
            link.look(100)
        },
        later("PUBREL and PUBCOMP without a message", [0x62, 2, 0, 1, 0x70, 2, 0, 1]),
        HostileMode("a PUBACK with an unknown reason") { link in
            guard let packet = link.take(), let message = link.message(packet) else { return }
            link.send([0x40, 3, UInt8(message.identifier >> 8), UInt8(message.identifier & 0xFF), 0x42])
            link.look(100)
        },
        HostileMode("every line refused") { link in
            guard var packet = link.take() else { return }
            var manner = ScriptedLink.Manner()
            manner.reason = { _ in 0x97 }
            while link.answer(packet, manner), let next = link.packet(milliseconds: 200) { packet = next }
        },
        later("PUBACKs of 0, 1 and 2 bytes", [0x40, 0, 0x40, 1, 0, 0x40, 2, 0, 0]),
        later("a PUBACK with an unknown property", [0x40, 6, 0x40, 0, 0, 2, 0x7F, 1]),
        later("a PUBACK with flags", [0x4F, 2, 0x40, 0]),
        later("messages of QoS 0, 1 and 2", (1...200).flatMap { publish(UInt8($0 % 3), $0, [1, 2, 3]) }),
        later("a message of QoS 3", publish(3, 1, [1])),
        later("a message with an alias that was not given", [0x30, 7, 0, 0, 3, 0x23, 0, 9, 1]),
        later("a message to no topic", [0x30, 3, 0, 0, 0]),
        later(
            "20,000 messages of QoS 2 that are never released", (1...20_000).flatMap { publish(2, $0, [1]) }, hold: 500),
        later("10,000 answers to pings", [UInt8](repeatElement([0xD0, 0], count: 10_000).joined())),
        later("pings", [UInt8](repeatElement([0xC0, 0], count: 1000).joined())),
        later("SUBACK and UNSUBACK without a request", [0x90, 4, 0, 1, 0, 0, 0xB0, 4, 0, 1, 0, 0]),
        later("AUTH", [0xF0, 2, 0x18, 0]),
        later("a normal DISCONNECT", [0xE0, 0]),
        later("DISCONNECT with 0x8E", [0xE0, 2, 0x8E, 0]),
        later("DISCONNECT with 0x9A", [0xE0, 2, 0x9A, 0]),
        later("DISCONNECT with 0xFF, then a PUBACK", [0xE0, 2, 0xFF, 0, 0x40, 2, 0, 1]),
        later("DISCONNECT with an unknown property", [0xE0, 4, 0x8B, 2, 0x7F, 1]),
        later(
            "a message of 256 MiB, its first MiB",
            [0x30, 0xFF, 0xFF, 0xFF, 0x7F] + [UInt8](repeating: 0, count: 1 << 20)),
        HostileMode("a message of 256 MiB") { link in
            guard link.take() != nil, link.send([0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, 0x61, 0]) else { return }
            let part = [UInt8](repeating: 0, count: 1 << 20)
            for _ in 0..<256 { guard link.send(part) else { return } }
        },
        HostileMode("a message, byte by byte") { link in
            guard link.take() != nil else { return }
            for byte in publish(0, 0, [UInt8](repeating: 7, count: 20)) {
                link.send([byte])
                link.drain(milliseconds: 20)
            }
        },
        HostileMode("nothing is read any more") { link in
            _ = link.take()
            standStill()
        },
        HostileMode("reset in a message") { link in
            _ = link.take()
            link.reset()
        },
        HostileMode("closed after each line") { link in
            guard let packet = link.take() else { return }
            _ = link.answer(packet)
        },
    ]

    static let all = before + taking + after

    /// Returns a session of random bytes: packets that are nearly valid, or bytes that are unlike MQTT.
    static func random(_ seed: UInt64) -> HostileMode {
        HostileMode("seed \(seed)") { link in
            var random = SeededGenerator(state: seed)
            if random.next() % 4 == 0 {
                // Bytes that are unlike MQTT.
                if random.next() % 2 == 0 { _ = link.packet(milliseconds: 2000) }
                link.send((0..<Int(random.next() % 3000)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
                return link.look(30)
            }
            guard link.packet(milliseconds: 2000) != nil else { return }
            if random.next() % 4 == 0 {
                link.send(damaged([0x20, 6, 0, 0, 3, 0x21, 0, 20], &random))
            } else {
                link.send([0x20, 3, 0, 0, 0])
            }
            for _ in 0..<(random.next() % 30) {
                guard let packet = link.packet(milliseconds: 30) else { break }
                switch random.next() % 4 {
                case 0, 1: _ = link.answer(packet)
                case 2: link.send(damaged(samples[Int(random.next() % UInt64(samples.count))], &random))
                default:
                    let body = (0..<Int(random.next() % 60)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    // A PUBACK is excluded, because it would acknowledge a line.
                    let type = UInt8(truncatingIfNeeded: random.next())
                    link.send([type >> 4 == 4 ? type | 0x80 : type] + length(body.count) + body)
                }
            }
            link.look(20)
        }
    }

    private static let samples: [[UInt8]] = [
        [0x20, 3, 0, 0, 0], [0x40, 2, 0x40, 0], [0x40, 4, 0x40, 1, 0x10, 0], [0x50, 2, 0x40, 0], [0x62, 2, 0x40, 0],
        [0x70, 2, 0x40, 0], [0x90, 4, 0x40, 1, 0, 0], [0xD0, 0], [0xE0, 2, 0x8B, 0], [0xF0, 2, 0x18, 0],
        [0xE0, 7, 0x8B, 5, 0x1F, 0, 2, 0x61, 0x62], publish(0, 0, [1, 2, 3]), publish(1, 7, [1]), publish(2, 8, [1]),
        [0x40, 11, 0x40, 1, 0x10, 7, 0x26, 0, 1, 0x61, 0, 1, 0x62],
    ]

    /// Returns a packet in which one to three bytes are changed, and sometimes the end is cut off. The identifiers of
    /// PUBACKs remain those of messages that were never sent.
    private static func damaged(_ packet: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var packet = packet
        for _ in 0...(random.next() % 3) {
            let index = Int(random.next() % UInt64(packet.count))
            packet[index] = UInt8(truncatingIfNeeded: random.next())
        }
        if packet[0] >> 4 == 4, packet.count > 2 { packet[2] |= 0x40 }
        if random.next() % 8 == 0 { packet.removeLast(Int(random.next() % UInt64(packet.count))) }
        return packet
    }
}

/// Waits for 300 ms.
private func standStill() {
    var poll = pollfd(fd: -1, events: 0, revents: 0)
    _ = Glibc.poll(&poll, 1, 300)
}

extension ScriptedLink {
    /// Accepts the connection, and returns the first line; `nil` if none arrives.
    func take() -> Packet? {
        while let packet = packet(milliseconds: 2000) {
            if packet.kind == 3 { return packet }
            guard answer(packet) else { return nil }
        }
        return nil
    }

    /// Records packets until none arrives for this time.
    func look(_ milliseconds: Int32) { while packet(milliseconds: milliseconds) != nil {} }
}
