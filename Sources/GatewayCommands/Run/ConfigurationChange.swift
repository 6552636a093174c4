import BeaconMonitoring
import GatewayConfiguration

/// What becomes of a running gateway whose configuration was read again: what it can apply, what waits for a restart, and
/// what is different then (rule C2).
struct ConfigurationChange {
    private let old: Configuration
    /// What is to run: the new configuration, but for what a running gateway can't change.
    let wanted: Configuration
    /// What it can't change, each with what to do.
    let refusals: [String]
    /// What of the scan has to wait, where that can't be begun anew, each with why.
    let postponed: [String]
    private let scanningStays: Bool

    /// - Parameters:
    ///   - old: what runs.
    ///   - new: what was read.
    ///   - gateway: what the running gateway is called.
    ///   - reason: why the scan can't be begun anew, so that it stays as it is; absent where it can.
    init(
        from old: Configuration, to new: Configuration, gateway: Identifier, scanningStaysBecause reason: String? = nil
    ) {
        self.old = old
        var wanted = new
        wanted.output = old.output
        wanted.mqtt = old.mqtt
        wanted.gatewayName = old.gatewayName
        var refused: [String] = []
        if let name = new.gatewayName, name != gateway { refused.append("gateway.name") }
        if new.output != old.output { refused.append("output") }
        if new.mqtt != old.mqtt { refused.append("mqtt") }
        if old.monitors.map(\.name) != new.monitors.map(\.name) { refused.append("the names of monitors") }
        let remedy = "it takes effect with `systemctl restart beacon-gateway`"
        refusals = refused.map { "\($0) changed in the file; \(remedy)" }
        scanningStays = reason != nil
        var kept: [String] = []
        if reason != nil {
            // A gateway that hears goes on hearing.
            if new.scanner != old.scanner { kept.append("scanner") }
            if new.engine.deafAfter != old.engine.deafAfter { kept.append("deaf_after") }
            wanted.scanner = old.scanner
            wanted.engine.deafAfter = old.engine.deafAfter
        }
        postponed = kept.map { "\($0) changed in the file; \(reason ?? ""): \(remedy)" }
        self.wanted = wanted
    }

    /// Whether settings changed that an engine has from its beginning.
    var needsNewEngine: Bool {
        old.engine != wanted.engine || old.location?.name != wanted.location?.name
            || old.monitors.map(\.settings) != wanted.monitors.map(\.settings)
            || old.monitors.map(\.name) != wanted.monitors.map(\.name)
    }

    /// Whether it is heard in another way, or by other adapters.
    var restartsScanning: Bool { !scanningStays && (old.scanner != wanted.scanner || old.engine != wanted.engine) }

    /// Whether the gateway knows in another way where it is.
    var restartsLocation: Bool {
        old.location != wanted.location || old.monitorsCircles != wanted.monitorsCircles
    }

    /// What is different, for operators, a line each.
    ///
    /// - Parameter file: what the configuration is called.
    /// - Returns: the lines; one says that no condition is different, where none is.
    func words(for file: String) -> [String] {
        var lines: [String] = []
        if old.beacons != wanted.beacons {
            lines.append("named beacons: \(wanted.beacons.count), before: \(old.beacons.count)")
        }
        let before = Self.conditions(of: old)
        let after = Self.conditions(of: wanted)
        let added = after.keys.filter { before[$0] == nil }
        let removed = before.keys.filter { after[$0] == nil }
        let changed = after.filter { identifier, condition in
            before[identifier].map { !$0.isSame(as: condition) } ?? false
        }
        if added.isEmpty, removed.isEmpty, changed.isEmpty {
            lines.append("\(file) was applied; no condition has changed")
        } else {
            lines.append(
                """
                \(file) was applied; conditions added: \(list(added)); changed: \(list(changed.keys)); \
                removed: \(list(removed))
                """)
        }
        return lines
    }

    private static func conditions(of configuration: Configuration) -> [Identifier: ConditionConfiguration] {
        Dictionary(
            configuration.monitors.flatMap(\.conditions).map { ($0.identifier, $0) },
            uniquingKeysWith: { first, _ in first })
    }

    private func list(_ identifiers: some Collection<Identifier>) -> String {
        guard !identifiers.isEmpty else { return "none" }
        let shown = identifiers.sorted().prefix(20).map(\.text).joined(separator: ", ")
        return identifiers.count > 20 ? "\(shown) and \(identifiers.count - 20) more" : shown
    }
}

extension ConditionConfiguration {
    /// Whether it says the same, wherever it stands; `assuming` is not compared (rule C2).
    func isSame(as other: Self) -> Bool {
        condition == other.condition && settings == other.settings && ranging == other.ranging
    }
}
