import BeaconMonitoring
import CommandSupport
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
            directory: directory.string, checkpoint: checkpoint.string, host: mqtt.host, port: mqtt.port,
            clientID: mqtt.clientID ?? clientID)
        mqttVersion =
            switch mqtt.version {
            case .auto: "auto"
            case .five: "5"
            case .three: "3.1.1"
            }
        username = mqtt.username
        passwordFile = mqtt.passwordFile ?? Self.credential()
        keepAlive = Int(clamping: mqtt.keepAlive.components.seconds)
        prefix = mqtt.prefix
        messageExpiry = mqtt.messageExpiry.map { Int(clamping: $0.components.seconds) }
        guard let settings = mqtt.tls else { return }
        var tls = TLS()
        tls.caFile = settings.caFile
        tls.caDirectory = settings.caDirectory
        tls.certificateFile = settings.certificateFile
        tls.keyFile = settings.keyFile
        tls.serverName = settings.serverName
        self.tls = tls
    }

    /// The password in the directory of systemd's credentials (systemd.exec(5), LoadCredential=), where it is there.
    private static func credential() -> String? {
        guard let directory = Program.variable("CREDENTIALS_DIRECTORY"), !directory.isEmpty else { return nil }
        let path = "\(directory)/mqtt.password"
        return SmallFiles.exists(path) ? path : nil
    }
}

extension MQTTConfiguration {
    /// What is wrong with the rights of the files that hold secrets, each with what to do.
    package var exposures: [String] {
        [passwordFile, tls?.keyFile].compactMap(\.self).compactMap { SecretFile.exposure($0) }
    }
}
