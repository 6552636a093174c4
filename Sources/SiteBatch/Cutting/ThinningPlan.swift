package import BluetoothLE

/// Which sightings may be told together, by what a site's conditions ask for.
///
/// A sighting does one of three things to a condition that it matches: it could let a subject in and would keep it (rules E2,
/// X1), neither, or it would only keep one who is in. The last kind is told one by one, since somebody may enter in between
/// by another gateway. Of the others those that do the same to each condition make a run: an engine that is given the first,
/// the last and what lay between them decides what it had decided of all, to the microsecond, and counts the same (rule P3).
package struct ThinningPlan: Sendable, Hashable {
    /// What is asked of beacons.
    package struct Condition: Sendable, Hashable {
        /// The UUID that they have.
        package var uuid: ProximityUUID
        /// The major, where it is asked for.
        package var major: UInt16?
        /// The minor, where it is asked for.
        package var minor: UInt16?
        /// How many sightings an entry needs (rule E1).
        package var enterCount = 1
        /// What they need to qualify (rule E2).
        package var enterRSSI: RSSI?
        /// What they need to refresh (rule X1).
        package var exitRSSI: RSSI?
        /// The silence after which one has left (rule X2).
        package var exitTimeout = Duration.seconds(30)
        /// Whether something else is made of each sighting, such as a place.
        package var wantsAll = false

        /// Of a deployment's beacons, with the defaults of a condition.
        package init(uuid: ProximityUUID, major: UInt16? = nil, minor: UInt16? = nil) {
            self.uuid = uuid
            self.major = major
            self.minor = minor
        }

        func matches(_ beacon: BeaconIdentity) -> Bool {
            uuid == beacon.uuid && (major ?? beacon.major) == beacon.major && (minor ?? beacon.minor) == beacon.minor
        }

        // A run is not longer than a second, and nobody may leave in one (rule X2).
        var isWhole: Bool { wantsAll || enterCount > 1 || exitTimeout < BatchBounds.runTime }

        /// What a sighting of that strength does; absent for one that is told by itself.
        func enters(at strength: Int) -> Bool? {
            let qualifies = enterRSSI.map { strength >= Int($0.dBm) } ?? true
            let refreshes = exitRSSI.map { strength >= Int($0.dBm) } ?? true
            return qualifies == refreshes ? qualifies : nil
        }
    }

    /// What the site asks for.
    package let conditions: [Condition]

    /// By all conditions of a site. Where one is missing, what it decides may not be what it had decided of all.
    package init(_ conditions: [Condition]) { self.conditions = conditions }

    /// How a beacon's sightings are told: by the octet of an RSSI which run one belongs to, absent for one that is told by
    /// itself.
    func levels(of beacon: BeaconIdentity) -> [UInt16?] {
        let matching = conditions.filter { $0.matches(beacon) }
        guard !matching.contains(where: \.isWhole) else { return Array(repeating: nil, count: 256) }
        return (0..<256).map { octet in
            // An absent RSSI never reaches a threshold (rule E2).
            let strength = RSSI(reported: UInt8(octet)).map { Int($0.dBm) } ?? Int.min
            var level: UInt16 = 0
            for condition in matching {
                guard let enters = condition.enters(at: strength) else { return nil }
                // What is stronger enters no fewer, so their number says which.
                if enters, level < .max { level += 1 }
            }
            return level
        }
    }
}
