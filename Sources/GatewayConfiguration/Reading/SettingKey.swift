/// The keys of one section of the file: the schema, as far as names go.
///
/// Raw values count from 0 without gaps; they are places in a table.
protocol SettingKey: CaseIterable, Hashable, Sendable, RawRepresentable where RawValue == UInt8 {
    /// The key as it stands in the file.
    var name: String { get }
    /// What a document says of it.
    var note: SettingNote { get }
    /// ``name`` of all cases, by raw value, as octets.
    static var names: [[UInt8]] { get }
}

extension SettingKey {
    static func table() -> [[UInt8]] { allCases.map { Array($0.name.utf8) } }

    /// The key that `text` spells.
    static func named(_ text: ArraySlice<UInt8>) -> Self? {
        for (index, name) in names.enumerated() where name.count == text.count && text.elementsEqual(name) {
            return Self(rawValue: UInt8(truncatingIfNeeded: index))
        }
        return nil
    }
}

/// The sections of the file.
enum RootKey: UInt8, SettingKey {
    case gateway, scanner, location, ranging, monitor, monitors, output, mqtt, serve, conditions, beacons

    static let names = table()
    var name: String {
        switch self {
        case .gateway: "gateway"
        case .scanner: "scanner"
        case .location: "location"
        case .ranging: "ranging"
        case .monitor: "monitor"
        case .monitors: "monitors"
        case .output: "output"
        case .mqtt: "mqtt"
        case .serve: "serve"
        case .conditions: "conditions"
        case .beacons: "beacons"
        }
    }
}

/// In each of `beacons`; `file` under `beacons`, where it is a map.
enum BeaconsKey: UInt8, SettingKey {
    case uuid, major, minor, name, group, file

    static let names = table()
    var name: String {
        switch self {
        case .uuid: "uuid"
        case .major: "major"
        case .minor: "minor"
        case .name: "name"
        case .group: "group"
        case .file: "file"
        }
    }
}

/// Under `gateway`.
enum GatewayKey: UInt8, SettingKey {
    case name

    static let names = table()
    var name: String { "name" }
}

/// Under `scanner`.
enum ScannerKey: UInt8, SettingKey {
    case backend, adapters, mode, dutyCycle, latency, canary

    static let names = table()
    var name: String {
        switch self {
        case .backend: "backend"
        case .adapters: "adapters"
        case .mode: "mode"
        case .dutyCycle: "duty_cycle"
        case .latency: "latency"
        case .canary: "canary"
        }
    }
}

/// Under `scanner.canary`.
enum CanaryKey: UInt8, SettingKey {
    case uuid, major, minor

    static let names = table()
    var name: String {
        switch self {
        case .uuid: "uuid"
        case .major: "major"
        case .minor: "minor"
        }
    }
}

/// Under `location`.
enum LocationKey: UInt8, SettingKey {
    case source, host, port, file, speed, loop, pace

    static let names = table()
    var name: String {
        switch self {
        case .source: "source"
        case .host: "host"
        case .port: "port"
        case .file: "file"
        case .speed: "speed"
        case .loop: "loop"
        case .pace: "pace"
        }
    }
}

/// Under `ranging`.
enum RangingKey: UInt8, SettingKey {
    case model, exponent, coefficients, window

    static let names = table()
    var name: String {
        switch self {
        case .model: "model"
        case .exponent: "exponent"
        case .coefficients: "coefficients"
        case .window: "window"
        }
    }
}

/// Under `output`.
enum OutputKey: UInt8, SettingKey {
    case directory, stateDirectory, statusSocket, envelope, rotateSize, rotateInterval, retain, retainSize, durability

    static let names = table()
    var name: String {
        switch self {
        case .directory: "directory"
        case .stateDirectory: "state_directory"
        case .statusSocket: "status_socket"
        case .envelope: "envelope"
        case .rotateSize: "rotate_size"
        case .rotateInterval: "rotate_interval"
        case .retain: "retain"
        case .retainSize: "retain_size"
        case .durability: "durability"
        }
    }
}

/// Under `mqtt`.
enum MQTTKey: UInt8, SettingKey {
    case host, port, tls, username, passwordFile, prefix, homeAssistant, homeAssistantPrefix, clientID, keepAlive
    case messageExpiry, version, homeAssistantTrackers, beaconNames

    static let names = table()
    var name: String {
        switch self {
        case .host: "host"
        case .port: "port"
        case .tls: "tls"
        case .username: "username"
        case .passwordFile: "password_file"
        case .prefix: "prefix"
        case .homeAssistant: "home_assistant"
        case .homeAssistantPrefix: "home_assistant_prefix"
        case .homeAssistantTrackers: "home_assistant_trackers"
        case .beaconNames: "names"
        case .clientID: "client_id"
        case .keepAlive: "keep_alive"
        case .messageExpiry: "message_expiry"
        case .version: "protocol"
        }
    }
}

/// Under `mqtt.tls`, where it is a map.
enum TLSKey: UInt8, SettingKey {
    case caFile, caDirectory, certificateFile, keyFile, serverName

    static let names = table()
    var name: String {
        switch self {
        case .caFile: "ca_file"
        case .caDirectory: "ca_directory"
        case .certificateFile: "certificate_file"
        case .keyFile: "key_file"
        case .serverName: "server_name"
        }
    }
}

/// Under `serve`.
enum ServeKey: UInt8, SettingKey {
    case address, port, hostName, tls, usersFile, trustedProxy, cacheDirectory

    static let names = table()
    var name: String {
        switch self {
        case .address: "address"
        case .port: "port"
        case .hostName: "host_name"
        case .tls: "tls"
        case .usersFile: "users_file"
        case .trustedProxy: "trusted_proxy"
        case .cacheDirectory: "cache_directory"
        }
    }
}

/// Under `serve.tls`.
enum ServeTLSKey: UInt8, SettingKey {
    case certificateFile, keyFile

    static let names = table()
    var name: String {
        switch self {
        case .certificateFile: "certificate_file"
        case .keyFile: "key_file"
        }
    }
}

/// Under `monitor`, in each of `monitors`, and in each of `conditions`: which may stand where is ``MonitoringPlace``'s.
enum MonitoringKey: UInt8, SettingKey {
    case name, outageTimeout, deafAfter, forgetAfter, conditionLimit, maxBeacons, maxNewBeacons, conditions
    case exitTimeout, enterCount, enterWindow, enterRSSI, exitRSSI, perBeacon, strangers, ranging
    case identifier, uuid, major, minor, center, radius, assuming

    static let names = table()
    var name: String {
        switch self {
        case .name: "name"
        case .outageTimeout: "outage_timeout"
        case .deafAfter: "deaf_after"
        case .forgetAfter: "forget_after"
        case .conditionLimit: "condition_limit"
        case .maxBeacons: "max_beacons"
        case .maxNewBeacons: "max_new_beacons"
        case .conditions: "conditions"
        case .exitTimeout: "exit_timeout"
        case .enterCount: "enter_count"
        case .enterWindow: "enter_window"
        case .enterRSSI: "enter_rssi"
        case .exitRSSI: "exit_rssi"
        case .perBeacon: "per_beacon"
        case .strangers: "strangers"
        case .ranging: "ranging"
        case .identifier: "identifier"
        case .uuid: "uuid"
        case .major: "major"
        case .minor: "minor"
        case .center: "center"
        case .radius: "radius"
        case .assuming: "assuming"
        }
    }
}
