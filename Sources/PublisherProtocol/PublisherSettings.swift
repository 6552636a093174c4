/// All that a publisher's process has to know: it reads no configuration.
///
/// Secrets are not in it: the process reads their files itself, at each connection.
package struct PublisherSettings: Sendable, Hashable {
    /// Of what goes through the pair. A process of another number ends, and says so.
    static let version = 1

    /// How the connection is protected.
    package struct TLS: Sendable, Hashable {
        /// A PEM file with the certificates of authorities.
        package var caFile: String?
        /// A folder of such certificates.
        package var caDirectory: String?
        /// This client's own certificate.
        package var certificateFile: String?
        /// The key to it.
        package var keyFile: String?
        /// The name or address that the broker's certificate must have.
        package var serverName: String?

        /// The system's authorities, no client certificate.
        package init() {}
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
    package var directory: String
    /// Where it is kept how far lines were shipped.
    package var checkpoint: String
    /// The broker's name or address.
    package var host: String
    /// Its TCP port.
    package var port: UInt16
    /// How the connection is protected; absent: it is not.
    package var tls: TLS?
    /// Who logs in; absent: nobody.
    package var username: String?
    /// The file with the password in its first line.
    package var passwordFile: String?
    /// Which version of MQTT is spoken: `auto`, `5` or `3.1.1`.
    package var mqttVersion = "auto"
    /// The client identifier.
    package var clientID: String
    /// How long the connection may be silent, in seconds.
    package var keepAlive = 60
    /// The first levels of the topics.
    package var prefix = "beacons"
    /// After how many seconds the broker may throw a message away that a subscriber was not there for; absent: never.
    package var messageExpiry: Int?
    /// What is kept at the broker beside the lines; absent: nothing, and what stands in the files is shipped, once it is
    /// on the disk. Else only lines are shipped that were said to be durable.
    package var present: Present?
    /// Ships from this number on, whatever the checkpoint says.
    package var from: Int?
    /// Whether it waits for more at the end of the lines.
    package var follows = true

    /// A broker and a folder, with the defaults for all else.
    package init(directory: String, checkpoint: String, host: String, port: UInt16, clientID: String) {
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
        fields.put("directory", directory)
        fields.put("checkpoint", checkpoint)
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
        fields.put("mqttVersion", mqttVersion)
        fields.put("clientID", clientID)
        fields.put("keepAlive", keepAlive)
        fields.put("prefix", prefix)
        fields.put("messageExpiry", messageExpiry)
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
        self.init(directory: directory, checkpoint: checkpoint, host: host, port: port, clientID: clientID)
        self.keepAlive = keepAlive
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
        mqttVersion = fields.text("mqttVersion") ?? mqttVersion
        username = fields.text("username")
        passwordFile = fields.text("passwordFile")
        messageExpiry = fields.number("messageExpiry")
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
