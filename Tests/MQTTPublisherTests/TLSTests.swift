import BrokerSupport
import Foundation
import MQTTPublisher
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

@Suite struct TLSTests {
    private struct World {
        let folder: TestFolder
        let certificates: Certificates
        let files: EventFiles
        let broker: Broker
        var options: PublisherOptions

        init(
            names: String = "DNS:broker.test,IP:127.0.0.1", days: Int = 2, listener: String = "",
            more: String = "allow_anonymous true"
        ) throws {
            folder = try TestFolder()
            certificates = try Certificates(folder)
            try certificates.certificate("server", for: names, days: days)
            files = try EventFiles(folder.file("events"))
            try files.append(20)
            broker = try Broker(folder, listener: certificates.listener("server", more: listener), more: more)
            options = PublisherOptions(folder, port: broker.port)
            var tls = PublisherOptions.TLS()
            tls.caFile = certificates.path("ca.pem")
            options.tls = tls
        }

        /// Nothing gets through, and why is said.
        func refused(with text: String, _ remedy: String? = nil, location: SourceLocation = #_sourceLocation) throws {
            let publisher = try RunningPublisher(options)
            let said = try publisher.remark(with: text)
            #expect(remedy.map { said.contains($0) } ?? true, "\(said)", sourceLocation: location)
            try publisher.stop()
            #expect(publisher.status.acknowledged == 0, sourceLocation: location)
            #expect(publisher.status.connections == 0, sourceLocation: location)
        }

        func ships() throws {
            var options = options
            options.follows = false
            let publisher = try RunningPublisher(options)
            try publisher.end()
            #expect(publisher.status.acknowledged == 20)
        }
    }

    @Test func `a broker that the authority vouches for, by its address`() throws {
        try World().ships()
    }

    @Test func `a broker that the authority vouches for, by the name that is set`() throws {
        var world = try World(names: "DNS:broker.test")
        world.options.tls?.serverName = "broker.test"
        try world.ships()
    }

    @Test func `an unknown authority is refused by that name`() throws {
        var world = try World()
        try world.certificates.authority("other")
        world.options.tls?.caFile = world.certificates.path("other.pem")
        try world.refused(with: "signed by an unknown authority", "mqtt.tls.ca_file")
        // Nor do the system's authorities know ours.
        world.options.tls?.caFile = nil
        try world.refused(with: "signed by an unknown authority")
    }

    @Test(arguments: [("DNS:other.test", "other.test"), ("IP:127.0.0.2,DNS:127.0.0.1", "127.0.0.2")])
    func `a wrong name is refused with both names`(_ names: String, _ told: String) throws {
        let world = try World(names: names)
        try world.refused(with: "is for \(told)", "not for 127.0.0.1")
    }

    @Test func `a name that differs from the one that is set is refused`() throws {
        var world = try World()
        world.options.tls?.serverName = "broker.example"
        try world.refused(with: "is for broker.test, 127.0.0.1, not for broker.example", "mqtt.tls.server_name")
    }

    @Test func `an expired certificate is refused with its date`() throws {
        let world = try World(days: -1)
        try world.refused(with: "has expired", "until 20")
    }

    @Test func `a missing client certificate is the broker's alert, with a hint`() throws {
        let world = try World(listener: "require_certificate true")
        try world.refused(with: "it received no client certificate", "set mqtt.tls.certificate_file and key_file")
    }

    @Test func `a client certificate lets in`() throws {
        var world = try World(listener: "require_certificate true")
        try world.certificates.certificate("client", for: "DNS:gateway")
        world.options.tls?.certificateFile = world.certificates.path("client.pem")
        world.options.tls?.keyFile = world.certificates.path("client.key")
        try world.ships()
    }

    @Test func `a client certificate of another authority is the broker's alert, with what it means`() throws {
        var world = try World(listener: "require_certificate true")
        try world.certificates.authority("other")
        try world.certificates.certificate("client", for: "DNS:gateway", by: "other")
        world.options.tls?.certificateFile = world.certificates.path("client.pem")
        world.options.tls?.keyFile = world.certificates.path("client.key")
        try world.refused(
            with: "does not know the authority of this gateway's certificate",
            "add the authority of mqtt.tls.certificate_file to the broker")
    }

    @Test func `a client certificate that has expired is told from one of an unknown authority`() throws {
        var world = try World(listener: "require_certificate true")
        try world.certificates.certificate("client", for: "DNS:gateway", days: -1)
        world.options.tls?.certificateFile = world.certificates.path("client.pem")
        world.options.tls?.keyFile = world.certificates.path("client.key")
        try world.refused(with: "this gateway's certificate has expired", "renew the certificate")
    }

