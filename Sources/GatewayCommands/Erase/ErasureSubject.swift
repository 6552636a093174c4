import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
package import EventLog
package import GatewayConfiguration

/// The one beacon that somebody asks to be forgotten.
package enum ErasureSubject {
    /// The beacon that `text` names: `UUID/MAJOR/MINOR`, `MAJOR/MINOR` where the conditions name one UUID, or what the
    /// configuration calls it.
    ///
    /// - Parameters:
    ///   - text: as it was given.
    ///   - configuration: what tells UUID and names; absent where there is none.
    ///   - seen: the UUIDs that the files have with a major and a minor, for where the conditions do not name just one.
    /// - Returns: the beacon.
    /// - Throws: ``ExitFailure`` where it names none, or several.
    package static func beacon(
        _ text: String, _ configuration: Configuration?,
        seen: (UInt16, UInt16) throws(ExitFailure) -> Set<ProximityUUID>? = { (_, _) throws(ExitFailure) in nil }
    ) throws(ExitFailure) -> BeaconIdentity {
        let named = configuration?.beacons.all.filter { $0.name == text } ?? []
        let numbers = numbers(text)
        if named.count == 1 {
            let beacon = named[0].beacon
            guard let numbers,
                (numbers.uuid ?? beacon.uuid, numbers.major, numbers.minor) != (beacon.uuid, beacon.major, beacon.minor)
            else { return beacon }
            // Reports take the numbers.
            throw ExitFailure(
                .usage,
                "\(text) is the name of \(beacon), and also the numbers of another beacon: "
                    + (numbers.uuid == nil ? "use UUID/MAJOR/MINOR" : "change that name"))
        }
        if named.count > 1 {
            let all = named.map { "\($0.beacon)" }.joined(separator: ", ")
            throw ExitFailure(.usage, "\(named.count) beacons have the name \(text); use one of \(all)")
        }
        guard let (uuid, major, minor) = numbers else {
            // Erased lines cannot be restored, so a part of a name is not completed.
            let lowered = text.lowercased()
            let similar = (configuration?.beacons.all ?? []).filter { $0.name.lowercased().contains(lowered) }
            let names = similar.prefix(8).map(\.name).joined(separator: ", ")
            throw ExitFailure(
                .usage,
                "\(text) is not a beacon; use UUID/MAJOR/MINOR, MAJOR/MINOR, or a name in the configuration"
                    + (names.isEmpty ? "" : "; a name must be complete and exact: \(names)"))
        }
        if let uuid { return BeaconIdentity(uuid: uuid, major: major, minor: minor) }
        let uuids = configuration.map { beaconUUIDs(of: $0) } ?? []
        guard uuids.count == 1, let uuid = uuids.first else {
            if let seen = try seen(major, minor) { return try beacon(text, major, minor, of: seen) }
            let why =
                configuration == nil
                ? "its UUID is not known without a configuration" : "the conditions have \(uuids.count) UUIDs"
            throw ExitFailure(.usage, "\(text): \(why); use UUID/\(text)")
        }
        return BeaconIdentity(uuid: uuid, major: major, minor: minor)
    }

    /// Returns the numbers that `MAJOR/MINOR` or `UUID/MAJOR/MINOR` spells; `nil` if `text` is anything else.
    private static func numbers(_ text: String) -> (uuid: ProximityUUID?, major: UInt16, minor: UInt16)? {
        guard let filter = BeaconFilter(text), let major = filter.major, let minor = filter.minor else { return nil }
        return (filter.uuid, major, minor)
    }

    /// The one beacon of those that the files name so.
    private static func beacon(
        _ text: String, _ major: UInt16, _ minor: UInt16, of uuids: Set<ProximityUUID>
    ) throws(ExitFailure) -> BeaconIdentity {
        guard let uuid = uuids.first else { throw ExitFailure(.dataInvalid, "no line contains the beacon \(text)") }
        guard uuids.count == 1 else {
            let beacons = uuids.map { "\(BeaconIdentity(uuid: $0, major: major, minor: minor))" }
            let all = beacons.sorted().prefix(8).joined(separator: ", ")
            throw ExitFailure(.usage, "\(text): the files have \(uuids.count) such beacons; use one of \(all)")
        }
        return BeaconIdentity(uuid: uuid, major: major, minor: minor)
    }

    /// The identifiers of the conditions that are the very beacon.
    package static func conditions(that request: ErasureRequest, of configuration: Configuration?) -> [String] {
        (configuration?.monitors.flatMap(\.conditions) ?? []).filter { request.isExactly($0.condition) }
            .map(\.identifier.text)
    }

    private static func beaconUUIDs(of configuration: Configuration) -> Set<ProximityUUID> {
        Set(
            configuration.monitors.flatMap(\.conditions).compactMap {
                guard case .beacon(let identity) = $0.condition else { return nil }
                return identity.uuid
            })
    }
}
