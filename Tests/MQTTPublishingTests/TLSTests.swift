import BrokerSupport
import Foundation
import MQTTPublishing
import SystemPackage
import Testing

@Suite(.enabled(if: BrokerTools.areThere, BrokerTools.missing)) struct TLSTests {
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
        try world.refused(with: "vouched for by an unknown authority", "mqtt.tls.ca_file")
        // Nor do the system's authorities know ours.
        world.options.tls?.caFile = nil
        try world.refused(with: "vouched for by an unknown authority")
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
        try world.refused(with: "no client certificate was offered", "mqtt.tls.certificate_file")
    }

    @Test func `a client certificate lets in`() throws {
        var world = try World(listener: "require_certificate true")
        try world.certificates.certificate("client", for: "DNS:gateway")
        world.options.tls?.certificateFile = world.certificates.path("client.pem")
        world.options.tls?.keyFile = world.certificates.path("client.key")
        try world.ships()
    }

    @Test func `a client certificate of another authority is the broker's alert`() throws {
        var world = try World(listener: "require_certificate true")
        try world.certificates.authority("other")
        try world.certificates.certificate("client", for: "DNS:gateway", by: "other")
        world.options.tls?.certificateFile = world.certificates.path("client.pem")
        world.options.tls?.keyFile = world.certificates.path("client.key")
        try world.refused(with: "ended TLS with the alert", "authority of mqtt.tls.certificate_file")
    }

    @Test func `files that can't be used are named with their settings`() throws {
        var world = try World()
        world.options.tls?.caFile = world.folder.file("absent.pem")
        try world.refused(with: "absent.pem (mqtt.tls.ca_file) can't be used")
        world.options.tls?.caFile = try world.folder.write("empty.pem", "")
        try world.refused(with: "empty.pem (mqtt.tls.ca_file) can't be used")
        world.options.tls?.caFile = world.certificates.path("ca.pem")
        world.options.tls?.certificateFile = world.certificates.path("server.pem")
        world.options.tls?.keyFile = world.certificates.path("ca.key")
        try world.refused(with: "ca.key (mqtt.tls.key_file) can't be used")
    }

    @Test func `a broker without TLS at that port is said to be none`() throws {
        let folder = try TestFolder()
        try EventFiles(folder.file("events")).append(1)
        let broker = try Broker(folder)
        var options = PublisherOptions(folder, port: broker.port)
        options.tls = PublisherOptions.TLS()
        let publisher = try RunningPublisher(options)
        try publisher.remark(with: "TLS with the broker failed")
        try publisher.stop()
    }
}
