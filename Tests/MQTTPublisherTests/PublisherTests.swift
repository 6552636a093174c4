import BrokerSupport
import EventLog
import EventLoops
import Foundation
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

@testable import MQTTPublisher

/// A publisher in a thread, and its remarks.
final class RunningPublisher {
    let mailbox: PublisherMailbox
    private(set) var remarks: [String] = []

    init(_ options: PublisherOptions, files: FailingFiles = FailingFiles()) throws {
        mailbox = try PublisherMailbox(now: BootClock.now)
        try PublisherThread.start(options, mailbox: mailbox, files: files)
    }

    deinit { mailbox.stop() }

    var status: PublisherStatus { mailbox.status }

    /// Waits for a remark that contains `text`, and returns it.
    @discardableResult func remark(with text: String, within seconds: TimeInterval = 300) throws -> String {
        let end = Date(timeIntervalSinceNow: seconds)
        var seen = 0
        while true {
            remarks += mailbox.drainRemarks().map(\.text)
            while seen < remarks.count {
                seen += 1
                if remarks[seen - 1].contains(text) {
                    defer { remarks.removeFirst(seen) }
                    return remarks[seen - 1]
                }
            }
            try wait(until: end, "no remark with “\(text)” arrived; the last: \(remarks.suffix(5))")
        }
    }

    /// Waits until the publisher has ended.
    func end(within seconds: TimeInterval = 300) throws {
        let end = Date(timeIntervalSinceNow: seconds)
        while mailbox.status.state != .ended { try wait(until: end, "it did not end: \(mailbox.status)") }
        remarks += mailbox.drainRemarks().map(\.text)
    }

    func stop() throws {
        mailbox.stop()
        try end()
    }

    private func wait(until end: Date, _ what: String) throws {
        let left = end.timeIntervalSinceNow
        guard left > 0 else { throw TimeoutError(description: what) }
        var poll = pollfd(fd: mailbox.owner.descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        _ = Glibc.poll(&poll, 1, Int32(min(left, 10) * 1000))
        mailbox.owner.clear()
    }
}

extension PublisherOptions {
    /// Creates options for the event files of a folder, with short delays.
    init(_ folder: TestFolder, port: UInt16) {
        self.init(
            settings: PublisherSettings(
                directory: FilePath(folder.file("events")), checkpoint: FilePath(folder.file("mqtt.json")),
                host: "127.0.0.1", port: port, clientID: "gateway"))
        seed = 1
        backOff.first = .milliseconds(20)
        backOff.last = .milliseconds(200)
        backOff.firstForSomebody = .milliseconds(50)
        backOff.lastForSomebody = .milliseconds(200)
    }
}

@Suite struct PublisherTests {
    private func checkpoint(_ folder: TestFolder) throws -> Int? {
        try PublishingCheckpoint.read(FilePath(folder.file("mqtt.json")))?.position.sequence
    }

    @Test func `a backlog is published in order, each line once, and the checkpoint is at its end`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"), linesPerSegment: 700)
        try files.append(2500)
        let broker = try Broker(folder)
        let subscriber = try Subscriber(broker)
        var options = PublisherOptions(folder, port: broker.port)
        options.follows = false
        let publisher = try RunningPublisher(options)
        try publisher.end()
        #expect(subscriber.wait(for: 2500))
        #expect(subscriber.all == Array(1...2500))
        #expect(try checkpoint(folder) == 2500)
        #expect(publisher.status.acknowledged == 2500)
        // No line is left to publish.
        let again = try RunningPublisher(options)
        try again.end()
        #expect(again.status.acknowledged == 0)
    }

