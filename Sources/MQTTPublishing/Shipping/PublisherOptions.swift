public import SystemPackage

/// Where lines are published, and how.
public struct PublisherOptions: Sendable {
    /// How the connection is protected.
    public struct TLS: Sendable, Hashable {
        /// A PEM file with the certificates of authorities; with neither this nor ``caDirectory``, the system's.
        public var caFile: String?
        /// A folder of such certificates, hashed as `openssl rehash` does.
        public var caDirectory: String?
        /// This client's own certificate, PEM; with ``keyFile`` or not at all.
        public var certificateFile: String?
        /// The key to it, PEM, without a password.
        public var keyFile: String?
        /// The name or address that the broker's certificate must have; absent: the host.
        public var serverName: String?

        /// The system's authorities, no client certificate.
        public init() {}
    }

    /// Which version of MQTT is spoken.
    public enum VersionChoice: String, Sendable, Hashable {
        /// 5, and 3.1.1 with a broker that refuses 5 or has never been heard to speak it.
        case auto
        /// 5 alone.
        case five = "5"
        /// 3.1.1 alone.
        case three = "3.1.1"
    }

    /// What is done with present states and availability.
    public enum Retained: Sendable {
        /// Lines alone.
        case none
        /// The gateway's own topics: `availability` with its last will, `status`, and what `make` folds out of the lines.
        ///
        /// - Parameters:
        ///   - topics: the levels that they have in common, such as `beacons/lobby`.
        ///   - file: where the fold is kept over restarts.
        ///   - make: makes the fold, of what ``RetainedTopics/encoded`` gave; anew where that is absent or can't be used.
        ///   - adopt: once the fold has taken the lines that were there at the start: has it take what no line tells.
        case topics(
            String, file: FilePath, make: @Sendable ([UInt8]?) -> any RetainedTopics,
            adopt: @Sendable (inout any RetainedTopics) -> Void)
    }

    /// The folder of the event files.
    public var directory: FilePath
    /// Where it is kept how far lines were shipped.
    public var checkpoint: FilePath
    /// The broker's name or address.
    public var host: String
    /// Its TCP port.
    public var port: UInt16
    /// How the connection is protected; absent: it is not.
    public var tls: TLS?
    /// Who logs in; absent: nobody.
    public var username: String?
    /// The file with the password in its first line; read at each connection.
    public var passwordFile: String?
    /// Which version of MQTT is spoken.
    public var version = VersionChoice.auto
    /// The client identifier.
    public var clientID: String
    /// How long the connection may be silent: whole seconds, 5 s … 65,535 s.
    public var keepAlive: Duration = .seconds(60)
    /// The first levels of the topics of lines that are payloads alone.
    public var prefix = "beacons"
    /// After how long the broker may throw a message away that a subscriber was not there for (MQTT 5 §3.3.2.3.3);
    /// absent: never.
    public var messageExpiry: Duration?
    /// How many lines may be past the durable checkpoint: sent and not acknowledged, or acknowledged and not yet kept.
    ///
    /// So many, at most, come twice after a cut or a kill. 2 … 32,768.
    public var window = 1000
    /// What is done with present states and availability.
    public var retained = Retained.none
    /// At which line the fold takes what no line tells; absent: behind the last one that is there.
    public var adoptsAt: Int?
    /// Ships from this number on, whatever the checkpoint says.
    public var from: Int?
    /// Whether it waits for more at the end of the lines; else it ends there.
    public var follows = true
    /// Whether what is durable is told (``PublisherOrders/durable``); else what stands in the files is.
    public var isTold = false
    /// Where delays begin; the same seed gives the same delays.
    public var seed: UInt64?
    /// How long it waits after what failed.
    public var backOff = BackOff()

    /// Delays, each doubled with the next failure, and then cut by chance to between a half and the whole.
    public struct BackOff: Sendable, Hashable {
        /// After the first failure that may pass by itself.
        public var first: Duration = .seconds(1)
        /// At most, after those.
        public var last: Duration = .seconds(60)
        /// After the first failure that somebody has to do something about.
        public var firstForSomebody: Duration = .seconds(15)
        /// At most, after those.
        public var lastForSomebody: Duration = .seconds(300)

        /// A second to a minute; a quarter of one to five.
        public init() {}
    }

    /// A broker and a folder, with the defaults for all else.
    public init(directory: FilePath, checkpoint: FilePath, host: String, port: UInt16, clientID: String) {
        self.directory = directory
        self.checkpoint = checkpoint
        self.host = host
        self.port = port
        self.clientID = clientID
    }
}
