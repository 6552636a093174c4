internal import BeaconMonitoring
internal import BluetoothLE

/// `beacons`: a list of beacons with names, or the file that has them.
extension Reader {
    mutating func beacons(_ root: Section<RootKey>, in configuration: inout Configuration) {
        guard let node = root[.beacons] else { return }
        guard document.kind(of: node) != .mapping else {
            let section = section(BeaconsKey.self, at: node, path: "beacons")
            for key in BeaconsKey.allCases where key != .file {
                guard let value = section[key] else { continue }
                errors.report(
                    at: document.offset(of: value - 1), "beacons.\(key.name) is not allowed here",
                    hint: "write a list: - {\(key.name): …}")
            }
            if section[.file] == nil, section.node != nil, !document.nodes[node].isOpen {
                errors.report(
                    at: document.offset(of: node), "beacons is a map without file",
                    hint: "add file: and its path, or write a list")
            }
            guard case .value(let path, let offset) = setting(.file, of: section, Self.filePath) else { return }
            configuration.beaconsFile = BeaconsFile(path: path, position: source.position(of: offset))
            return
        }
        guard let entries = list(at: node, called: "beacons", example: "- {major: 1, minor: 17, name: Ada}") else {
            return
        }
        let uuids = configuration.beaconUUIDs
        names = document.offset(of: node)
        for entry in entries {
            guard configuration.beacons.count < BeaconNames.countMost else {
                errors.report(
                    at: document.offset(of: entry), "beacons has more than \(BeaconNames.countMost) entries",
                    hint: "name only the beacons that must never lose their place")
                return
            }
            guard let beacon = namedBeacon(entry, uuids) else { continue }
            if let first = configuration.beacons.add(beacon) {
                let source = source
                errors.report(
                    at: document.offset(of: entry),
                    "this beacon already has a name at line \(source.line(of: namedBeacons[first]))",
                    hint: "remove one")
            } else {
                namedBeacons.append(document.offset(of: entry))
            }
        }
    }

    private mutating func namedBeacon(_ node: Int, _ uuids: Set<ProximityUUID>) -> NamedBeacon? {
        let section = section(
            BeaconsKey.self, at: node, path: "beacons", called: "an entry of beacons",
            refusal: { $0 == .file ? "it replaces the list" : nil })
        guard section.node != nil else { return nil }
        let uuid = setting(.uuid, of: section, ScalarSyntax.uuid)
        let major = setting(.major, of: section, Self.major)
        let minor = setting(.minor, of: section, Self.major)
        let name = setting(.name, of: section, NameSyntax.name)
        let group = setting(.group, of: section, NameSyntax.name)
        if !document.nodes[node].isOpen {
            for (key, isAbsent) in [
                (BeaconsKey.major, major.isAbsent), (.minor, minor.isAbsent), (.name, name.isAbsent),
            ]
            where isAbsent {
                errors.report(at: document.offset(of: node), "this beacon has no \(key.name)", hint: "add it")
            }
            if uuid.isAbsent, uuids.count != 1 {
                errors.report(
                    at: document.offset(of: node), "this beacon has no uuid", hint: NameSyntax.uuidHint(uuids.count))
            }
        }
        guard let major = major.value, let minor = minor.value, let name = name.value, !uuid.isInvalid,
            let uuid = uuid.value ?? (uuids.count == 1 ? uuids.first : nil)
        else { return nil }
        return NamedBeacon(BeaconIdentity(uuid: uuid, major: major, minor: minor), name: name, group: group.value)
    }

    /// Reads a path, which can be relative to the folder of the configuration.
    private static func filePath(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        guard (1...4095).contains(text.count), text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ScalarProblem("expected a path of at most 4095 bytes, such as /etc/beacon-gateway/beacons.csv")
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The syntax of names, in a list and in a file.
enum NameSyntax {
    /// Reads 1 to 128 bytes without control characters.
    static func name(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        guard (1...128).contains(text.count), text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ScalarProblem("expected 1 to 128 bytes without control characters")
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns what to do if a UUID is missing and the conditions do not all have the same.
    static func uuidHint(_ count: Int) -> String {
        count == 0
            ? "add it: no condition has one"
            : "add it: the conditions have \(count) different UUIDs, so there is no default"
    }
}

extension Configuration {
    /// The UUIDs of the conditions.
    var beaconUUIDs: Set<ProximityUUID> {
        var uuids: Set<ProximityUUID> = []
        for monitor in monitors {
            for condition in monitor.conditions {
                if case .beacon(let identity) = condition.condition { uuids.insert(identity.uuid) }
            }
        }
        return uuids
    }
}
