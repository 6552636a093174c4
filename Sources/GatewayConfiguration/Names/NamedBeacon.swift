public import BluetoothLE

/// A beacon that has a name (rule P4).
public struct NamedBeacon: Sendable, Hashable {
    /// What it sends: UUID, major and minor.
    public var beacon: BeaconIdentity
    /// What people call it: 1 to 128 octets without control characters. Two may be called alike: somebody's two badges.
    public var name: String
    /// Which group it belongs to, where it does: as a name.
    public var group: String?

    /// A beacon with its name, and a group where it belongs to one.
    public init(_ beacon: BeaconIdentity, name: String, group: String? = nil) {
        self.beacon = beacon
        self.name = name
        self.group = group
    }
}

/// The beacons that have names, each once.
public struct BeaconNames: Sendable, Hashable {
    /// How many beacons can have names.
    public static let countMost = 100_000

    /// All of them, in the order in which they were named.
    public private(set) var all: [NamedBeacon] = []
    private var places: [BeaconIdentity: Int32] = [:]

    /// A list without any beacon.
    public init() {}

    /// How many beacons have names.
    public var count: Int { all.count }

    /// The beacons without their names: what decides (rule P4).
    public var beacons: Set<BeaconIdentity> { Set(places.keys) }

    /// What a beacon is called; `nil` where it has no name.
    public subscript(beacon: BeaconIdentity) -> NamedBeacon? { places[beacon].map { all[Int($0)] } }

    /// Adds one.
    /// - Returns: the place among ``all`` of the one that names the same beacon already, where there is one: nothing has
    ///   changed then.
    mutating func add(_ beacon: NamedBeacon) -> Int? {
        if let place = places[beacon.beacon] { return Int(place) }
        places[beacon.beacon] = Int32(truncatingIfNeeded: all.count)
        all.append(beacon)
        return nil
    }
}

/// The file that the names are to be read from.
public struct BeaconsFile: Sendable, Hashable {
    /// Where it is; from the configuration's own folder where it does not begin with `/`.
    public var path: String
    /// Where the configuration says so.
    public var position: Position
}
