import BrokerSupport
import Foundation
import Glibc
import MQTTPublisher
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

/// Faults of a site's network and machines, at random by a seed.
///
/// `BEACON_EVENTS` sets the number of lines, `BEACON_SEED` the seed.
@Suite(.serialized) struct FaultTests {
    /// The path of the built command, which is in the folder of the test program.
    static let gateway: String = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("beacon-gateway").path
    }()

    /// Starts `beacon-gateway publish` as a process that can be killed.
    private static func publish(_ folder: TestFolder, port: UInt16, _ more: String...) throws -> Child {
        try folder.write(
            "g.yaml",
            """
            gateway: {name: lobby}
            mqtt: {host: 127.0.0.1, port: \(port), keep_alive: 5s}
            conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]

            """)
        return try Child(
            gateway,
            [
                "publish", folder.file("events"), "--config", folder.file("g.yaml"), "--checkpoint",
                folder.file("mqtt.json"),
            ]
                + more)
    }

    @Test func `with random stops, cuts, stalls and kills, every line arrives in order, and few arrive twice`() throws {
        let count = environment("BEACON_EVENTS", default: 5000)
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"), linesPerSegment: 1777)
        let broker = try Broker(folder)
        let subscriber = try Subscriber(broker)
        let proxy = CountingProxy(to: broker.port)
        defer { proxy.close() }
        var gateway = try Self.publish(folder, port: proxy.port, "--follow")
        var (faults, stops, kills) = (0, 0, 0)
        let window = PublisherOptions(folder, port: 1).window
        while files.sequence < count {
            try files.append(min(count - files.sequence, 1 + Int(random.next() % 700)))
            let fault = random.next() % 6
            faults += fault < 5 ? 1 : 0
            switch fault {
            case 0:
                stops += 1
                broker.stop()
                try files.append(min(count - files.sequence, Int(random.next() % 300)))
                try broker.start()
            case 1, 2:
                proxy.cut(after: 1 + Int(random.next() % 400))
            case 3:
                // The broker is suspended while lines are written: more of them than TCP's buffers can hold.
                broker.signal(SIGSTOP)
                try files.append(min(count - files.sequence, 2000))
                broker.signal(SIGCONT)
            case 4:
                kills += 1
                gateway.end(SIGKILL)
                gateway = try Self.publish(folder, port: proxy.port, "--follow")
            default: break
            }
            // Waits for some of the lines, not all of them, so that the next fault occurs while lines are published.
            let reached = Int(Double(files.sequence) * Double(random.next() % 100) / 100)
            #expect(subscriber.wait(for: reached), "seed \(seed)")
        }
        proxy.cut(after: .max)
        let isComplete = subscriber.wait(for: count)
        #expect(gateway.end() == 0)
        subscriber.end()
        let all = subscriber.all
        #expect(isComplete, "seed \(seed): \(Set(all).count) of \(count); \(gateway.said.suffix(5))")
        #expect(Subscriber.distinct(all) == Array(1...count), "seed \(seed)")
        // Each further connection repeats at most a window of lines. If the broker stops, the subscriber's connection
        // ends too, and at most 20 lines that it had not acknowledged are repeated.
        let cuts = proxy.connections - 1
        // A broker that is suspended for longer than the keep-alive time also ends a connection.
        #expect(cuts <= 3 * faults + 10, "seed \(seed): \(cuts) further connections after \(faults) faults")
        let most = cuts * window + stops * 20
        #expect(all.count - count <= most, "seed \(seed): \(all.count - count) repeated, \(cuts) cuts, \(stops) stops")
        print("faults, seed \(seed): \(count) lines, \(cuts) cuts, \(kills) kills, \(all.count - count) arrived twice")
    }

    @Test func `a killed broker loses only lines that it acknowledged and did not store; --from publishes them again`()
        throws
    {
        let count = 3000
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"), linesPerSegment: 500)
        let broker = try Broker(folder)
        let proxy = CountingProxy(to: broker.port)
        defer { proxy.close() }
        // The broker stores the session of this subscriber, which is then not connected while the broker is killed.
        let first = try Subscriber(broker)
        first.end()
        broker.stop()
        try broker.start()
        var options = PublisherOptions(folder, port: proxy.port)
        let publisher = try RunningPublisher(options)
        try publisher.remark(with: "accepts lines from 1 on")
        try files.append(count / 3)
        // Some lines are in flight, some are acknowledged.
        try publisher.until("some are acknowledged") { proxy.acknowledged.count >= 100 }
        let connections = proxy.connections
        broker.stop(SIGKILL)
        try broker.start()
        try files.append(count - count / 3)
        let subscriber = try Subscriber(broker)
        try publisher.until("all are published") { publisher.status.published >= count }
        try publisher.stop()
        let last = files.sequence
        let arrived = Set(subscriber.settled(last))
        let missing = Set(1...count).subtracting(arrived)
        // The killed broker had acknowledged every missing line, as the proxy recorded.
        #expect(missing.isSubset(of: proxy.acknowledged(through: connections)))
        #expect(!missing.isEmpty)
        // Missing lines are published again.
        options.from = missing.min()
        options.follows = false
        try RunningPublisher(options).end()
        #expect(subscriber.wait(for: count))
    }
}

extension RunningPublisher {
    /// Checks a condition every 2 ms until it is true, and throws after five minutes.
    func until(_ what: String, _ isSo: () -> Bool) throws {
        for _ in 0..<150_000 {
            if isSo() { return }
            var poll = pollfd(fd: -1, events: 0, revents: 0)
            _ = Glibc.poll(&poll, 1, 2)
        }
        throw TimeoutError(description: "never: \(what); \(status)")
    }
}

extension Subscriber {
    /// Returns all received numbers when `last` has arrived, or after a minute.
    func settled(_ last: Int) -> [Int] {
        for _ in 0..<6000 {
            guard !all.contains(last) else { break }
            var poll = pollfd(fd: -1, events: 0, revents: 0)
            _ = Glibc.poll(&poll, 1, 10)
        }
        return all
    }
}
