import BrokerSupport
import EventLog
import Foundation
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

@testable import MQTTPublisher

/// What is on the disk before a broker is told of it, and what becomes of shipping where nothing can be kept.
@Suite struct DurabilityTests {
    @Test func `where no gateway says what is durable, no line is sent that is not on the disk`() throws {
        let (folder, calls, early) = (try TestFolder(), FailingFiles(), Announced<[Int]>([]))
        let files = try EventFiles(folder.file("events"), linesPerSegment: 40)
        try files.append(100)
        let length = EventFiles.line(1).utf8.count + 1
        var manner = ScriptedLink.Manner()
        manner.reason = { message in
            let number = message.sequence ?? 0
            let begin = (number - 1) / 40 * 40
            let name = String(format: "events-%012d-20261121T074627Z.jsonl", begin + 1)
            // Lines of one digit are the shortest.
            if calls.synchronized[name] ?? 0 < (number - begin) * length { early.change { $0.append(number) } }
            return 0
        }
        let broker = ScriptedBroker { [manner] link, _ in link.serve(manner) }
        defer { broker.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port), files: calls)
        try #require(broker.came.wait(quiet: 300) { $0.numbers.count >= 100 ? true : nil } == true)
        try files.append(50)
        try #require(broker.came.wait(quiet: 300) { $0.numbers.count >= 150 ? true : nil } == true)
        try publisher.stop()
        #expect(early.now == [])
        #expect(broker.came.now.numbers == Array(1...150))
        // Each name, and each file where lines came to it; not each line.
        #expect((4...10).contains(calls.counts[.synchronize, default: 0] - checkpoints(calls)), "\(calls.counts)")
    }

    /// How often the checkpoint was synchronised: it is a new file each time.
    private func checkpoints(_ calls: FailingFiles) -> Int { calls.counts[.rename, default: 0] }

    @Test func `what can't be put on the disk is not sent before it can, and that is said`() throws {
        let (folder, calls) = (try TestFolder(), FailingFiles())
        try EventFiles(folder.file("events")).append(20)
        calls.failures[.synchronize] = .ioError
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port), files: calls)
        try publisher.remark(with: "events can't be read: ")
        #expect(broker.came.now.numbers == [])
        calls.failures = [:]
        try #require(broker.came.wait(quiet: 300) { $0.numbers.count >= 20 ? true : nil } == true)
        try publisher.remark(with: "over: ")
        try publisher.stop()
        #expect(broker.came.now.numbers == Array(1...20))
    }

    @Test func `a gateway says what is durable: nothing is synchronised after it`() throws {
        let (folder, calls) = (try TestFolder(), FailingFiles())
        try EventFiles(folder.file("events")).append(20)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        var options = PublisherOptions(folder, port: broker.port)
        options.isTold = true
        let publisher = try RunningPublisher(options, files: calls)
        publisher.mailbox.tell(durable: 20)
        try #require(broker.came.wait(quiet: 300) { $0.numbers.count >= 20 ? true : nil } == true)
        try publisher.stop()
        #expect(calls.synchronized.keys.allSatisfy { !$0.hasPrefix("events-") }, "\(calls.synchronized)")
    }

    @Test
    func `on a read-only state directory shipping stops after its bound, which is said then, and goes on with it`()
        throws
    {
        let (folder, calls) = (try TestFolder(), FailingFiles())
        try EventFiles(folder.file("events")).append(1500)
        calls.failures[.remove] = .readOnlyFileSystem
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        var options = PublisherOptions(folder, port: broker.port)
        options.isTold = true
        let publisher = try RunningPublisher(options, files: calls)
        publisher.mailbox.tell(durable: 1500)
        try publisher.remark(with: "mqtt.json can't be written: Read-only file system; at most 1000 lines are sent")
        let said = try publisher.remark(with: "publishing has stopped")
        #expect(said.contains("1000 lines were sent") && said.contains("Read-only file system"), "\(said)")
        #expect(broker.came.now.numbers == Array(1...1000))
        #expect(publisher.status.localTrouble == said)
        calls.failures = [:]
        try #require(broker.came.wait(quiet: 300) { $0.numbers.count >= 1500 ? true : nil } == true)
        try publisher.remark(with: "over: ")
        try publisher.stop()
        #expect(broker.came.now.numbers == Array(1...1500))
        #expect(try ShippingCheckpoint.read(options.checkpoint)?.position.sequence == 1500)
    }
}
