internal import BeaconMonitoring

/// Every setting of the file. `docs/configuration.md` and the manual page gateway.yaml(5) are generated from it.
package enum SettingTable {
    /// The sections in the order of the documentation.
    package static let sections: [SettingSection] = [
        SettingSection(
            "", RootKey.allCases,
            "A YAML file with maps. Only `conditions`, or `monitors`, is required. A value such as `no`, `1e10`, `010` or a "
                + "UUID that consists of digits needs no quotation marks: it is read as written. Anchors, aliases, tags, merge "
                + "keys and second documents are errors."),
        SettingSection("gateway", GatewayKey.allCases, "The name of the gateway."),
        SettingSection("scanner", ScannerKey.allCases, "How the gateway scans."),
        SettingSection(
            "scanner.canary", CanaryKey.allCases,
            "A beacon that is always in range. While it is received, the adapters work (rule L5)."),
        SettingSection(
            "location", LocationKey.allCases,
            "The source of the gateway's own position, for conditions with a `center`. Without it, such conditions are "
                + "`unmonitored` (rule C5)."),
        SettingSection(
            "ranging", RangingKey.allCases,
            "How distances are estimated, for conditions with `ranging` and for `beacon-gateway scan`."),
        SettingSection(
            "monitor", MonitoringPlace.monitor.keys,
            "The monitor. Each condition can override the settings from `exit_timeout` to `ranging`, but not the others."
        ),
        SettingSection(
            "conditions", MonitoringPlace.condition.keys.filter { !MonitoringPlace.monitor.keys.contains($0) },
            "The conditions to monitor: a list of beacon conditions (`uuid`, with `major`, with `minor`) and circles (`center` "
                + "and `radius`). Each entry can also override the monitor's "
                + MonitoringPlace.condition.keys.filter(MonitoringPlace.monitor.keys.contains).map { "`\($0.name)`" }
                .joined(separator: ", ") + "."),
        SettingSection(
            "monitors", MonitoringPlace.listedMonitor.keys.filter { !MonitoringPlace.monitor.keys.contains($0) },
            "Several monitors, instead of `monitor` and `conditions`: a list of maps with the settings of `monitor` and with "
                + "their own `conditions`. `deaf_after`, `condition_limit`, `max_beacons` and `max_new_beacons` apply to the "
                + "whole gateway and must not differ. The names of monitors must be unique, and the identifiers of "
                + "conditions must be unique over all monitors."),
        SettingSection(
            "beacons", BeaconsKey.allCases,
            "The beacons with names, at most \(BeaconNames.countMost). They never lose their place to others (rule P4). A list, "
                + "or a map with only `file`. Names are never written to the event files."),
        SettingSection(
            "output", OutputKey.allCases,
            "The event files: JSON Lines, which are also the queue to the broker."),
        SettingSection(
            "mqtt", MQTTKey.allCases, "The MQTT broker. Without this section, events are only written to files."),
        SettingSection(
            "mqtt.tls", TLSKey.allCases, "TLS with settings, instead of `tls: true`."),
        SettingSection(
            "serve", ServeKey.allCases,
            "The web server `beacon-gateway serve`, which is a program of its own. The daemon itself has no network server."
        ),
        SettingSection(
            "serve.tls", ServeTLSKey.allCases,
            "The certificate of `serve`, which then uses TLS 1.2 or 1.3. Both files are read again on SIGHUP."),
    ]

    /// The syntax of types that several settings have.
    package static let types: [(name: String, text: String)] = [
        ("duration", "a number and a unit, `ms`, `s`, `m`, `h` or `d`: `500ms`, `30s`, `1.5s`, `2m`, `1h`, `1d`"),
        ("size", "a number and a unit, `B`, `kB`, `MB`, `GB`, `TB` or `KiB`, `MiB`, `GiB`, `TiB`: `64MiB`, `2GiB`"),
        ("name", "1 to 128 bytes without `/`, `+`, `#` and control characters"),
        ("path", "absolute, starting with `/`"),
        ("UUID", "32 hexadecimal digits, with all four hyphens or none"),
    ]
}
