package import EventLog
package import SystemPackage

/// Where lines are published, and how.
package struct PublisherOptions: Sendable {
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

    /// What is retained at the broker beside the lines: the gateway's `availability` with its last will, its `status`, and
    /// the present states.
    package struct Retained: Sendable {
        /// The levels that the topics have in common, such as `beacons/lobby`.
        package var stem: String
        /// Where it is kept over restarts what was said.
        package var file: FilePath
        /// Under which topics states stand, and for whom.
        package var state: PresentStateOptions
        /// The number of the last line that was there at the start.
        package var lastWritten: Int
        /// What the gateway knew when it last kept that; the lines behind it say more. Absent where it can't be read.
        package var kept: KeptSnapshot?

        /// What is retained under these topics.
        package init(
            stem: String, file: FilePath, state: PresentStateOptions, lastWritten: Int, kept: KeptSnapshot? = nil
        ) {
            self.stem = stem
            self.file = file
            self.state = state
            self.lastWritten = lastWritten
            self.kept = kept
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
    /// After how long the broker may throw a message away that a subscriber was not there for (MQTT 5 §3.3.2.3.3);
    /// absent: never.
    package var messageExpiry: Duration?
    /// How many lines may be past the durable checkpoint: sent and not acknowledged, or acknowledged and not yet kept.
    ///
    /// So many, at most, come twice after a cut or a kill. 2 … 32,768.
    package var window = 1000
    /// What is retained at the broker; absent: nothing, there are lines alone.
    package var retained: Retained?
    /// Ships from this number on, whatever the checkpoint says.
    package var from: Int?
    /// Whether it waits for more at the end of the lines; else it ends there.
    package var follows = true
    /// Whether what is durable is told (``PublisherOrders/durable``); else what stands in the files is.
    package var isTold = false
    /// Where delays begin; the same seed gives the same delays.
    package var seed: UInt64?
    /// How long it waits after what failed.
    package var backOff = BackOff()

    /// Delays, each doubled with the next failure, and then cut by chance to between a half and the whole.
    package struct BackOff: Sendable, Hashable {
        /// After the first failure that may pass by itself.
        package var first: Duration = .seconds(1)
        /// At most, after those.
        package var last: Duration = .seconds(60)
        /// After the first failure that somebody has to do something about.
        package var firstForSomebody: Duration = .seconds(15)
        /// At most, after those.
        package var lastForSomebody: Duration = .seconds(300)

        /// A second to a minute; a quarter of one to five.
        package init() {}
    }

    /// A broker and a folder, with the defaults for all else.
    package init(directory: FilePath, checkpoint: FilePath, host: String, port: UInt16, clientID: String) {
        self.directory = directory
        self.checkpoint = checkpoint
        self.host = host
        self.port = port
        self.clientID = clientID
    }
}
