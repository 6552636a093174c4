internal import BeaconMonitoring

/// Every setting of the file: what `docs/configuration.md` and the manual page gateway.yaml(5) are made of.
package enum SettingTable {
    /// The sections in the order in which they are explained.
    package static let sections: [SettingSection] = [
        SettingSection(
            "", RootKey.allCases,
            "A YAML file of maps; only `conditions`, or `monitors`, is required. Quotation marks are never needed for a "
                + "value's own sake: `no`, `1e10`, `010` and a UUID of digits alone stay what they are. Anchors, aliases, "
                + "tags, merge keys and second documents are mistakes."),
        SettingSection("gateway", GatewayKey.allCases, "What the gateway is called."),
        SettingSection("scanner", ScannerKey.allCases, "How advertising reports are got hold of."),
        SettingSection(
            "scanner.canary", CanaryKey.allCases,
            "A beacon that is always there: while it is heard, the adapters hear (rule L5)."),
        SettingSection(
            "location", LocationKey.allCases,
            "Where the gateway's own position comes from; only where conditions with a `center` are monitored. Without "
                + "it such conditions are `unmonitored` (rule C5)."),
        SettingSection(
            "ranging", RangingKey.allCases,
            "How distances are guessed, where `ranging` is set below and in `beacon-gateway scan`."),
        SettingSection(
            "monitor", MonitoringPlace.monitor.keys,
            "The monitor. Each condition can override the settings from `exit_timeout` to `ranging`; the others belong "
                + "to the monitor alone."),
        SettingSection(
            "conditions", MonitoringPlace.condition.keys.filter { !MonitoringPlace.monitor.keys.contains($0) },
            "What is monitored: a list of beacon conditions (`uuid`, with `major`, with `minor`) and circles (`center` "
                + "and `radius`). Each entry can also override the monitor's "
                + MonitoringPlace.condition.keys.filter(MonitoringPlace.monitor.keys.contains).map { "`\($0.name)`" }
                .joined(separator: ", ") + "."),
        SettingSection(
            "monitors", MonitoringPlace.listedMonitor.keys.filter { !MonitoringPlace.monitor.keys.contains($0) },
            "Several monitors, in place of `monitor` and `conditions`: a list, each entry a map of what stands under "
                + "`monitor`, with `conditions` of its own. `deaf_after`, `condition_limit`, `max_beacons` and "
                + "`max_new_beacons` hold for the whole gateway and must not differ; names, and identifiers over all of "
                + "them, are unique."),
        SettingSection(
            "beacons", BeaconsKey.allCases,
            "The beacons that have names, at most \(BeaconNames.countMost): they never lose their place to others (rule "
                + "P4). A list, or a map with `file` alone. A name never stands in the event files."),
        SettingSection(
            "output", OutputKey.allCases,
            "Where events go: files of JSON lines, which are the queue to the broker as well."),
        SettingSection("mqtt", MQTTKey.allCases, "The broker. Without it there are files only."),
        SettingSection(
            "mqtt.tls", TLSKey.allCases, "How the connection is protected, in place of `tls: true`, and TLS too."),
        SettingSection(
            "serve", ServeKey.allCases,
            "Where `beacon-gateway serve` shows who is here, to whom. The daemon does not listen anywhere; that is a program of its own."
        ),
        SettingSection(
            "serve.tls", ServeTLSKey.allCases,
            "Whom `serve` shows itself as: it speaks TLS 1.2 and 1.3 then. Both files are read again on SIGHUP."),
    ]

    /// How the types are written that several settings have.
    package static let types: [(name: String, text: String)] = [
        ("duration", "a number and a unit, `ms`, `s`, `m`, `h` or `d`: `500ms`, `30s`, `1.5s`, `2m`, `1h`, `1d`"),
        ("size", "a number and a unit, `B`, `kB`, `MB`, `GB`, `TB` or `KiB`, `MiB`, `GiB`, `TiB`: `64MiB`, `2GiB`"),
        ("name", "1 to 128 octets without `/`, `+`, `#` and control characters"),
        ("path", "absolute, from `/`"),
        ("UUID", "32 hexadecimal digits, with all four hyphens or none"),
    ]
}
