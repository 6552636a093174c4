import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
package import GatewayConfiguration
package import PublisherProtocol
package import SystemPackage

extension PublisherSettings {
    /// What the configuration says of the broker, for lines of `directory`.
    ///
    /// - Parameters:
    ///   - mqtt: the broker.
    ///   - directory: the folder of the event files.
    ///   - checkpoint: where it is kept how far lines were shipped.
    ///   - clientID: the client identifier, where the configuration has none.
    package init(_ mqtt: MQTTConfiguration, directory: FilePath, checkpoint: FilePath, clientID: String) {
        self.init(
            directory: directory, checkpoint: checkpoint, host: mqtt.host, port: mqtt.port,
            clientID: mqtt.clientID ?? clientID)
        version = VersionChoice(rawValue: mqtt.version.rawValue) ?? .auto
        username = mqtt.username
        passwordFile = mqtt.passwordFile ?? Self.credential()
        keepAlive = mqtt.keepAlive
        prefix = mqtt.prefix
        messageExpiry = mqtt.messageExpiry
        guard let settings = mqtt.tls else { return }
        var tls = TLS()
        tls.caFile = settings.caFile
        tls.caDirectory = settings.caDirectory
        tls.certificateFile = settings.certificateFile
        tls.keyFile = settings.keyFile
        tls.serverName = settings.serverName
        self.tls = tls
    }

    /// The settings for a start of the publisher.
    ///
    /// - Parameters:
    ///   - configuration: the folders.
    ///   - mqtt: the broker.
    ///   - gateway: the gateway's name.
    ///   - beaconsMax: the highest number of beacons that the engine tracks.
    ///   - lastWritten: the last line that a process before may have published without a stored state: its topics are
    ///     cleared if they have no message.
    init(
        _ configuration: Configuration, _ mqtt: MQTTConfiguration, gateway: String, beaconsMax: Int, lastWritten: Int
    ) {
        self.init(
            mqtt, directory: FilePath(configuration.output.directory),
            checkpoint: Self.checkpoint(configuration.output), clientID: "beacon-gateway-\(gateway)")
        var present = Present(gateway: gateway, stateDirectory: configuration.output.stateDirectory)
        present.programVersion = Program.version
        if mqtt.homeAssistant {
            present.homeAssistantPrefix = mqtt.homeAssistantPrefix
            present.homeAssistantTrackers = mqtt.homeAssistantTrackers == .zones ? "zones" : "state"
        }
        present.names = mqtt.names
        present.beaconsMax = beaconsMax
        present.lastWritten = lastWritten
        self.present = present
    }

    /// The last sequence number that the broker has acknowledged according to the checkpoint, or `nil` if the checkpoint
    /// is missing or can't be read. The publisher reports the error.
    static func lastAcknowledged(_ output: OutputConfiguration) -> Int? {
        do throws(ShippingCheckpoint.Problem) {
            return try ShippingCheckpoint.read(checkpoint(output))?.position.sequence
        } catch {
            return nil
        }
    }

    private static func checkpoint(_ output: OutputConfiguration) -> FilePath {
        FilePath(output.stateDirectory).appending("mqtt.json")
    }

    /// The password in the directory of systemd's credentials (systemd.exec(5), LoadCredential=), where it is there.
    private static func credential() -> String? {
        guard let directory = Program.variable("CREDENTIALS_DIRECTORY"), !directory.isEmpty else { return nil }
        let path = "\(directory)/mqtt.password"
        return SmallFile.exists(FilePath(path)) ? path : nil
    }
}

extension MQTTConfiguration {
    /// What is wrong with the rights of the files that hold secrets, each with what to do.
    package var exposures: [String] {
        [passwordFile, tls?.keyFile].compactMap(\.self).compactMap { SecretFile.exposure($0) }
    }
}
