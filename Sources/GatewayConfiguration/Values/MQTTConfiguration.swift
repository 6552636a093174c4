/// The settings for the broker.
public struct MQTTConfiguration: Sendable, Hashable {
    /// The settings for TLS. Without files, the certificate authorities of the system are used.
    public struct TLS: Sendable, Hashable {
        /// A PEM file with certificate authorities, an absolute path.
        public var caFile: String?
        /// A folder with certificate authorities, prepared with `openssl rehash`, an absolute path.
        public var caDirectory: String?
        /// The client certificate, PEM, an absolute path; only together with ``keyFile``.
        public var certificateFile: String?
        /// The key of the client certificate, PEM, an absolute path.
        public var keyFile: String?
        /// The name that the certificate of the broker must have; `nil` means the host.
        public var serverName: String?

        /// Creates the defaults: the authorities of the system, no client certificate.
        public init() {}
    }

    /// The version of MQTT.
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// 5, and 3.1.1 if the broker rejects 5, or never accepted 5 and does not answer.
        case auto
        /// Only MQTT 5.
        case five = "5"
        /// Only 3.1.1, in which a broker cannot report that it denies a topic.
        case three = "3.1.1"
    }

    /// The way in which the places of beacons are sent to Home Assistant: `docs/home-assistant.md`.
    public enum HomeAssistantTrackers: Sendable, Hashable {
        /// A state topic, and additionally zones.
        case state
        /// Only zones, which no released Home Assistant supports.
        case zones
    }

    /// The name or address of the broker.
    public var host: String
    /// The TCP port; by default 8883 with TLS and 1883 without.
    public var port: UInt16
    /// The settings for TLS; `nil` means no encryption.
    public var tls: TLS?
    /// The version of MQTT, the setting `protocol`.
    public var version = Version.auto
    /// The user name; `nil` means no login.
    public var username: String?
    /// The file with the password, an absolute path; `nil` means `mqtt.password` in systemd's credentials directory, if
    /// that exists.
    public var passwordFile: String?
    /// The first levels of every topic.
    public var prefix = "beacons"
    /// Whether conditions are announced to Home Assistant.
    public var homeAssistant = false
    /// The discovery prefix of Home Assistant.
    public var homeAssistantPrefix = "homeassistant"
    /// The way in which the places of beacons are sent to Home Assistant.
    public var homeAssistantTrackers = HomeAssistantTrackers.state
    /// Whether the names of beacons are sent to the broker, and so to Home Assistant.
    public var names = false
    /// The client identifier; `nil` means that it is derived from the name of the gateway.
    public var clientID: String?
    /// The keep-alive time: 5 s … 65,535 s, whole seconds (MQTT 3.1.1 §3.1.2.10).
    public var keepAlive: Duration = .seconds(60)
    /// The time after which the broker may delete an event for a subscriber that is not connected: whole seconds, 1 s …
    /// 3660 d (MQTT 5 §3.3.2.3.3); `nil` means never.
    public var messageExpiry: Duration?

    /// Creates the settings for a broker, with defaults for everything else.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}
