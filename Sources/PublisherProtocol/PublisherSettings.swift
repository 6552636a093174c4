package import SystemPackage

/// All that a publisher's process has to know: it reads no configuration.
///
/// Secrets are not in it: the process reads their files itself, at each connection.
package struct PublisherSettings: Sendable, Hashable {
    /// Of what goes through the pair. A process of another number ends, and says so.
    static let version = 1

    /// How the connection is protected.
    package struct TLS: Sendable, Hashable {
        /// A PEM file with the certificates of authorities; with neither this nor ``caDirectory``, the system's.
        package var caFile: String?
        /// A folder of such certificates, hashed as `openssl rehash` does.
        package var caDirectory: String?
        /// This client's own certificate, PEM; with ``keyFile`` or not at all.
        package var certificateFile: String?
        /// The key to it, PEM, without a password.
        package var keyFile: String?
        /// The name or address that the broker's certificate must have; absent: the host.
        package var serverName: String?

        /// The system's authorities, no client certificate.
        package init() {}
    }

    /// Which version of MQTT is spoken.
    package enum VersionChoice: String, Sendable, Hashable {
        /// 5, and 3.1.1 with a broker that refuses 5 or has never been heard to speak it.
        case auto
        /// 5 alone.
        case five = "5"
        /// 3.1.1 alone.
        case three = "3.1.1"
    }

    /// What a gateway keeps at the broker beside its lines.
    package struct Present: Sendable, Hashable {
        /// The gateway's name.
        package var gateway: String
        /// Where its state is: `state.json`, with which the states of the present begin, and what is kept of them.
        package var stateDirectory: String
        /// The program's version, as Home Assistant shows it.
        package var programVersion = ""
        /// The first level of the topics under which Home Assistant looks for entities; absent: it is not told.
        package var homeAssistantPrefix: String?
        /// How Home Assistant is told where a beacon is: `state` or `zones`.
        package var homeAssistantTrackers = "state"
        /// Whether it is said what beacons are called: then nothing is said before all names have come.
        package var names = false
        /// The beacons that are held at most.
        package var beaconsMax = 10_000
        /// Lines up to this one may have been published by a process before this one.
        package var lastWritten = 0

        /// A gateway's.
        package init(gateway: String, stateDirectory: String) {
            self.gateway = gateway
            self.stateDirectory = stateDirectory
        }
    }

    /// The folder of the event files.
    package var directory: FilePath
    /// Where it is kept how far lines were shipped.
    package var checkpoint: FilePath
    /// The broker's name or address.
    package var host: String
    /// Its TCP port.
    package var port: UInt16
    /// How the connection is protected; absent: it is not.
    package var tls: TLS?
    /// Who logs in; absent: nobody.
    package var username: String?
    /// The file with the password in its first line; read at each connection.
    package var passwordFile: String?
    /// Which version of MQTT is spoken.
    package var version = VersionChoice.auto
    /// The client identifier.
    package var clientID: String
    /// How long the connection may be silent: whole seconds, 5 s … 65,535 s.
    package var keepAlive: Duration = .seconds(60)
    /// The first levels of the topics of lines that are payloads alone.
    package var prefix = "beacons"
    /// After how long the broker may throw a message away that a subscriber was not there for (MQTT 5 §3.3.2.3.3), in
    /// whole seconds; absent: never.
    package var messageExpiry: Duration?
    /// What is kept at the broker beside the lines; absent: nothing, and what stands in the files is shipped, once it is
    /// on the disk. Else only lines are shipped that were said to be durable.
    package var present: Present?
    /// Ships from this number on, whatever the checkpoint says.
    package var from: Int?
    /// Whether it waits for more at the end of the lines.
    package var follows = true

    /// A broker and a folder, with the defaults for all else.
    package init(directory: FilePath, checkpoint: FilePath, host: String, port: UInt16, clientID: String) {
        self.directory = directory
        self.checkpoint = checkpoint
        self.host = host
        self.port = port
        self.clientID = clientID
    }
}

// As they go through the pair.
extension PublisherSettings {
    /// The octets.
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
        // What is cut off has none.
        fields.put("end", true)
        return fields.octets
    }

    /// Reads them.
    ///
    /// - Throws: ``Problem`` where they are none, or another version's.
    package init(_ octets: ArraySlice<UInt8>) throws(Problem) {
        guard let fields = ReadFields(octets), fields.flag("end") else { throw .damaged }
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

    /// Why settings can't be used.
    package enum Problem: Error, Hashable {
        /// They are none.
        case damaged
        /// Who sent them is of another version.
        case otherVersion
    }
}
