import BaseTypes

/// Every section of the file with its keys, for hints, the sample file and its test.
enum Schema {
    /// The keys of one section.
    struct Section {
        /// The path: `mqtt.tls`; empty for the top level of the file.
        let path: String
        let keys: [String]
    }

    static let sections: [Section] = [
        Section(path: "", keys: RootKey.allCases.map(\.name)),
        Section(path: "gateway", keys: GatewayKey.allCases.map(\.name)),
        Section(path: "scanner", keys: ScannerKey.allCases.map(\.name)),
        Section(path: "scanner.canary", keys: CanaryKey.allCases.map(\.name)),
        Section(path: "location", keys: LocationKey.allCases.map(\.name)),
        Section(path: "ranging", keys: RangingKey.allCases.map(\.name)),
        Section(path: "monitor", keys: MonitoringPlace.monitor.keys.map(\.name)),
        Section(path: "conditions", keys: MonitoringPlace.condition.keys.map(\.name)),
        Section(path: "monitors", keys: MonitoringPlace.listedMonitor.keys.map(\.name)),
        Section(path: "beacons", keys: BeaconsKey.allCases.map(\.name)),
        Section(path: "output", keys: OutputKey.allCases.map(\.name)),
        Section(path: "mqtt", keys: MQTTKey.allCases.map(\.name)),
        Section(path: "mqtt.tls", keys: TLSKey.allCases.map(\.name)),
        Section(path: "serve", keys: ServeKey.allCases.map(\.name)),
        Section(path: "serve.tls", keys: ServeTLSKey.allCases.map(\.name)),
    ]

    // The file never has a secret, whatever the key is called.
    private static let secrets: Set<String> = ["password", "passwd", "pass", "secret", "token", "key_password"]

    /// Returns a suggestion for an unknown key in a section with the keys `known`; `nil` if there is none.
    static func hint(for key: String, among known: [String]) -> String? {
        if secrets.contains(key.lowercased()) { return "secrets are only read from a file; set mqtt.password_file" }
        // A word that is longer than the longest key is not a typing error.
        guard key.utf8.count <= 40 else { return nil }
        let spelled = Array(key.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : lowercase($0) })
        let nearest = known.map { (name: $0, distance: editDistance(spelled, Array($0.utf8))) }
            .min { $0.distance < $1.distance }
        if let nearest, nearest.distance <= max(1, spelled.count / 3), nearest.distance < nearest.name.utf8.count {
            return "did you mean “\(nearest.name)”?"
        }
        let elsewhere = sections.filter { $0.keys.contains(key) }.map { $0.path.isEmpty ? "the top level" : $0.path }
        guard !elsewhere.isEmpty else { return known.isEmpty ? nil : "expected \(list(known))" }
        return "it belongs to \(list(elsewhere))"
    }

    /// Returns `a, b or c`.
    static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }
}
