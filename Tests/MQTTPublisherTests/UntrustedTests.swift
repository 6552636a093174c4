import BaseTypes
import BrokerSupport
import EventLoops
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import PublisherProtocol

/// Messages from the pair of sockets and from a broker are not trusted.
@Suite(.serialized) struct UntrustedTests {
    /// Starts a script in place of the publisher. It can send any bytes, as a publisher that a hostile broker controls.
    private static func fixture(_ folder: TestFolder, _ script: String) throws -> PublishingFixture {
        let path = try folder.write("publisher", "#!/bin/sh\n\(script)\n")
        chmod(path, 0o755)
        return try PublishingFixture(folder, port: 1, program: path)
    }

    @Test(arguments: [
        "printf 'garbage' >&0; exec sleep 1000", "printf '\\001' >&0; exec sleep 1000",
        "printf '\\002' >&0; exec sleep 1000", "printf '\\003999999999999999999999' >&0; exec sleep 1000",
        "printf '\\003\\060' >&0; exit 3", "exit 0", "kill -ABRT $$",
    ])
    func `a publisher that sends invalid messages or ends is killed and restarted, and this is logged once`(
        script: String
    ) throws {
        let folder = try TestFolder()
        let fixture = try Self.fixture(folder, script)
        try fixture.until("the process was restarted three times") { fixture.process.starts >= 4 }
        #expect(fixture.remarks.count == 1, "\(fixture.remarks)")
        #expect(fixture.process.failure != nil)
        try fixture.stop()
    }

    @Test func `a publisher that sends messages without end is killed, and the log does not grow with them`() throws {
        let folder = try TestFolder()
        let fixture = try Self.fixture(folder, "n=0; while :; do n=$((n+1)); printf '\\002\\001hello '$n >&0; done")
        try fixture.until("the process was restarted") { fixture.process.starts >= 2 }
        #expect(fixture.remarks.count <= 101)
        fixture.process.stopAndWait()
    }

    @Test func `a publisher's report of lines that do not exist is limited, and control characters are removed`() throws
    {
        let folder = try TestFolder()
        var forged = PublisherStatus(since: .latest)
        forged.state = .connected
        (forged.published, forged.released) = (1_000_000, .max)
        forged.brokerFailure = "\u{1B}[2J\u{07}gone\n<3>forged"
        forged.nextAttempt = .latest
        try Data([1] + forged.message).write(to: URL(fileURLWithPath: folder.file("forged")))
        let fixture = try Self.fixture(folder, "cat '\(folder.file("forged"))' >&0; exec sleep 1000")
        try fixture.write(7)
        try fixture.until("the message was received") { fixture.process.status.brokerFailure != nil }
        let status = fixture.process.status
        #expect(status.published <= 7 && status.released <= 7)
        #expect(status.since <= fixture.loop.now)
        #expect(status.nextAttempt.map { $0 <= fixture.loop.now + .seconds(86_400) } ?? true)
        #expect(status.brokerFailure?.unicodeScalars.allSatisfy { $0.value >= 0x20 } ?? false)
        fixture.process.stopAndWait()
    }

