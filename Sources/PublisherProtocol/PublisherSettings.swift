package import SystemPackage

/// All settings of a publisher process, which reads no configuration.
///
/// Secrets are not included: the process reads their files itself at each connection.
package struct PublisherSettings: Sendable, Hashable {
    /// The version of the encoding. A process with another version ends and reports that.
    static let version = 1

    /// The TLS settings of the connection.
    package struct TLS: Sendable, Hashable {
        /// A PEM file with the certificates of the authorities. If this and ``caDirectory`` are `nil`, the authorities
        /// of the system are used.
        package var caFile: String?
        /// A folder of such certificates, hashed as by `openssl rehash`.
        package var caDirectory: String?
        /// The certificate of this client, PEM. It must be set together with ``keyFile``, or not at all.
        package var certificateFile: String?
        /// The key of the client certificate, PEM, without a password.
        package var keyFile: String?
        /// The name or address that the certificate of the broker must have; `nil` means the host.
        package var serverName: String?

        /// Creates settings with the authorities of the system and without a client certificate.
        package init() {}
    }

    /// The version of MQTT to use.
    package enum VersionChoice: String, Sendable, Hashable {
        /// MQTT 5; MQTT 3.1.1 if the broker refuses 5, or has never been seen to support it.
        case auto
        /// MQTT 5 only.
        case five = "5"
        /// MQTT 3.1.1 only.
        case three = "3.1.1"
    }

    /// The retained messages that a gateway publishes in addition to its lines.
    package struct Present: Sendable, Hashable {
        /// The name of the gateway.
        package var gateway: String
        /// The state directory. It contains `state.json`, from which the present states start, and the stored state of
        /// the publisher.
        package var stateDirectory: String
        /// The version of the program, which Home Assistant shows.
        package var programVersion = ""
        /// The first level of the topics under which Home Assistant discovers entities; `nil` disables discovery.
        package var homeAssistantPrefix: String?
        /// How discovery represents the place of a beacon: `state` or `zones`.
        package var homeAssistantTrackers = "state"
        /// Whether names of beacons are published. If they are, the publisher must receive all names before it
        /// publishes.
        package var names = false
        /// The maximum number of beacons that are present or unknown, counted as pairs (condition, beacon).
        package var beaconsMax = 10_000
        /// The number of the last line that an earlier process may have published.
        package var lastWritten = 0

        /// Creates the settings of a gateway.
        package init(gateway: String, stateDirectory: String) {
            self.gateway = gateway
            self.stateDirectory = stateDirectory
        }
    }

    /// The folder of the event files.
    package var directory: FilePath
    /// The file of the checkpoint, which stores the position of the last published line.
    package var checkpoint: FilePath
    /// The host name or address of the broker.
    package var host: String
    /// The TCP port of the broker.
    package var port: UInt16
    /// The TLS settings; `nil` means a connection without TLS.
    package var tls: TLS?
    /// The user name for the login; `nil` means no login.
    package var username: String?
    /// The file with the password in its first line. It is read at each connection.
    package var passwordFile: String?
    /// The version of MQTT to use.
    package var version = VersionChoice.auto
    /// The MQTT client identifier.
    package var clientID: String
    /// The MQTT keep-alive interval in whole seconds, 5 s … 65,535 s.
    package var keepAlive: Duration = .seconds(60)
    /// The first levels of the topics of lines that are payloads without an envelope.
    package var prefix = "beacons"
    /// The time after which the broker may discard a message for a subscriber that was not connected (MQTT 5
    /// §3.3.2.3.3), in whole seconds; `nil` means never.
    package var messageExpiry: Duration?
    /// The retained messages. If it is set, only lines that the gateway reported as durable are published. If it is
    /// `nil`, there are no retained messages, and the publisher publishes all lines of the files after it has put them
    /// on the disk.
    package var present: Present?
    /// The first line to publish, whatever the checkpoint contains; `nil` means after the checkpoint.
    package var from: Int?
    /// Whether the publisher waits for more lines at the end.
    package var follows = true

    /// Creates settings for a broker and a folder, with default values for the rest.
    package init(directory: FilePath, checkpoint: FilePath, host: String, port: UInt16, clientID: String) {
        self.directory = directory
        self.checkpoint = checkpoint
        self.host = host
        self.port = port
        self.clientID = clientID
    }
}

