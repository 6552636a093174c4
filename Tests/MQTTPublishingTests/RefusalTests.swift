import Foundation
import MQTTPublishing
import SystemPackage
import Testing

@Suite(.enabled(if: BrokerTools.areThere, BrokerTools.reason)) struct RefusalTests {
    /// Runs mosquitto_passwd's work: its own file format, made by it.
    private func passwords(_ folder: TestFolder) throws -> String {
        let path = try folder.write("passwords", "lobby:right\n")
        let child = try Child("/usr/bin/mosquitto_passwd", ["-U", path])
        try #require(child.wait() == 0)
        return path
    }

    @Test func `a bad password is a state with what to do, tried again after a while, and never in the log`() throws {
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
        // The password is read at each attempt: mended, it gets through by itself.
        try folder.write("password", "right\n")
        try publisher.remark(with: "takes lines from 1 on")
        try publisher.stop()
        #expect(publisher.status.shipped == 5)
    }

    @Test func `a password file that is not there is said`() throws {
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

    @Test func `no right to a topic: the line and all after it wait, alone it is tried again, and nothing is lost`()
        throws
    {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"))
        try files.append(10)
        try files.append(5, topic: "beacons/lobby/event/secret")
        try files.append(300)
        let rights = try folder.write("rights", "topic readwrite beacons/lobby/event/staff\n")
        let broker = try Broker(folder, more: "allow_anonymous true\nacl_file \(rights)")
        let proxy = CountingProxy(to: broker.port)
        defer { proxy.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: proxy.port))
        let said = try publisher.remark(with: "refuses messages to beacons/lobby/event/secret")
        #expect(said.contains("Not authorized (0x87)") && said.contains("nothing is lost"), "\(said)")
        #expect(publisher.status.shipped == 10)
        #expect(publisher.status.state == .refused)
        #expect(proxy.connections == 1)
        try folder.write("rights", "topic readwrite beacons/#\n")
        broker.stop()
        try broker.start()
        let subscriber = try Subscriber(broker)
        try publisher.remark(with: "the broker takes line 11")
        #expect(subscriber.wait(for: 300))
        try publisher.stop()
        #expect(publisher.status.shipped == 315)
        #expect(Subscriber.distinct(subscriber.all).sorted().suffix(300) == Array(16...315))
        let first = try #require(proxy.sent.firstIndex(of: 11))
        let tries = proxy.sent[(first + 1)...].count { $0 == 11 }
        #expect(tries >= 1)
        // While it was refused, it was tried alone.
        #expect(proxy.sent.count <= 315 + PublisherOptions(folder, port: 1).window + tries)
    }

    @Test func `a secret's file that others may read is said`() throws {
        let folder = try TestFolder()
        let path = try folder.write("password", "x\n")
        func exposure(_ mode: UInt16) throws -> String? {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return SecretFile.exposure(path)
        }
        #expect(try exposure(0o600) == nil)
        #expect(try exposure(0o400) == nil)
        #expect(try exposure(0o644) == "everybody may read \(path): sudo chmod o= \(path)")
        #expect(try exposure(0o602)?.contains("may change") == true)
        #expect(try exposure(0o660)?.contains("may change it") == true)
        // Root's may be read by a group.
        #expect((try exposure(0o640) == nil) == (getuid() == 0))
    }
}
