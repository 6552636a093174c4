import BrokerSupport
import EventLog
import Foundation
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

@testable import MQTTPublisher

/// Lines must be on the disk before a broker receives them. Publishing is limited if nothing can be stored.
@Suite struct DurabilityTests {
    @Test func `without a gateway that reports durable lines, a line is only sent after it was synchronized`() throws {
        let (folder, calls, early) = (try TestFolder(), FailingFiles(), Announced<[Int]>([]))
        let files = try EventFiles(folder.file("events"), linesPerSegment: 40)
        try files.append(100)
        let length = EventFiles.line(1).utf8.count + 1
        var manner = ScriptedLink.Manner()
        manner.reason = { message in
            let number = message.sequence ?? 0
            let begin = (number - 1) / 40 * 40
            let name = String(format: "events-%012d-20261121T074627Z.jsonl", begin + 1)
            // Lines with a number of one digit are the shortest, so this is a lower bound.
            if calls.synchronized[name] ?? 0 < (number - begin) * length { early.change { $0.append(number) } }
            return 0
        }
        let broker = ScriptedBroker { [manner] link, _ in link.serve(manner) }
        defer { broker.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port), files: calls)
        try #require(broker.arrived.wait(quiet: 300) { $0.numbers.count >= 100 ? true : nil } == true)
        try files.append(50)
        try #require(broker.arrived.wait(quiet: 300) { $0.numbers.count >= 150 ? true : nil } == true)
        try publisher.stop()
        #expect(early.now == [])
        #expect(broker.arrived.now.numbers == Array(1...150))
        // Each name is synchronized, and each file after new lines, but not each line.
        #expect((4...10).contains(calls.counts[.synchronize, default: 0] - checkpoints(calls)), "\(calls.counts)")
    }

    /// Returns how often the checkpoint was synchronized: it is a new file each time.
    private func checkpoints(_ calls: FailingFiles) -> Int { calls.counts[.rename, default: 0] }

    @Test func `lines that cannot be synchronized are not sent until they can be, and the error is logged`() throws {
        let (folder, calls) = (try TestFolder(), FailingFiles())
        try EventFiles(folder.file("events")).append(20)
        calls.failures[.synchronize] = .ioError
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port), files: calls)
        try publisher.remark(with: "events can't be read: ")
        #expect(broker.arrived.now.numbers == [])
        calls.failures = [:]
        try #require(broker.arrived.wait(quiet: 300) { $0.numbers.count >= 20 ? true : nil } == true)
        try publisher.remark(with: "over: ")
        try publisher.stop()
        #expect(broker.arrived.now.numbers == Array(1...20))
    }

    @Test func `if a gateway reports which lines are durable, the publisher does not synchronize event files`() throws {
        let (folder, calls) = (try TestFolder(), FailingFiles())
        try EventFiles(folder.file("events")).append(20)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        var options = PublisherOptions(folder, port: broker.port)
        options.ownerReportsDurable = true
        let publisher = try RunningPublisher(options, files: calls)
        publisher.mailbox.update(durable: 20)
        try #require(broker.arrived.wait(quiet: 300) { $0.numbers.count >= 20 ? true : nil } == true)
        try publisher.stop()
        #expect(calls.synchronized.keys.allSatisfy { !$0.hasPrefix("events-") }, "\(calls.synchronized)")
    }

    @Test
    func `with a read-only state directory, publishing stops after 1,000 lines, logs it, and continues when writable`()
        throws
    {
        let (folder, calls) = (try TestFolder(), FailingFiles())
        try EventFiles(folder.file("events")).append(1500)
        calls.failures[.remove] = .readOnlyFileSystem
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        var options = PublisherOptions(folder, port: broker.port)
        options.ownerReportsDurable = true
        let publisher = try RunningPublisher(options, files: calls)
        publisher.mailbox.update(durable: 1500)
        try publisher.remark(with: "mqtt.json can't be written: Read-only file system; at most 1000 lines are sent")
        let said = try publisher.remark(with: "publishing has stopped")
        #expect(said.contains("1000 lines were sent") && said.contains("Read-only file system"), "\(said)")
        #expect(broker.arrived.now.numbers == Array(1...1000))
        #expect(publisher.status.localFailure == said)
        calls.failures = [:]
        try #require(broker.arrived.wait(quiet: 300) { $0.numbers.count >= 1500 ? true : nil } == true)
        try publisher.remark(with: "over: ")
        try publisher.stop()
        #expect(broker.arrived.now.numbers == Array(1...1500))
        #expect(try PublishingCheckpoint.read(options.checkpoint)?.position.sequence == 1500)
    }
}
