import BrokerSupport
import Foundation
import MQTTPublisher
import PublisherProtocol
import SystemPackage
import TestSupport
import Testing

@Suite struct TLSTests {
    private struct Fixture {
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

        /// Checks that no connection is accepted and no line published, and that the reason is logged.
        func refused(with text: String, _ remedy: String? = nil, location: SourceLocation = #_sourceLocation) throws {
            let publisher = try RunningPublisher(options)
            let said = try publisher.remark(with: text)
            #expect(remedy.map { said.contains($0) } ?? true, "\(said)", sourceLocation: location)
            try publisher.stop()
            #expect(publisher.status.acknowledged == 0, sourceLocation: location)
            #expect(publisher.status.connections == 0, sourceLocation: location)
        }

        func publishes() throws {
            var options = options
            options.follows = false
            let publisher = try RunningPublisher(options)
            try publisher.end()
            #expect(publisher.status.acknowledged == 20)
        }
    }

    @Test func `a certificate of a known authority for the broker's address is accepted`() throws {
        try Fixture().publishes()
    }

    @Test func `a certificate of a known authority for the configured server name is accepted`() throws {
        var fixture = try Fixture(names: "DNS:broker.test")
        fixture.options.tls?.serverName = "broker.test"
        try fixture.publishes()
    }

    @Test func `a certificate of an unknown authority is refused with this reason`() throws {
        var fixture = try Fixture()
        try fixture.certificates.authority("other")
        fixture.options.tls?.caFile = fixture.certificates.path("other.pem")
        try fixture.refused(with: "signed by an unknown authority", "mqtt.tls.ca_file")
        // The authorities of the system do not include the test's authority either.
        fixture.options.tls?.caFile = nil
        try fixture.refused(with: "signed by an unknown authority")
    }

    @Test(arguments: [("DNS:other.test", "other.test"), ("IP:127.0.0.2,DNS:127.0.0.1", "127.0.0.2")])
    func `a certificate for another name is refused with both names`(_ names: String, _ reported: String) throws {
        let fixture = try Fixture(names: names)
        try fixture.refused(with: "is for \(reported)", "not for 127.0.0.1")
    }

    @Test func `a certificate that does not have the configured server name is refused`() throws {
        var fixture = try Fixture()
        fixture.options.tls?.serverName = "broker.example"
        try fixture.refused(with: "is for broker.test, 127.0.0.1, not for broker.example", "mqtt.tls.server_name")
    }

    @Test func `an expired certificate is refused with its date`() throws {
        let fixture = try Fixture(days: -1)
        try fixture.refused(with: "has expired", "until 20")
    }

    @Test func `a missing client certificate is logged from the broker's alert, with the settings to add`() throws {
        let fixture = try Fixture(listener: "require_certificate true")
        try fixture.refused(with: "it received no client certificate", "set mqtt.tls.certificate_file and key_file")
    }

    @Test func `a broker that requires a client certificate accepts a valid one`() throws {
        var fixture = try Fixture(listener: "require_certificate true")
        try fixture.certificates.certificate("client", for: "DNS:gateway")
        fixture.options.tls?.certificateFile = fixture.certificates.path("client.pem")
        fixture.options.tls?.keyFile = fixture.certificates.path("client.key")
        try fixture.publishes()
    }

    @Test func `a client certificate of another authority is logged from the broker's alert, with a remedy`() throws {
        var fixture = try Fixture(listener: "require_certificate true")
        try fixture.certificates.authority("other")
        try fixture.certificates.certificate("client", for: "DNS:gateway", by: "other")
        fixture.options.tls?.certificateFile = fixture.certificates.path("client.pem")
        fixture.options.tls?.keyFile = fixture.certificates.path("client.key")
        try fixture.refused(
            with: "does not know the authority of this gateway's certificate",
            "add the authority of mqtt.tls.certificate_file to the broker")
    }

    @Test func `an expired client certificate is distinguished from one of an unknown authority`() throws {
        var fixture = try Fixture(listener: "require_certificate true")
        try fixture.certificates.certificate("client", for: "DNS:gateway", days: -1)
        fixture.options.tls?.certificateFile = fixture.certificates.path("client.pem")
        fixture.options.tls?.keyFile = fixture.certificates.path("client.key")
        try fixture.refused(with: "this gateway's certificate has expired", "renew the certificate")
    }

