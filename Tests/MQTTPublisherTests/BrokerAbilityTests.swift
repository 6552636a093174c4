import BeaconMonitoring
import BrokerSupport
import EventLog
import Foundation
import MQTTPublisher
import PublisherProtocol
import SystemPackage
import Testing

/// Brokers without some features, and lines that MQTT or one broker cannot accept: which lines are published, and which
/// problems are reported.
@Suite struct BrokerAbilityTests {
    private struct Fixture {
        let folder: TestFolder
        let files: EventFiles
        let broker: ScriptedBroker
        var options: PublisherOptions

        init(_ count: Int = 40, _ serve: @escaping @Sendable (ScriptedLink, Int) -> Void) throws {
            folder = try TestFolder()
            files = try EventFiles(folder.file("events"))
            try files.append(count)
            broker = ScriptedBroker(serve)
            options = PublisherOptions(folder, port: broker.port)
        }

        func waits(for count: Int) -> Bool {
            broker.arrived.wait(quiet: 300) { Set($0.numbers).count >= count ? true : nil } ?? false
        }

        func run(_ body: (RunningPublisher) throws -> Void) throws {
            let publisher = try RunningPublisher(options)
            defer { broker.close() }
            try body(publisher)
            try publisher.stop()
        }
    }

    // MARK: The version

    @Test func `if a broker that used MQTT 5 closes without an answer, 3.1.1 is not tried; the checkpoint stores 5`()
        throws
    {
        let fixture = try Fixture { link, number in
            // The broker restarts behind a proxy, so these connections end without an answer.
            if (2...6).contains(number) || (8...12).contains(number) {
                _ = link.packet()
                return
            }
            var manner = ScriptedLink.Manner()
            // The broker refuses topics that end with /secret, so their lines would stay in the files.
            manner.reason = { $0.topic.hasSuffix("/secret") ? 0x87 : 0 }
            while let packet = link.packet(), link.answer(packet, manner) {
                if number == 1, packet.kind == 3, link.message(packet)?.sequence == 10 { return }
            }
        }
        try fixture.run { publisher in
            #expect(fixture.waits(for: 40))
            try publisher.until("the expected state is reached") { publisher.status.published >= 40 }
        }
        let broker = fixture.broker
        let versions = broker.arrived.now.connects.map(\.version)
        #expect((7...12).contains(versions.count) && versions.allSatisfy { $0 == 5 }, "\(versions)")
        #expect(try PublishingCheckpoint.read(fixture.options.checkpoint)?.five == "127.0.0.1:\(broker.port)")
    }