    @Test func `a reader that hangs does not block the writer, and the newest message of each kind is kept`() throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        let loop = try EventLoop()
        let writer = try SocketPairEnd(FileDescriptor(rawValue: ends[0]), on: loop)
        let reader = try SocketPairEnd(FileDescriptor(rawValue: ends[1]), on: loop)
        for number in 1...20_000 {
            writer.put(2, Array("\(number)".utf8))
            writer.put(3, [UInt8](repeating: UInt8(number & 0xFF), count: 50_000))
            writer.put(7, Array("\(number)".utf8), keeping: 100)
        }
        writer.put(6, [])
        #expect(!writer.isFlushed)
        var arrived: [UInt8: [[UInt8]]] = [:]
        var order: [UInt8] = []
        reader.take = { kind, bytes in
            arrived[kind, default: []].append(Array(bytes))
            order.append(kind)
            return true
        }
        try loop.turn(until: "the last message arrived") { arrived[6] != nil }
        #expect(arrived[2]?.last == Array("20000".utf8))
        #expect(arrived[3]?.last?.first == UInt8(20_000 & 0xFF))
        #expect(arrived[7]?.last == Array("20000".utf8))
        // The messages in the sockets' buffers, and one or a hundred waiting messages of each kind, not 20,000.
        #expect((arrived[2]?.count ?? 0) < 300 && (arrived[3]?.count ?? 0) < 20 && (arrived[7]?.count ?? 0) < 400)
        #expect(order.last == 6)
        #expect(writer.dropped > 19_000)
    }

    @Test func `a message that is too long closes the pair without a trap`() throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        let loop = try EventLoop()
        let reader = try SocketPairEnd(FileDescriptor(rawValue: ends[1]), on: loop)
        var end: SocketPairEnd.End?
        reader.ended = { end = $0 }
        let long = [UInt8](repeating: 1, count: SocketPairEnd.bytesMax + 1)
        #expect(send(ends[0], long, long.count, 0) == long.count)
        try loop.turn(until: "the pair ended") { end != nil }
        #expect(end == .garbage)
        close(ends[0])
    }

    @Test func `settings and status that are cut off are refused, and damaged ones never trap`() throws {
        var settings = PublisherSettings(
            directory: "/e", checkpoint: "/c", host: "broker", port: 1883, clientID: "lobby")
        settings.tls = PublisherSettings.TLS()
        settings.present = PublisherSettings.Present(gateway: "lobby", stateDirectory: "/s")
        let status = PublisherStatus(since: .earliest).message
        #expect(try PublisherSettings(settings.message[...]) == settings)
        #expect(PublisherStatus(status[...]) == PublisherStatus(since: .earliest))
        var random = SeededGenerator(state: 7)
        for whole in [settings.message, status] {
            for count in 0..<whole.count {
                #expect(PublisherStatus(whole[..<count]) == nil)
                #expect(throws: PublisherSettings.Problem.self) { try PublisherSettings(whole[..<count]) }
            }
            for _ in 0..<20_000 {
                var damaged = whole
                for _ in 0...random.next() % 4 {
                    damaged[Int(random.next() % UInt64(damaged.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                _ = PublisherStatus(damaged[...])
                _ = try? PublisherSettings(damaged[...])
            }
        }
    }

    // MARK: Brokers

    @Test func `a broker that aborts the library ends one process each time, and no line is lost`() throws {
        let folder = try TestFolder()
        // A property that MQTT 5 does not define, which makes an assertion of libmosquitto 2.0.11 fail.
        let broker = ScriptedBroker { link, _ in
            guard link.packet() != nil, link.send([0x20, 0x05, 0x00, 0x00, 0x02, 0x7F, 0x01]) else { return }
            link.drain(milliseconds: 10_000)
        }
        defer { broker.close() }
        let fixture = try PublishingFixture(folder, port: broker.port)
        try fixture.write(20)
        try fixture.until("the broker was reached often") { broker.arrived.now.connections >= 5 }
        #expect(fixture.process.status.published == 0)
        #expect(fixture.remarks.count { $0.contains("the publisher process") } <= 1, "\(fixture.remarks)")
        // A correct broker in its place receives all lines.
        let good = try Broker(folder)
        let subscriber = try Subscriber(good, topic: "beacons/lobby/event/#")
        fixture.process.stopAndWait()
        let next = try PublishingFixture(folder, files: fixture.files, port: good.port)
        try next.until("all lines are published") { next.process.status.published == 20 }
        #expect(subscriber.wait(for: 20))
        #expect(subscriber.all == Array(1...20))
        try next.stop()
    }

    @Test func `if a broker sends 256 MiB, the publisher stays below 200 MiB of memory`() throws {
        let folder = try TestFolder()
        // A CONNACK, and then a message of 268,435,455 bytes (MQTT 5 §1.5.5), as much of it as the client accepts.
        let broker = ScriptedBroker { link, _ in
            let begin: [UInt8] = [0x20, 0x03, 0x00, 0x00, 0x00, 0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0x00, 0x01, 0x61, 0x00]
            guard link.packet() != nil, link.send(begin) else { return }
            let part = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<256 { guard link.send(part) else { return } }
        }
        defer { broker.close() }
        let fixture = try PublishingFixture(folder, port: broker.port)
        try fixture.write(20)
        var peak = 0
        try fixture.until("the broker was reached often, and its memory was measured") {
            if let id = fixture.process.processID,
                let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8),
                let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
                let size = line.split(separator: " ").dropLast().last.flatMap({
                    Int($0.trimmingCharacters(in: .whitespaces))
                })
            {
                peak = max(peak, size)
            }
            return broker.arrived.now.connections >= 3 && peak > 0
        }
        #expect(peak < 200 << 10, "\(peak) KiB")
        print(
            "256 MiB: \(broker.arrived.now.connections) connections, \(fixture.process.starts) processes, at most \(peak) KiB resident"
        )
        fixture.process.stopAndWait()
    }
}