    @Test func `files that can't be used are named with their settings, and with why`() throws {
        var world = try World()
        world.options.tls?.caFile = world.folder.file("absent.pem")
        try world.refused(with: "absent.pem (mqtt.tls.ca_file) can't be used: No such file or directory")
        world.options.tls?.caFile = try world.folder.write("empty.pem", "")
        try world.refused(with: "empty.pem (mqtt.tls.ca_file) can't be used")
        world.options.tls?.caFile = world.certificates.path("ca.pem")
        world.options.tls?.certificateFile = world.folder.file("absent.pem")
        world.options.tls?.keyFile = world.folder.file("absent.key")
        try world.refused(with: "absent.pem (mqtt.tls.certificate_file) can't be used: No such file or directory")
        world.options.tls?.certificateFile = world.certificates.path("server.pem")
        try world.refused(with: "absent.key (mqtt.tls.key_file) can't be used: No such file or directory")
        world.options.tls?.keyFile = world.folder.file("empty.pem")
        try world.refused(with: "empty.pem (mqtt.tls.key_file) can't be used: it has no key (PEM)")
        world.options.tls?.certificateFile = world.folder.file("empty.pem")
        try world.refused(
            with: "empty.pem (mqtt.tls.certificate_file) can't be used: it has no certificate (PEM)")
        world.options.tls?.certificateFile = world.certificates.path("server.pem")
        world.options.tls?.keyFile = world.certificates.path("ca.key")
        try world.refused(with: "ca.key (mqtt.tls.key_file) can't be used: it is not the key of ")
    }

    @Test(arguments: ["-aes256", "-traditional"])
    func `a key with a password is said to have one, and what writes it without`(form: String) throws {
        var world = try World()
        let key = world.folder.file("encrypted.key")
        let arguments = ["-in", world.certificates.path("server.key"), "-out", key, "-passout", "pass:secret"]
        let child = try Child(
            BrokerTools.openssl, form == "-traditional" ? ["ec", "-aes256"] + arguments : ["pkey", form] + arguments)
        try #require(child.wait() == 0, "\(child.said)")
        world.options.tls?.certificateFile = world.certificates.path("server.pem")
        world.options.tls?.keyFile = key
        try world.refused(
            with: "encrypted.key (mqtt.tls.key_file) can't be used: the key is encrypted", "openssl pkey -in \(key)")
    }

    @Test func `a broker without TLS at that port is said to be none`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(1)
        let broker = try Broker(folder)
        var options = PublisherOptions(folder, port: broker.port)
        options.tls = PublisherOptions.TLS()
        let publisher = try RunningPublisher(options)
        let said = try publisher.remark(with: "probably because it has no TLS at this port")
        #expect(said.contains("mqtt.tls: false"), "\(said)")
        try publisher.stop()
    }

    @Test func `what answers TLS with something else is said to speak none`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(1)
        let broker = ScriptedBroker { link, _ in
            link.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
            link.drain(milliseconds: 200)
        }
        defer { broker.close() }
        var options = PublisherOptions(folder, port: broker.port)
        options.tls = PublisherOptions.TLS()
        let publisher = try RunningPublisher(options)
        let said = try publisher.remark(with: "mqtt.port does not use TLS")
        #expect(said.contains("mqtt.tls: false"), "\(said)")
        try publisher.stop()
    }

    @Test func `a broker with TLS at that port is said to speak it, to a gateway that does not`() throws {
        var world = try World()
        world.options.tls = nil
        let publisher = try RunningPublisher(world.options)
        let said = try publisher.remark(with: "127.0.0.1:\(world.broker.port)")
        #expect(said.contains("mqtt.tls: true"), "\(said)")
        try publisher.stop()
        #expect(publisher.status.connections == 0)
    }

    @Test func `who resets a connection at once is not said to be out of reach, and may speak TLS`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(1)
        let broker = ScriptedBroker { link, _ in link.reset() }
        defer { broker.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port))
        let said = try publisher.remark(with: "127.0.0.1:\(broker.port)")
        #expect(said.contains("closed the connection without an answer") && said.contains("mqtt.tls: true"), "\(said)")
        try publisher.stop()
    }

    /// openssl's own server, in place of a broker.
    private func server(_ arguments: String...) throws -> (Child, PublisherOptions, TestFolder) {
        let folder = try TestFolder()
        let certificates = try Certificates(folder)
        try certificates.certificate("server", for: "IP:127.0.0.1")
        try EventFiles(folder.file("events")).append(1)
        let held = try HeldPort()
        let child = try Child(
            BrokerTools.openssl,
            [
                "s_server", "-www", "-accept", "127.0.0.1:\(held.number)", "-cert", certificates.path("server.pem"),
                "-key", certificates.path("server.key"),
            ] + arguments)
        try child.line(with: "ACCEPT")
        var options = PublisherOptions(folder, port: held.number)
        options.tls = PublisherOptions.TLS()
        options.tls?.caFile = certificates.path("ca.pem")
        return (child, options, folder)
    }

    @Test(arguments: ["-tls1", "-tls1_1"])
    func `a broker whose TLS is too old is said to be that, and not to want a certificate`(version: String) throws {
        let (server, options, folder) = try server(version, "-cipher", "ALL:@SECLEVEL=0")
        let publisher = try RunningPublisher(options)
        let said = try publisher.remark(with: "the broker's TLS is not secure")
        #expect(said.contains("TLS 1.2 or 1.3") && !said.contains("certificate"), "\(said)")
        try publisher.stop()
        server.end(SIGKILL)
        withExtendedLifetime(folder) {}
    }
}
