/// The keys of one section of the file, with their names in the file.
protocol SettingKey: CaseIterable, Hashable, Sendable, RawRepresentable where RawValue == String {
    /// The documentation of the key.
    var note: SettingNote { get }
    /// Keys by names that earlier versions used. A file can still have them; documents and hints do not list them.
    static var formerNames: [String: Self] { get }
}

extension SettingKey {
    static var formerNames: [String: Self] { [:] }

    /// The name of the key in the file.
    var name: String { rawValue }
}

/// The sections of the file.
enum RootKey: String, SettingKey {
    case gateway, scanner, location, ranging, monitor, monitors, output, mqtt, serve, conditions, beacons
}

/// In each entry of `beacons`; `file` is under `beacons` if that is a map.
enum BeaconsKey: String, SettingKey {
    case uuid, major, minor, name, group, file
}

/// Under `gateway`.
enum GatewayKey: String, SettingKey {
    case name
}

/// Under `scanner`.
enum ScannerKey: String, SettingKey {
    case backend, adapters, mode, dutyCycle = "duty_cycle", latency, canary
}

/// Under `scanner.canary`.
enum CanaryKey: String, SettingKey {
    case uuid, major, minor
}

/// Under `location`.
enum LocationKey: String, SettingKey {
    case source, host, port, file, speed, loop, pace
}

/// Under `ranging`.
enum RangingKey: String, SettingKey {
    case model, exponent, coefficients, window
}

/// Under `output`.
enum OutputKey: String, SettingKey {
    case directory, stateDirectory = "state_directory", statusSocket = "status_socket", envelope
    case rotateSize = "rotate_size", rotateInterval = "rotate_interval", retain, retainSize = "retain_size"
    case durability
}

/// Under `mqtt`.
enum MQTTKey: String, SettingKey {
    case host, port, tls, username, passwordFile = "password_file", prefix, homeAssistant = "home_assistant"
    case homeAssistantPrefix = "home_assistant_prefix", clientID = "client_id", keepAlive = "keep_alive"
    case messageExpiry = "message_expiry", version = "protocol", homeAssistantTrackers = "home_assistant_trackers"
    case beaconNames = "names"
}

/// Under `mqtt.tls`, if that is a map.
enum TLSKey: String, SettingKey {
    case caFile = "ca_file", caDirectory = "ca_directory", certificateFile = "certificate_file", keyFile = "key_file"
    case serverName = "server_name"
}

/// Under `serve`.
enum ServeKey: String, SettingKey {
    case address, port, hostName = "host_name", tls, usersFile = "users_file", trustedProxy = "trusted_proxy"
    case cacheDirectory = "cache_directory"
}

/// Under `serve.tls`.
enum ServeTLSKey: String, SettingKey {
    case certificateFile = "certificate_file", keyFile = "key_file"
}

/// Under `monitor`, in each entry of `monitors`, and in each entry of `conditions`. ``MonitoringPlace`` decides which
/// keys each allows.
enum MonitoringKey: String, SettingKey {
    case name, outageTimeout = "outage_timeout", deafAfter = "deaf_after", forgetAfter = "forget_after"
    case conditionLimit = "condition_limit", maxBeacons = "max_beacons", maxNewBeacons = "max_new_beacons", conditions
    case exitTimeout = "exit_timeout", enterCount = "enter_count", enterWindow = "enter_window"
    case enterRSSI = "enter_rssi", exitRSSI = "exit_rssi", perBeacon = "per_beacon", unnamed, ranging, identifier
    case uuid, major, minor, center, radius, assuming

    static let formerNames: [String: MonitoringKey] = ["strangers": .unnamed]
}
