import BrokerSupport
import EventLog
import EventLoops
import Foundation
import Glibc
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

/// The publisher as a process: its restarts, its limits, and the processes that depend on it.
///
/// `BEACON_CHILD_KILLS` sets how often it is killed, `BEACON_SEED` when.
@Suite(.serialized) struct ProcessTests {
    @Test func `killing the publisher loses and reorders no line; an episode's start and end are logged once`() throws {
        let kills = environment("BEACON_CHILD_KILLS", default: 25)
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        let folder = try TestFolder()
        let broker = try Broker(folder)
        let subscriber = try Subscriber(broker, topic: "beacons/lobby/event/#")
        let fixture = try PublishingFixture(folder, port: broker.port)
        for _ in 0..<kills {
            try fixture.write(1 + Int(random.next() % 40))
            // It is killed at any time: soon after its start, in the middle of the lines, or when all are published.
            let wanted = fixture.files.sequence - Int(random.next() % 40)
            switch random.next() % 3 {
            case 0: try fixture.turns(Int(random.next() % 20))
            default: try fixture.until("\(wanted) are published") { fixture.process.status.published >= wanted }
            }
            kill(try fixture.runningProcess(), SIGKILL)
            let before = fixture.process.starts
            try fixture.until("the process runs again") {
                fixture.process.starts > before && fixture.process.processID != nil
            }
        }
        try fixture.write(10)
        let count = fixture.files.sequence
        try fixture.until("all are published") { fixture.process.status.published == count }
        try fixture.stop()
        #expect(subscriber.wait(for: count))
        subscriber.end()
        #expect(Subscriber.distinct(subscriber.all) == Array(1...count), "seed \(seed)")
        #expect(fixture.process.starts >= kills + 1)
        // An episode has one remark at its start, and one at its end, after a process has run for a minute.
        let begun = fixture.remarks.count { $0.contains("the publisher process") && $0.contains("it is restarted") }
        let over = fixture.remarks.count { $0.contains("the publisher process runs again") }
        #expect(begun > 0 && (over...over + 1).contains(begun), "\(fixture.remarks)")
        #expect(try PublishingCheckpoint.read(FilePath(folder.file("mqtt.json")))?.position.sequence == count)
        print("kills, seed \(seed): \(kills), \(count) lines, \(subscriber.all.count - count) arrived twice")
    }