    @Test(arguments: [2, 3, 7, 64])
    func `a full window continues as soon as the checkpoint is stored, not only at the next keep-alive`(
        window: Int
    ) throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(300)
        // The broker accepts any number of messages at a time, so that one turn can find all of them acknowledged.
        let broker = try Broker(folder, more: "allow_anonymous true\nmax_inflight_messages 0")
        var options = PublisherOptions(folder, port: broker.port)
        options.follows = false
        options.window = window
        // Each wait for the next keep-alive would take a minute.
        try RunningPublisher(options).end()
        #expect(try checkpoint(folder) == 300)
    }

    @Test(arguments: ["", "max_inflight_messages 1", "max_inflight_messages 0"])
    func `lines of many topics arrive in order, however many the broker accepts at a time`(limit: String) throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        try files.append(700) { "beacons/lobby/event/c\($0 * $0 % 53)" }
        let broker = try Broker(folder, more: "allow_anonymous true\n" + limit)
        let subscriber = try Subscriber(broker)
        var options = PublisherOptions(folder, port: broker.port)
        options.follows = false
        let publisher = try RunningPublisher(options)
        try publisher.end()
        #expect(subscriber.wait(for: 700))
        #expect(subscriber.all == Array(1...700))
        #expect(publisher.status.repeated == 0)
    }

    @Test func `--from publishes again from that sequence number on, regardless of the checkpoint`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"), linesPerSegment: 100)
        try files.append(500)
        let broker = try Broker(folder)
        var options = PublisherOptions(folder, port: broker.port)
        options.follows = false
        try RunningPublisher(options).end()
        let subscriber = try Subscriber(broker)
        options.from = 321
        try RunningPublisher(options).end()
        #expect(subscriber.wait(for: 180))
        #expect(subscriber.all == Array(321...500))
    }

    @Test func `new lines are published as they are written, across segments, without a gateway's orders`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"), linesPerSegment: 50)
        let broker = try Broker(folder)
        let subscriber = try Subscriber(broker)
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port))
        try publisher.remark(with: "accepts lines from 1 on (MQTT 5)")
        for _ in 0..<10 {
            try files.append(33)
            #expect(subscriber.wait(for: files.sequence))
        }
        try publisher.stop()
        #expect(subscriber.all == Array(1...330))
        #expect(try checkpoint(folder) == 330)
    }

    @Test func `lines that are not durable are not published`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        try files.append(100)
        let broker = try Broker(folder)
        let subscriber = try Subscriber(broker)
        var options = PublisherOptions(folder, port: broker.port)
        options.ownerReportsDurable = true
        let publisher = try RunningPublisher(options)
        publisher.mailbox.update(durable: 40)
        #expect(subscriber.wait(for: 40))
        publisher.mailbox.update(durable: 60)
        #expect(subscriber.wait(for: 60))
        try publisher.stop()
        #expect(subscriber.all == Array(1...60))
        #expect(try checkpoint(folder) == 60)
    }

    @Test func `a broker that supports only 3.1.1 receives all lines with that version`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        try files.append(300)
        let broker = try Broker(folder)
        let subscriber = try Subscriber(broker)
        let proxy = CountingProxy(to: broker.port, refusesFive: true)
        defer { proxy.close() }
        var options = PublisherOptions(folder, port: proxy.port)
        options.follows = false
        let publisher = try RunningPublisher(options)
        try publisher.remark(with: "(MQTT 3.1.1)")
        try publisher.end()
        #expect(proxy.versions == [5, 4])
        #expect(subscriber.wait(for: 300))
        #expect(subscriber.all == Array(1...300))
    }

    @Test func `a broker that is down at the start is logged once, and receives all lines when it runs`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        try files.append(10)
        let broker = try Broker(folder, isStarted: false)
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port))
        let said = try publisher.remark(with: "can't be reached")
        #expect(said.contains("Connection refused") && said.contains("check mqtt.host and mqtt.port"), "\(said)")
        try files.append(10)
        try broker.start()
        try publisher.remark(with: "accepts lines from 1 on")
        let subscriber = try Subscriber(broker)
        try files.append(10)
        #expect(subscriber.wait(for: 1))
        try publisher.stop()
        #expect(publisher.status.published == 30)
        // It was tried often, and logged once.
        #expect(publisher.remarks.allSatisfy { !$0.contains("can't be reached") }, "\(publisher.remarks)")
    }

    @Test func `in MQTT 5, a message has the sequence number as a property, and an expiry if one is set`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        let broker = try Broker(folder)
        let arguments = [
            "-p", "\(broker.port)", "-t", "beacons/#", "-V", "mqttv5", "-q", "1", "-c", "-x", "60", "-i", "s", "-C",
            "3",
            "-F", "got %P %E %r %q",
        ]
        #expect(try Child(BrokerTools.subscribe, arguments + ["-E"]).wait() == 0)
        let listener = try Child(BrokerTools.subscribe, arguments)
        try files.append(3)
        var options = PublisherOptions(folder, port: broker.port)
        options.messageExpiry = .seconds(3600)
        let publisher = try RunningPublisher(options)
        try listener.line(with: "got sequence:1 3600 0 1")
        try listener.line(with: "got sequence:3 3600 0 1")
        try publisher.stop()
    }
}
