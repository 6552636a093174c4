import BeaconMonitoring
import GatewayConfiguration

/// The effect of reading the configuration of a running gateway again: the settings to apply, those that must wait for
/// a restart, and the differences (rule C2).
struct ConfigurationChange {
    private let old: Configuration
    /// The configuration to run: the new one, except for the settings that a running gateway cannot change.
    let wanted: Configuration
    /// The settings that a running gateway cannot change, each with a remedy.
    let refusals: [String]
    /// The settings of scanning that must wait for a restart because scanning cannot be started again, each with the
    /// reason.
    let postponed: [String]
    private let scanningStays: Bool

    /// Compares two configurations.
    ///
    /// - Parameters:
    ///   - old: the running configuration.
    ///   - new: the configuration in the file.
    ///   - gateway: the name of the running gateway.
    ///   - reason: why scanning cannot be started again, so that its settings must stay; `nil` if it can.
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
            // A gateway that scans must continue to scan.
            if new.scanner != old.scanner { kept.append("scanner") }
            if new.engine.deafAfter != old.engine.deafAfter { kept.append("deaf_after") }
            wanted.scanner = old.scanner
            wanted.engine.deafAfter = old.engine.deafAfter
        }
        postponed = kept.map { "\($0) changed in the file; \(reason ?? ""): \(remedy)" }
        self.wanted = wanted
    }

    /// Whether settings have changed that an engine cannot change after it was created.
    var needsNewEngine: Bool {
        old.engine != wanted.engine || old.location?.name != wanted.location?.name
            || old.monitors.map(\.settings) != wanted.monitors.map(\.settings)
            || old.monitors.map(\.name) != wanted.monitors.map(\.name)
    }

    /// Whether scanning must be started again, because its settings or those of the engine have changed.
    var restartsScanning: Bool { !scanningStays && (old.scanner != wanted.scanner || old.engine != wanted.engine) }

    /// Whether the location source must be started again: its settings have changed, the first circle was added, or the
    /// last one was removed.
    var restartsLocation: Bool {
        old.location != wanted.location || old.monitorsCircles != wanted.monitorsCircles
    }

    /// Returns the differences, for operators.
    ///
    /// - Parameter file: the name of the configuration.
    /// - Returns: a line for the named beacons if they have changed, and a line for the conditions, also if none has
    ///   changed.
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
    /// Returns whether the other condition is the same, whatever its place in the file. `assuming` is not compared
    /// (rule C2).
    func isSame(as other: Self) -> Bool {
        condition == other.condition && settings == other.settings && ranging == other.ranging
    }
}