    @Test func `the publisher has only the descriptors, capabilities and memory that it needs`() throws {
        // A file that the parent has open, and that is not marked as close-on-exec.
        let leak = Glibc.open("/etc/passwd", O_RDONLY)
        defer { close(leak) }
        let folder = try TestFolder()
        let broker = try Broker(folder)
        let fixture = try PublishingFixture(folder, port: broker.port)
        try fixture.write(5)
        try fixture.until("lines are published") { fixture.process.status.published == 5 }
        let id = try fixture.runningProcess()
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").map {
            try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/fd/\($0)")
        }
        // Expected are its end of the pair, the connection to the broker, standard error twice, its loop, its lock, and
        // an event file.
        let errors = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/2")
        let known = ["socket:", "pipe:", "anon_inode:", "/dev/", folder.path, errors]
        #expect(descriptors.allSatisfy { path in known.contains { path.hasPrefix($0) } }, "\(descriptors)")
        #expect(descriptors.count { $0.hasPrefix("socket:") } <= 4, "\(descriptors)")
        #expect(!descriptors.contains("/etc/passwd"))
        let status = try fixture.processFile("status").split(separator: "\n").map(String.init)
        func field(_ name: String) -> String? {
            status.first { $0.hasPrefix(name + ":") }?.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
        for name in ["CapEff", "CapPrm", "CapInh", "CapAmb"] { #expect(field(name) == "0000000000000000", "\(name)") }
        #expect(field("NoNewPrivs") == "1")
        #expect(field("Threads") == "1")
        // Bit n−1 is signal n (proc(5)).
        let ignored = UInt64(field("SigIgn") ?? "", radix: 16) ?? 0
        for signal in [SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGUSR1] { #expect(ignored & 1 << UInt64(signal - 1) != 0) }
        let limits = try fixture.processFile("limits")
        #expect(limits.contains(#/Max core file size +0 +0 /#), "\(limits)")
        #expect(limits.contains(#/Max data size +[0-9]+ +[0-9]+ /#), "\(limits)")
        #expect(Int(try fixture.processFile("oom_score_adj").prefix { $0 != "\n" }) ?? 0 >= 500)
        try fixture.stop()
    }

    @Test func `signals that a service manager or terminal sends to all processes do not end the publisher`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        let fixture = try PublishingFixture(folder, port: broker.port)
        let id = try fixture.runningProcess()
        // The signals arrive before the publisher can ignore them, and after that.
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { kill(id, signal) }
        try fixture.write(3)
        try fixture.until("lines are published") { fixture.process.status.published == 3 }
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { kill(id, signal) }
        try fixture.write(3)
        try fixture.until("lines are published") { fixture.process.status.published == 6 }
        #expect(fixture.process.processID == id)
        // A normal stop publishes the last lines.
        try fixture.write(3)
        try fixture.stop()
        #expect(fixture.process.status.published == 9)
        #expect(fixture.process.starts == 1)
    }

    @Test func `a publisher that has not answered for a minute of the loop's time is killed and restarted`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        let fixture = try PublishingFixture(folder, port: broker.port)
        try fixture.write(5)
        try fixture.until("lines are published") { fixture.process.status.published == 5 }
        let first = try fixture.runningProcess()
        kill(first, SIGSTOP)
        // The next ping is sent within a minute, and its answer may take another minute.
        fixture.pass(.seconds(61))
        try fixture.turns(20)
        fixture.pass(.seconds(58))
        try fixture.turns(20)
        #expect(fixture.process.processID == first)
        fixture.pass(.seconds(3))
        try fixture.until("the process was restarted") { fixture.process.processID.map { $0 != first } ?? false }
        #expect(fixture.remarks.contains { $0.contains("did not answer for 60 s") }, "\(fixture.remarks)")
        try fixture.write(5)
        try fixture.until("lines are published again") { fixture.process.status.published == 10 }
        try fixture.stop()
    }

