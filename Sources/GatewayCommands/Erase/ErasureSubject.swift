import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
package import EventLog
package import GatewayConfiguration

/// Finds the beacon to erase.
package enum ErasureSubject {
    /// Returns the beacon that `text` names. The text is `UUID/MAJOR/MINOR`, a name in the configuration, or
    /// `MAJOR/MINOR` if the conditions have one UUID or `seen` returns one.
    ///
    /// - Parameters:
    ///   - text: the argument of the command.
    ///   - configuration: the source of the UUID and the names; `nil` if there is none.
    ///   - seen: returns the UUIDs that the files have with a major and a minor, or `nil` if no files were given. It is
    ///     called if the conditions do not have exactly one UUID.
    /// - Returns: the beacon.
    /// - Throws: ``ExitFailure`` if the text names no beacon, or several.
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
            // Reports read this text as numbers, so this command must not use it as a name.
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

    /// Returns the only beacon in the files with this major and minor.
    ///
    /// - Throws: ``ExitFailure`` if the files have no such beacon, or several.
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

    /// Returns the identifiers of the conditions that match exactly the beacon of the request.
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
