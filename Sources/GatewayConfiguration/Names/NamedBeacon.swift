public import BluetoothLE

/// A beacon with a name (rule P4).
public struct NamedBeacon: Sendable, Hashable {
    /// The identity of the beacon: UUID, major and minor.
    public var beacon: BeaconIdentity
    /// The name: 1 to 128 bytes without control characters. Several beacons can have the same name, for example two
    /// badges of one person.
    public var name: String
    /// The name of its group; `nil` if it has none.
    public var group: String?

    /// Creates a beacon with a name and an optional group.
    public init(_ beacon: BeaconIdentity, name: String, group: String? = nil) {
        self.beacon = beacon
        self.name = name
        self.group = group
    }
}

/// The beacons with names. Each beacon occurs once.
public struct BeaconNames: Sendable, Hashable {
    /// The maximum number of beacons with names.
    public static let countMost = 100_000

    /// All beacons with names, in the order of the file.
    public private(set) var all: [NamedBeacon] = []
    private var places: [BeaconIdentity: Int32] = [:]

    /// Creates an empty list.
    public init() {}

    /// The number of beacons with names.
    public var count: Int { all.count }

    /// The identities of the beacons, which decide (rule P4).
    public var beacons: Set<BeaconIdentity> { Set(places.keys) }

    /// Returns the name of a beacon; `nil` if it has none.
    public subscript(beacon: BeaconIdentity) -> NamedBeacon? { places[beacon].map { all[Int($0)] } }

    /// Adds a beacon.
    /// - Returns: the index in ``all`` if the beacon already has a name; nothing has changed then. Otherwise `nil`.
    mutating func add(_ beacon: NamedBeacon) -> Int? {
        if let place = places[beacon.beacon] { return Int(place) }
        places[beacon.beacon] = Int32(truncatingIfNeeded: all.count)
        all.append(beacon)
        return nil
    }
}

/// The file with the names.
public struct BeaconsFile: Sendable, Hashable {
    /// The path; relative to the folder of the configuration if it does not start with `/`.
    public var path: String
    /// The place of the setting in the configuration.
    public var position: Position
}