    @Test func `a publisher that answers is not killed, however long the machine was suspended`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        let fixture = try PublishingFixture(folder, port: broker.port)
        try fixture.until("the publisher is connected") { fixture.process.status.state == .connected }
        let first = try fixture.runningProcess()
        for _ in 0..<5 {
            fixture.pass(.seconds(7200))
            try fixture.turns(20)
        }
        #expect(fixture.process.processID == first)
        try fixture.stop()
    }

    @Test func `a second publisher of one checkpoint waits, reports it, and continues where the first ends`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        let subscriber = try Subscriber(broker, topic: "beacons/lobby/event/#")
        let first = try PublishingFixture(folder, port: broker.port)
        try first.write(20)
        try first.until("lines are published") { first.process.status.published == 20 }
        let second = try PublishingFixture(folder, files: first.files, port: broker.port)
        try second.until("the publisher waits") {
            second.process.status.localFailure?.contains("publishing starts when that process has ended") ?? false
        }
        #expect(second.process.status.localFailure?.contains("process \(try first.runningProcess())") ?? false)
        #expect(second.process.status.version == nil)
        try first.stop()
        try second.write(20)
        try second.until("lines are published") { second.process.status.published == 40 }
        #expect(second.remarks.contains { $0.hasSuffix("is available") }, "\(second.remarks)")
        try second.stop()
        #expect(subscriber.wait(for: 40))
        #expect(subscriber.all == Array(1...40))
    }

    @Test func `a lock file that is a symbolic link is not followed`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        try folder.write("precious", "what somebody needs\n")
        symlink(folder.file("precious"), folder.file("mqtt.json.lock"))
        let fixture = try PublishingFixture(folder, port: broker.port)
        try fixture.until("the problem is reported") { fixture.remarks.contains { $0.contains("can't be locked") } }
        #expect(try String(contentsOfFile: folder.file("precious"), encoding: .utf8) == "what somebody needs\n")
        // When the lock file is fixed, publishing continues automatically.
        unlink(folder.file("mqtt.json.lock"))
        try fixture.write(5)
        try fixture.until("lines are published") { fixture.process.status.published == 5 }
        try fixture.stop()
    }

    @Test func `a damaged checkpoint is logged once, and publishing continues when the file is deleted`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        try folder.write("mqtt.json", "{}")
        let fixture = try PublishingFixture(folder, port: broker.port)
        try fixture.until("the problem is reported") {
            fixture.remarks.contains { $0.contains("does not contain the last published line") }
        }
        try fixture.until("the attempt was repeated") { fixture.process.starts > 2 }
        #expect(fixture.remarks.count == 1, "\(fixture.remarks)")
        unlink(folder.file("mqtt.json"))
        try fixture.write(5)
        try fixture.until("lines are published") { fixture.process.status.published == 5 }
        try fixture.stop()
    }

    /// Returns the arguments of a `publish` that follows the event files of a folder.
    private static func publish(_ folder: TestFolder, to broker: Broker) throws -> [String] {
        try folder.write(
            "g.yaml",
            """
            gateway: {name: lobby}
            mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}
            conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]

            """)
        return ["publish", folder.file("events"), "--config", folder.file("g.yaml"), "--follow"]
    }

    @Test func `the publisher has only the environment variables that it needs`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        try EventFiles(folder.file("events")).append(5)
        let subscriber = try Subscriber(broker, topic: "beacons/lobby/event/#")
        let needed = ["LANG": "C.UTF-8", "TZ": "Europe/Vienna", "SSL_CERT_DIR": "/etc/ssl/certs"]
        let others = [
            "NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1", "PASSWORD": "secret",
        ]
        let owner = try SpawnedProcess(
            FaultTests.gateway, Self.publish(folder, to: broker), environment: needed.merging(others) { $1 })
        #expect(subscriber.wait(for: 5))
        let process = try #require(owner.family.dropFirst().first)
        let variables = try String(contentsOfFile: "/proc/\(process)/environ", encoding: .utf8)
        #expect(
            Set(variables.split(separator: "\0").map(String.init))
                == Set(needed.map { "\($0.key)=\($0.value)" } + ["SWIFT_BACKTRACE=enable=no"]))
        #expect(owner.end() == 0)
    }

    /// Returns the start time of a process in the machine's ticks; `nil` if there is none or it has ended (proc(5)).
    private static func start(of process: pid_t) -> String? {
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        // The process's name ends with the last parenthesis. The state follows it, and the start time is 19 fields
        // after the state.
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 19 && fields[0] != "Z" ? String(fields[19]) : nil
    }

    @Test func `a killed owner process leaves no publisher running`() throws {
        let folder = try TestFolder()
        let broker = try Broker(folder)
        let files = try EventFiles(folder.file("events"))
        try files.append(5)
        let subscriber = try Subscriber(broker, topic: "beacons/lobby/event/#")
        let arguments = try Self.publish(folder, to: broker)
        let owner = try Child(FaultTests.gateway, arguments)
        #expect(subscriber.wait(for: 5))
        let child = try #require(owner.process.family.dropFirst().first)
        #expect(try String(contentsOfFile: "/proc/\(child)/comm", encoding: .utf8).hasPrefix("beacon-gateway-"))
        let start = try #require(Self.start(of: child))
        owner.end(SIGKILL)
        // The lock is free when the publisher has ended. The next process with the same checkpoint waits for that, but
        // not for long.
        try files.append(5)
        let next = try Child(FaultTests.gateway, Array(arguments.dropLast()))
        #expect(next.wait() == 0, "\(next.said)")
        #expect(subscriber.wait(for: 10))
        // Its process ID can belong to another process by now.
        #expect(Self.start(of: child) != start)
    }
}