    @Test func `files that cannot be used are logged with their setting and the reason`() throws {
        var fixture = try Fixture()
        fixture.options.tls?.caFile = fixture.folder.file("absent.pem")
        try fixture.refused(with: "absent.pem (mqtt.tls.ca_file) can't be used: No such file or directory")
        fixture.options.tls?.caFile = try fixture.folder.write("empty.pem", "")
        try fixture.refused(with: "empty.pem (mqtt.tls.ca_file) can't be used")
        fixture.options.tls?.caFile = fixture.certificates.path("ca.pem")
        fixture.options.tls?.certificateFile = fixture.folder.file("absent.pem")
        fixture.options.tls?.keyFile = fixture.folder.file("absent.key")
        try fixture.refused(with: "absent.pem (mqtt.tls.certificate_file) can't be used: No such file or directory")
        fixture.options.tls?.certificateFile = fixture.certificates.path("server.pem")
        try fixture.refused(with: "absent.key (mqtt.tls.key_file) can't be used: No such file or directory")
        fixture.options.tls?.keyFile = fixture.folder.file("empty.pem")
        try fixture.refused(with: "empty.pem (mqtt.tls.key_file) can't be used: it has no key (PEM)")
        fixture.options.tls?.certificateFile = fixture.folder.file("empty.pem")
        try fixture.refused(
            with: "empty.pem (mqtt.tls.certificate_file) can't be used: it has no certificate (PEM)")
        fixture.options.tls?.certificateFile = fixture.certificates.path("server.pem")
        fixture.options.tls?.keyFile = fixture.certificates.path("ca.key")
        try fixture.refused(with: "ca.key (mqtt.tls.key_file) can't be used: it is not the key of ")
    }

    @Test(arguments: ["-aes256", "-traditional"])
    func `an encrypted key is logged as encrypted, with the command to decrypt it`(form: String) throws {
        var fixture = try Fixture()
        let key = fixture.folder.file("encrypted.key")
        let arguments = ["-in", fixture.certificates.path("server.key"), "-out", key, "-passout", "pass:secret"]
        let child = try Child(
            BrokerTools.openssl, form == "-traditional" ? ["ec", "-aes256"] + arguments : ["pkey", form] + arguments)
        try #require(child.wait() == 0, "\(child.said)")
        fixture.options.tls?.certificateFile = fixture.certificates.path("server.pem")
        fixture.options.tls?.keyFile = key
        try fixture.refused(
            with: "encrypted.key (mqtt.tls.key_file) can't be used: the key is encrypted", "openssl pkey -in \(key)")
    }

    @Test func `a broker that has no TLS at this port is logged as such`() throws {
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

    @Test func `a server that answers TLS with another protocol is logged as not using TLS`() throws {
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

    @Test func `if a gateway without TLS connects to a port with TLS, the log suggests mqtt.tls`() throws {
        var fixture = try Fixture()
        fixture.options.tls = nil
        let publisher = try RunningPublisher(fixture.options)
        let said = try publisher.remark(with: "127.0.0.1:\(fixture.broker.port)")
        #expect(said.contains("mqtt.tls: true"), "\(said)")
        try publisher.stop()
        #expect(publisher.status.connections == 0)
    }

    @Test func `a broker that resets a new connection is not logged as unreachable, and TLS is suggested`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(1)
        let broker = ScriptedBroker { link, _ in link.reset() }
        defer { broker.close() }
        let publisher = try RunningPublisher(PublisherOptions(folder, port: broker.port))
        let said = try publisher.remark(with: "127.0.0.1:\(broker.port)")
        #expect(said.contains("closed the connection without an answer") && said.contains("mqtt.tls: true"), "\(said)")
        try publisher.stop()
    }

    /// Starts openssl's own server in place of a broker.
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
    func `a broker with TLS before 1.2 is logged as not secure, not as a certificate problem`(version: String) throws {
        let (server, options, folder) = try server(version, "-cipher", "ALL:@SECLEVEL=0")
        let publisher = try RunningPublisher(options)
        let said = try publisher.remark(with: "the broker's TLS is not secure")
        #expect(said.contains("TLS 1.2 or 1.3") && !said.contains("certificate"), "\(said)")
        try publisher.stop()
        server.end(SIGKILL)
        withExtendedLifetime(folder) {}
    }
}