// The encoding for the pair of sockets.
extension PublisherSettings {
    /// The encoded settings.
    package var message: [UInt8] {
        var fields = Fields()
        fields.put("version", Self.version)
        fields.put("directory", directory.string)
        fields.put("checkpoint", checkpoint.string)
        fields.put("host", host)
        fields.put("port", Int(port))
        fields.put("tls", tls != nil)
        fields.put("caFile", tls?.caFile)
        fields.put("caDirectory", tls?.caDirectory)
        fields.put("certificateFile", tls?.certificateFile)
        fields.put("keyFile", tls?.keyFile)
        fields.put("serverName", tls?.serverName)
        fields.put("username", username)
        fields.put("passwordFile", passwordFile)
        fields.put("mqttVersion", version.rawValue)
        fields.put("clientID", clientID)
        fields.put("keepAlive", Int(clamping: keepAlive.components.seconds))
        fields.put("prefix", prefix)
        fields.put("messageExpiry", messageExpiry.map { Int(clamping: $0.components.seconds) })
        fields.put("from", from)
        fields.put("follows", follows)
        if let present {
            fields.put("gateway", present.gateway)
            fields.put("stateDirectory", present.stateDirectory)
            fields.put("programVersion", present.programVersion)
            fields.put("homeAssistantPrefix", present.homeAssistantPrefix)
            fields.put("homeAssistantTrackers", present.homeAssistantTrackers)
            fields.put("names", present.names)
            fields.put("beaconsMax", present.beaconsMax)
            fields.put("lastWritten", present.lastWritten)
        }
        // A truncated message does not have this field.
        fields.put("end", true)
        return fields.bytes
    }

    /// Decodes settings.
    ///
    /// - Throws: ``Problem`` if they are invalid or have another version.
    package init(_ bytes: ArraySlice<UInt8>) throws(Problem) {
        guard let fields = ReadFields(bytes), fields.flag("end") else { throw .damaged }
        guard fields.number("version") == Self.version else { throw .otherVersion }
        guard let directory = fields.text("directory"), let checkpoint = fields.text("checkpoint"),
            let host = fields.text("host"), let port = fields.number("port").flatMap({ UInt16(exactly: $0) }),
            let clientID = fields.text("clientID"), let keepAlive = fields.number("keepAlive"),
            let prefix = fields.text("prefix")
        else { throw .damaged }
        self.init(
            directory: FilePath(directory), checkpoint: FilePath(checkpoint), host: host, port: port, clientID: clientID
        )
        self.keepAlive = .seconds(min(max(keepAlive, 5), 65_535))
        self.prefix = prefix
        if fields.flag("tls") {
            var tls = TLS()
            tls.caFile = fields.text("caFile")
            tls.caDirectory = fields.text("caDirectory")
            tls.certificateFile = fields.text("certificateFile")
            tls.keyFile = fields.text("keyFile")
            tls.serverName = fields.text("serverName")
            self.tls = tls
        }
        version = fields.text("mqttVersion").flatMap { VersionChoice(rawValue: $0) } ?? .auto
        username = fields.text("username")
        passwordFile = fields.text("passwordFile")
        messageExpiry = fields.number("messageExpiry").map { .seconds($0) }
        from = fields.number("from")
        follows = fields.flag("follows")
        guard let gateway = fields.text("gateway") else { return }
        guard let stateDirectory = fields.text("stateDirectory"), let beaconsMax = fields.number("beaconsMax"),
            let lastWritten = fields.number("lastWritten")
        else { throw .damaged }
        var present = Present(gateway: gateway, stateDirectory: stateDirectory)
        present.programVersion = fields.text("programVersion") ?? ""
        present.homeAssistantPrefix = fields.text("homeAssistantPrefix")
        present.homeAssistantTrackers = fields.text("homeAssistantTrackers") ?? present.homeAssistantTrackers
        present.names = fields.flag("names")
        present.beaconsMax = beaconsMax
        present.lastWritten = lastWritten
        self.present = present
    }

    /// The reason why settings cannot be used.
    package enum Problem: Error, Hashable {
        /// The bytes are not valid settings.
        case damaged
        /// The sender has another version.
        case otherVersion
    }
}