    @Test func `stored support of MQTT 5 applies after a restart, and only to the broker it was stored for`() throws {
        let fixture = try Fixture { link, number in
            if number <= 4 { _ = link.packet() } else { link.serve() }
        }
        let place = "127.0.0.1:\(fixture.broker.port)"
        try PublishingCheckpoint(position: LinePosition(sequence: 0), five: place).write(fixture.options.checkpoint)
        try fixture.run { _ in #expect(fixture.waits(for: 40)) }
        let versions = fixture.broker.arrived.now.connects.map(\.version)
        #expect((5...10).contains(versions.count) && versions.allSatisfy { $0 == 5 }, "\(versions)")

        let other = try Fixture { link, number in
            guard let packet = link.packet() else { return }
            // This broker supports only 3.1.1, and does not answer to other versions.
            if packet.body[6] == 4, link.answer(packet) { link.serve() }
        }
        try PublishingCheckpoint(position: LinePosition(sequence: 0), five: place).write(other.options.checkpoint)
        try other.run { publisher in
            #expect(other.waits(for: 40))
            let said = try publisher.remark(with: "MQTT 3.1.1")
            #expect(said.contains("lost") && said.contains("mqtt.protocol"), "\(said)")
            #expect(publisher.status.limitation?.contains("3.1.1") == true)
        }
        #expect(other.broker.arrived.now.connects.map(\.version) == [5, 5, 4])
    }

    @Test func `after a broker refused MQTT 5, each later connection tries 5 first`() throws {
        let fixture = try Fixture { link, number in
            while let packet = link.packet() {
                if packet.kind == 1, packet.body[6] == 5, number < 5 {
                    link.send([0x20, 2, 0, 1])
                    return
                }
                guard link.answer(packet) else { return }
                if number == 2 || number == 4, packet.kind == 3 { return }
            }
        }
        try fixture.run { _ in #expect(fixture.waits(for: 40)) }
        #expect(fixture.broker.arrived.now.connects.map(\.version) == [5, 4, 5, 4, 5])
    }

    @Test(arguments: [PublisherOptions.VersionChoice.five, .three])
    func `only the configured version is used, and its refusal is logged`(_ version: PublisherOptions.VersionChoice)
        throws
    {
        var fixture = try Fixture { link, _ in
            guard let packet = link.packet(), packet.kind == 1 else { return }
            link.send(packet.body[6] == 5 ? [0x20, 3, 0, 0x84, 0] : [0x20, 2, 0, 1])
        }
        fixture.options.version = version
        try fixture.run { publisher in
            let said = try publisher.remark(with: "does not support this version of MQTT")
            #expect(said.contains("mqtt.protocol"), "\(said)")
            try publisher.until("the expected state is reached") { fixture.broker.arrived.now.connects.count >= 3 }
        }
        #expect(Set(fixture.broker.arrived.now.connects.map(\.version)) == [version == .five ? 5 : 4])
    }

    // MARK: Retained messages

    private static func retained(_ folder: TestFolder) throws -> PublisherOptions.Retained {
        let options = PresentStateOptions(prefix: "beacons", gateway: try Identifier("lobby"), version: "1")
        return PublisherOptions.Retained(
            stem: "beacons/lobby", file: FilePath(folder.file("mqtt-state.json")), state: options, lastWritten: 0)
    }

    @Test(arguments: ["CONNACK", "property", "PUBACK", "DISCONNECT"])
    func `a broker without retained messages receives lines but no will or states, and this is logged`(_ how: String)
        throws
    {
        var fixture = try Fixture { link, _ in
            var manner = ScriptedLink.Manner()
            if how == "property" { manner.properties = [0x25, 0] }
            if how == "PUBACK" { manner.reason = { $0.isRetained ? 0x9A : 0 } }
            while let packet = link.packet() {
                let willIsRetained = packet.kind == 1 && packet.body[7] & 0x20 != 0
                if how == "CONNACK", willIsRetained {
                    link.send([0x20, 3, 0, 0x9A, 0])
                    return
                }
                if how == "DISCONNECT", packet.kind == 3, packet.type & 1 != 0 {
                    link.send([0xE0, 2, 0x9A, 0])
                    return
                }
                guard link.answer(packet, manner) else { return }
            }
        }
        fixture.options.retained = try Self.retained(fixture.folder)
        let (broker, files) = (fixture.broker, fixture.files)
        try fixture.run { publisher in
            #expect(fixture.waits(for: 40))
            try publisher.remark(with: "the broker does not support retained messages: lines are published")
            #expect(publisher.status.limitation?.contains("retained") == true)
            try files.append(10)
            #expect(fixture.waits(for: 50))
            // The present state is still stored, so published lines may be deleted.
            publisher.mailbox.update(status: Array("{}".utf8))
            try publisher.until("the expected state is reached") {
                publisher.status.released >= 50 || publisher.status.published >= 50
            }
        }
        let arrived = broker.arrived.now
        if how == "CONNACK" {
            #expect(arrived.connects.map(\.hasWill) == [true, false])
            #expect(arrived.messages.allSatisfy { !$0.isRetained })
        }
        if how == "property" { #expect(arrived.messages.allSatisfy { !$0.isRetained }) }
        #expect(Subscriber.distinct(arrived.numbers) == Array(1...50))
        #expect(arrived.connects.count <= 2)
    }

    // MARK: Lines that MQTT cannot carry

    private static func line(_ sequence: Int, _ topic: [UInt8]) -> [UInt8] {
        let text = EventFiles.line(sequence, topic: "@")
        let parts = text.split(separator: "@", maxSplits: 1).map { Array($0.utf8) }
        return parts[0] + topic + parts[1] + [0x0A]
    }

    @Test(
        arguments: [
            Array("beacons/lobby/event/st".utf8) + [0xFF] + Array("ff".utf8), [0xC0, 0x80], [0xED, 0xA0, 0x80], [],
            Array("a\\u0000b".utf8), Array("a/+/b".utf8), Array("a/#".utf8), Array("a\\u0007b".utf8),
            Array("a\u{85}b".utf8),
            Array("a\\u0041\u{FFFE}".utf8), Array("\u{FFFE}".utf8), Array(repeating: 0x61, count: 65_536),
            Array("\\u0061".utf8) + [0xFF],
        ] as [[UInt8]])
    func `a line that no broker can accept is skipped in its order, counted and logged; later lines are published`(
        _ topic: [UInt8]
    ) throws {
        let fixture = try Fixture(0) { link, _ in link.serve() }
        var bytes: [UInt8] = []
        for sequence in 1...9 {
            bytes +=
                sequence % 3 == 2
                ? Self.line(sequence, topic) : Self.line(sequence, Array("beacons/lobby/event/a".utf8))
        }
        // The last line has this topic too, so no line follows it.
        bytes += Self.line(10, topic)
        try Data(bytes).write(
            to: URL(fileURLWithPath: fixture.folder.file("events") + "/events-000000000001-20261121T074627Z.jsonl"))
        try fixture.run { publisher in
            let said = try publisher.remark(with: "line 2 can't be published to any broker")
            #expect(said.contains("its topic is invalid in MQTT"), "\(said)")
            #expect(fixture.waits(for: 6))
            try publisher.until("the expected state is reached") { publisher.status.published >= 10 }
            #expect(publisher.status.setAside == 4)
            #expect(publisher.status.missed == 0 && publisher.status.damaged == 0)
        }
        #expect(fixture.broker.arrived.now.numbers == [1, 3, 4, 6, 7, 9])
        #expect(try PublishingCheckpoint.read(fixture.options.checkpoint)?.position.sequence == 10)
    }

    @Test func `a line that is too large only for this broker waits, and the log has the broker's limit`() throws {
        let fixture = try Fixture(3) { link, number in
            var manner = ScriptedLink.Manner()
            // The Maximum Packet Size is 256 bytes, until an operator raises it.
            if number == 1 { manner.properties = [0x27, 0, 0, 1, 0] }
            while let packet = link.packet(), link.answer(packet, manner) {}
        }
        try fixture.run { publisher in
            let said = try publisher.remark(with: "can't accept a message")
            #expect(said.contains("packets of at most 256") && said.contains("raise the broker's limit"), "\(said)")
            #expect(publisher.status.published == 0 && publisher.status.setAside == 0)
            #expect(fixture.broker.arrived.now.messages.isEmpty)
        }
    }

    @Test func `a broker that answers pings but stops acknowledging is disconnected, and all lines arrive`() throws {
        var fixture = try Fixture(20) { link, number in
            var manner = ScriptedLink.Manner()
            // A keep-alive time of two seconds, which a broker can set in MQTT 5 (§3.2.2.3.14).
            manner.properties = [0x13, 0, 2]
            if number == 1 { manner.reason = { $0.sequence ?? 0 > 5 ? nil : 0 } }
            link.serve(manner)
        }
        fixture.options.keepAlive = .seconds(5)
        try fixture.run { publisher in
            let said = try publisher.remark(with: "it acknowledged nothing for")
            #expect(said.contains("does not answer"), "\(said)")
            #expect(fixture.waits(for: 20))
            try publisher.until("the expected state is reached") { publisher.status.published >= 20 }
        }
        #expect(Subscriber.distinct(fixture.broker.arrived.now.numbers) == Array(1...20))
        #expect((2...4).contains(fixture.broker.arrived.now.connects.count))
    }

    // MARK: Topics

    @Test func `in a connection, the first line of each condition is sent alone, but not that of each badge`() throws {
        let limit = 8
        let fixture = try Fixture(0) { link, _ in
            // Sends the PUBACKs when eight messages are in flight, or when no message arrives for 200 ms.
            var waiting: [ScriptedLink.Packet] = []
            while true {
                guard let packet = link.packet(milliseconds: waiting.isEmpty ? 60_000 : 200) else {
                    if waiting.isEmpty { return }
                    for packet in waiting { _ = link.answer(packet) }
                    waiting = []
                    continue
                }
                if packet.kind == 3 { waiting.append(packet) } else if !link.answer(packet) { return }
                if waiting.count >= limit {
                    for packet in waiting { _ = link.answer(packet) }
                    waiting = []
                }
            }
        }
        let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
        try fixture.files.append(81) { "beacons/lobby/event/staff/\(uuid)/100/\($0)" }
        try fixture.run { publisher in
            #expect(fixture.waits(for: 81))
            try publisher.until("the expected state is reached") { publisher.status.published >= 81 }
            // The first line is sent alone. After that, no line should be held back.
            #expect(publisher.status.repeated == 0)
        }
        #expect(fixture.broker.arrived.now.numbers == Array(1...81))
    }
}
