import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
package import GatewayConfiguration
package import PublisherProtocol
package import SystemPackage

extension PublisherSettings {
    /// Creates the settings for a broker in the configuration, to publish the lines of `directory`.
    ///
    /// - Parameters:
    ///   - mqtt: the broker.
    ///   - directory: the folder of the event files.
    ///   - checkpoint: the file that stores up to which line the broker has all lines.
    ///   - clientID: the client identifier, if the configuration has none.
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

    /// Creates the settings for a start of the publisher process of a gateway.
    ///
    /// - Parameters:
    ///   - configuration: the folders.
    ///   - mqtt: the broker.
    ///   - gateway: the name of the gateway.
    ///   - beaconsMax: the maximum number of beacons that the engine tracks.
    ///   - lastWritten: the last line that an earlier process can have published without storing its state. Topics of
    ///     lines up to it are cleared if they should not have a message.
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

    /// Returns the last sequence number that the broker has acknowledged according to the checkpoint; `nil` if the
    /// checkpoint is missing or cannot be read. The publisher reports that error.
    static func lastAcknowledged(_ output: OutputConfiguration) -> Int? {
        do throws(PublishingCheckpoint.Problem) {
            return try PublishingCheckpoint.read(checkpoint(output))?.position.sequence
        } catch {
            return nil
        }
    }

    private static func checkpoint(_ output: OutputConfiguration) -> FilePath {
        FilePath(output.stateDirectory).appending("mqtt.json")
    }

    /// Returns the path of the password in the directory of systemd's credentials (systemd.exec(5), LoadCredential=);
    /// `nil` if there is none.
    private static func credential() -> String? {
        guard let directory = Program.variable("CREDENTIALS_DIRECTORY"), !directory.isEmpty else { return nil }
        let path = "\(directory)/mqtt.password"
        return SmallFile.exists(FilePath(path)) ? path : nil
    }
}

extension MQTTConfiguration {
    /// The problems with the permissions of the files that contain secrets, each with a remedy.
    package var exposures: [String] {
        [passwordFile, tls?.keyFile].compactMap(\.self).compactMap { SecretFile.exposure($0) }
    }
}
