internal import BeaconMonitoring

/// A warning about the names of beacons.
struct NameWarning {
    /// The place of a warning.
    enum Place {
        /// At the start of the names.
        case names
        /// At the beacon with this index in the names.
        case beacon(Int)
        /// At a condition.
        case condition(Position)
    }

    let place: Place
    let message: String
    let hint: String
}

extension Configuration {
    // The number of names or conditions that a warning lists.
    private static let namesListed = 8

    /// Warnings about names without an effect, too many names, and conditions that need names that are missing; at most
    /// one of each kind.
    var nameWarnings: [NameWarning] {
        var warnings: [NameWarning] = []
        if beacons.count > engine.maxBeacons {
            warnings.append(
                NameWarning(
                    place: .names,
                    message: "\(beacons.count) beacons have names, but max_beacons is \(engine.maxBeacons)",
                    hint: "if all are present, some are not tracked; raise max_beacons"))
        }
        // A file without conditions has a warning of its own.
        guard monitors.contains(where: { !$0.conditions.isEmpty }) else { return warnings }
        if beacons.count > 0 { warnings += unusedNames }
        // There can be a million conditions, of which most track all beacons.
        var selective: [ConditionConfiguration] = []
        for monitor in monitors {
            for place in monitor.conditions.indices where monitor.conditions[place].settings.unnamed != .track {
                selective.append(monitor.conditions[place])
            }
        }
        for policy in [UnnamedBeacons.refuse, .ignore] {
            let affected = selective.filter { $0.settings.unnamed == policy && !$0.condition.isCircle }
            guard let first = affected.first else { continue }
            let dependent = affected.filter(\.settings.perBeacon)
            if dependent.isEmpty {
                warnings.append(
                    NameWarning(
                        place: .condition(first.position),
                        message: "unnamed is \(policy.rawValue), but no condition with it has per_beacon",
                        hint: "it has no effect there; set per_beacon: true, or remove it"))
            } else if let warning = missingNames(dependent, policy) {
                warnings.append(warning)
            }
        }
        return warnings
    }

    /// Named beacons that match no condition, or none with `per_beacon`.
    private var unusedNames: [NameWarning] {
        var (all, perBeacon): (Set<BeaconMonitor.BeaconIdentityCondition>, Set<BeaconMonitor.BeaconIdentityCondition>) =
            ([], [])
        for condition in monitors.lazy.flatMap(\.conditions) {
            guard case .beacon(let identity) = condition.condition else { continue }
            all.insert(identity)
            if condition.settings.perBeacon { perBeacon.insert(identity) }
        }
        let unmatched = beacons.all.indices.filter { all.isDisjoint(with: beacons.all[$0].beacon.matchingConditions) }
        var warnings: [NameWarning] = []
        if let first = unmatched.first {
            let list = unmatched.count == 1 ? "" : ": \(list(unmatched))"
            warnings.append(
                NameWarning(
                    place: .beacon(first), message: "\(named(unmatched)) no condition\(list)",
                    hint: "correct uuid, major or minor, add a condition, or remove the name"))
        }
        guard !perBeacon.isEmpty else {
            // A circle cannot have it.
            if all.isEmpty { return warnings }
            return warnings + [
                NameWarning(
                    place: .names, message: "no condition has per_beacon, so no visit shows a name",
                    hint: "set per_beacon: true, or remove the names")
            ]
        }
        let silent = beacons.all.indices.filter { place in
            let conditions = beacons.all[place].beacon.matchingConditions
            return perBeacon.isDisjoint(with: conditions) && !all.isDisjoint(with: conditions)
        }
        guard let first = silent.first else { return warnings }
        let list = silent.count == 1 ? "" : ": \(list(silent))"
        return warnings + [
            NameWarning(
                place: .beacon(first), message: "\(named(silent)) only conditions without per_beacon\(list)",
                hint: "no visit shows the name; set per_beacon: true there")
        ]
    }

    /// Returns the warning about conditions that only accept beacons with names, but match none of them.
    private func missingNames(_ conditions: [ConditionConfiguration], _ policy: UnnamedBeacons) -> NameWarning? {
        var named: Set<BeaconMonitor.BeaconIdentityCondition>?
        let missing = conditions.filter { condition in
            guard case .beacon(let identity) = condition.condition else { return false }
            if named == nil { named = Set(beacons.all.lazy.flatMap(\.beacon.matchingConditions)) }
            return !(named ?? []).contains(identity)
        }
        guard let first = missing.first else { return nil }
        let names = missing.prefix(Self.namesListed).map { Reader.shown(Array($0.identifier.text.utf8)[...]) }
        let rest = missing.count > names.count ? ", …" : ""
        let isOne = missing.count == 1
        let effect =
            policy == .refuse
            ? "all sightings are refused, so \(isOne ? "it is" : "they are") never satisfied"
            : "no beacon has its own events and visits"
        return NameWarning(
            place: .condition(first.position),
            message: "unnamed is \(policy.rawValue) for \(isOne ? "the condition" : "\(missing.count) conditions:") "
                + "\(names.joined(separator: ", "))\(rest), but no beacon with a name matches \(isOne ? "it" : "them")",
            hint: "\(effect); add names under beacons, or set unnamed: track")
    }

    private func named(_ places: [Int]) -> String {
        places.count == 1
            ? "the beacon \(Reader.shown(Array(beacons.all[places[0]].name.utf8)[...])) matches"
            : "\(places.count) beacons with names match"
    }

    private func list(_ places: [Int]) -> String {
        places.prefix(Self.namesListed).map { Reader.shown(Array(beacons.all[$0].name.utf8)[...]) }.joined(
            separator: ", ")
            + (places.count > Self.namesListed ? ", …" : "")
    }
}
