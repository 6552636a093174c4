/// The broker that events are published to.
public struct MQTTConfiguration: Sendable, Hashable {
    /// How the connection is protected; without files the system's certificate authorities vouch for the broker.
    public struct TLS: Sendable, Hashable {
        /// A PEM file with the certificates of authorities, an absolute path.
        public var caFile: String?
        /// A folder of such certificates, hashed as `openssl rehash` does, an absolute path.
        public var caDirectory: String?
        /// This client's own certificate, PEM, an absolute path; with ``keyFile`` or not at all.
        public var certificateFile: String?
        /// The key to it, PEM, an absolute path.
        public var keyFile: String?
        /// The name that the broker's certificate must have; absent: the host.
        public var serverName: String?

        /// The system's authorities, no client certificate.
        public init() {}
    }

    /// Which version of MQTT is spoken.
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// 5, and 3.1.1 with a broker that refuses 5 or has never been heard to speak it.
        case auto
        /// MQTT 5, and no older one where the broker does not know it.
        case five = "5"
        /// 3.1.1 alone, in which a broker can't say that it denies a topic.
        case three = "3.1.1"
    }

    /// How Home Assistant is told where a beacon is: `docs/home-assistant.md`.
    public enum HomeAssistantTrackers: Sendable, Hashable {
        /// By a state topic, and by zones beside it.
        case state
        /// By zones alone, which no Home Assistant that has been released reads.
        case zones
    }

    /// The broker's name or address.
    public var host: String
    /// Its TCP port; where the file does not say, 8883 with TLS and 1883 without.
    public var port: UInt16
    /// How the connection is protected; absent: it is not.
    public var tls: TLS?
    /// Which version of MQTT is spoken: `protocol`.
    public var version = Version.auto
    /// Who logs in; absent: nobody does.
    public var username: String?
    /// The file that holds the password, an absolute path; absent: `mqtt.password` in systemd's credentials directory,
    /// where that exists.
    public var passwordFile: String?
    /// The first levels of every topic.
    public var prefix = "beacons"
    /// Whether Home Assistant is told of the conditions.
    public var homeAssistant = false
    /// The first levels of the topics under which Home Assistant looks for them.
    public var homeAssistantPrefix = "homeassistant"
    /// How Home Assistant is told where a beacon is.
    public var homeAssistantTrackers = HomeAssistantTrackers.state
    /// Whether the broker, and with it Home Assistant, is told what beacons are called.
    public var names = false
    /// The client identifier; absent: made of the gateway's name.
    public var clientID: String?
    /// How long the connection may be silent: 5 s … 65,535 s, whole seconds (MQTT 3.1.1 §3.1.2.10).
    public var keepAlive: Duration = .seconds(60)
    /// After how long the broker may throw away an event that a subscriber was not there for: whole seconds, 1 s … 3660 d
    /// (MQTT 5 §3.3.2.3.3); absent: never.
    public var messageExpiry: Duration?

    /// A broker, with the defaults for all else.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}
