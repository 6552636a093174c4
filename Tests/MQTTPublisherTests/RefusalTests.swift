import BrokerSupport
import Foundation
import MQTTPublisher
import PublisherProtocol
import SystemPackage
import Testing

@Suite struct RefusalTests {
    /// Returns the path of a password file that mosquitto_passwd created, because only it knows the format.
    private func passwords(_ folder: TestFolder) throws -> String {
        let path = try folder.write("passwords", "lobby:right\n")
        let child = try Child("/usr/bin/mosquitto_passwd", ["-U", path])
        try #require(child.wait() == 0)
        return path
    }

    @Test func `a wrong password is reported with a remedy and tried again, and the log never contains it`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(5)
        let broker = try Broker(folder, more: "allow_anonymous false\npassword_file \(try passwords(folder))")
        var options = PublisherOptions(folder, port: broker.port)
        options.username = "lobby"
        options.passwordFile = try folder.write("password", "hunter2\n")
        let publisher = try RunningPublisher(options)
        let said = try publisher.remark(with: "refuses the connection")
        #expect(said.contains("Not authorized") && said.contains("username"), "\(said)")
        #expect(!said.contains("hunter2"))
        // The password is read at each attempt, so the publisher connects automatically after the file is fixed.
        try folder.write("password", "right\n")
        try publisher.remark(with: "accepts lines from 1 on")
        try publisher.stop()
        #expect(publisher.status.published == 5)
    }

    @Test func `a missing password file is logged`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(5)
        let broker = try Broker(folder)
        var options = PublisherOptions(folder, port: broker.port)
        options.username = "lobby"
        options.passwordFile = folder.file("absent")
        let publisher = try RunningPublisher(options)
        try publisher.remark(with: "absent (mqtt.password_file) can't be used: No such file or directory")
        try publisher.stop()
    }

    @Test func `without permission for a topic, its line and all later ones wait, only it is retried, none is lost`()
        throws
    {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        try files.append(10)
        try files.append(5, topic: "beacons/lobby/event/secret")
        try files.append(300)
        let rights = try folder.write("rights", "topic readwrite beacons/lobby/event/staff\n")
        let broker = try Broker(folder, more: "allow_anonymous true\nacl_file \(rights)")
        // It subscribes from the start, so that it receives the lines that arrive while the permissions are changed.
        let subscriber = try Subscriber(broker)
        let proxy = CountingProxy(to: broker.port)
        defer { proxy.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: proxy.port))
        let said = try publisher.remark(with: "refuses messages to beacons/lobby/event/secret")
        #expect(said.contains("Not authorized (0x87)") && said.contains("nothing is lost"), "\(said)")
        #expect(publisher.status.published == 10)
        #expect(publisher.status.state == .refused)
        #expect(proxy.connections == 1)
        // The first line of its topic was sent alone, so no later line is at the broker.
        #expect(Set(proxy.sent) == Set(1...11))
        try folder.write("rights", "topic readwrite beacons/#\n")
        // The broker is not restarted. After a restart, mosquitto would deliver nothing to an earlier session that has
        // permissions from a file and is not connected.
        broker.signal(SIGHUP)
        try publisher.remark(with: "the broker accepts line 11")
        #expect(subscriber.wait(for: 315))
        try publisher.stop()
        #expect(publisher.status.published == 315)
        #expect(subscriber.all == Array(1...315))
        // While the line was refused, it was sent alone.
        #expect(proxy.sent.filter { $0 != 11 } == Array(1...10) + Array(12...315))
        #expect(proxy.sent.count { $0 == 11 } > 1)
    }

    @Test func `permission removed while connected: lines that overtook a refused one arrive again after it`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        try files.append(10, topic: "beacons/lobby/event/secret")
        try files.append(10)
        let all = "topic readwrite beacons/#\n"
        let rights = try folder.write("rights", all)
        let broker = try Broker(folder, more: "allow_anonymous true\nacl_file \(rights)")
        let subscriber = try Subscriber(broker)
        let proxy = CountingProxy(to: broker.port)
        defer { proxy.close() }
        var options = PublisherOptions(folder, port: proxy.port)
        // A delay in which the permissions can be fixed before the next attempt.
        options.backOff.firstForSomebody = .milliseconds(500)
        options.backOff.lastForSomebody = .milliseconds(500)
        let publisher = try RunningPublisher(options)
        #expect(subscriber.wait(for: 20))
        try publisher.until("the expected state is reached") { publisher.status.published >= 20 }
        try folder.write("rights", "topic readwrite beacons/lobby/event/staff\n")
        broker.signal(SIGHUP)
        try broker.line(with: "Reloading config")
        // The topics alternate from line to line. The lines are written at once, so that one turn reads them and one
        // segment contains them.
        try files.append(100) { $0 % 2 == 1 ? "beacons/lobby/event/secret" : "beacons/lobby/event/staff" }
        try publisher.remark(with: "refuses messages to beacons/lobby/event/secret")
        #expect(publisher.status.published == 20)
        try folder.write("rights", all)
        broker.signal(SIGHUP)
        try publisher.remark(with: "the broker accepts line 21")
        #expect(subscriber.wait(for: 120))
        try publisher.until("the expected state is reached") { publisher.status.published >= 120 }
        try publisher.stop()
        let arrived = subscriber.all
        let first = try #require(arrived.firstIndex(of: 21))
        #expect(Array(arrived[..<20]) == Array(1...20))
        // mosquitto accepts 20 messages at a time, so at most 19 were in flight after the refused line. Half of these
        // were refused too.
        let overtaking = arrived[20..<first]
        #expect(overtaking.count <= 19 && overtaking.allSatisfy { (22...40).contains($0) }, "\(overtaking)")
        #expect(Array(arrived[first...]) == Array(21...120))
    }

    @Test(arguments: [PublisherOptions.VersionChoice.five, .three])
    func `the log reports another gateway with the same client identifier`(_ version: PublisherOptions.VersionChoice)
        throws
    {
        let (folder, other) = (try TestFolder(), try TestFolder())
        let broker = try Broker(folder)
        var options = PublisherOptions(folder, port: broker.port)
        options.version = version
        try EventFiles(folder.file("events")).append(5)
        try EventFiles(other.file("events")).append(5)
        let first = try RunningPublisher(options)
        try first.remark(with: "accepts lines from 1 on")
        options.directory = FilePath(other.file("events"))
        options.checkpoint = FilePath(other.file("mqtt.json"))
        let second = try RunningPublisher(options)
        // mosquitto 2.0.11 sends no reason, not even in MQTT 5.
        let said = try first.remark(with: "in a row soon after")
        #expect(
            said.contains("gateway") && said.contains("each gateway its own gateway.name or mqtt.client_id"), "\(said)")
        try first.stop()
        try second.stop()
    }

    @Test func `a session that another client took over is logged with its identifier, and retried slowly`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(5)
        let broker = ScriptedBroker { link, _ in
            while let packet = link.packet(), link.answer(packet) {
                guard packet.kind == 3 else { continue }
                link.send([0xE0, 2, 0x8E, 0])
                return
            }
        }
        defer { broker.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port))
        let said = try publisher.remark(with: "taken over the session (0x8E)")
        #expect(
            said.contains("as gateway") && said.contains("each gateway its own gateway.name or mqtt.client_id"),
            "\(said)")
        #expect(BrokerError.takenOver(clientID: "gateway").needsSomebody)
        try publisher.stop()
    }

    @Test func `a secret's file that other users can read or change is reported`() throws {
        let folder = try TestFolder()
        let path = try folder.write("password", "x\n")
        func exposure(_ mode: UInt16) throws -> String? {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return SecretFile.exposure(path)
        }
        #expect(try exposure(0o600) == nil)
        #expect(try exposure(0o400) == nil)
        #expect(try exposure(0o644) == "all users can read \(path): sudo chmod o= \(path)")
        #expect(try exposure(0o602)?.contains("can change") == true)
        #expect(try exposure(0o660)?.contains("can change it") == true)
        // If a file belongs to root, its group may read it.
        #expect((try exposure(0o640) == nil) == (getuid() == 0))
    }
}
