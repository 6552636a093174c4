public import BluetoothLE

/// What is monitored: something that holds or does not, which an event tells when it changes.
public enum Condition: Sendable, Hashable {
    /// That a beacon with the given numbers is in range.
    case beacon(BeaconMonitor.BeaconIdentityCondition)
    /// That this gateway itself is within a circle on the ground.
    case circle(BeaconMonitor.CircularGeographicCondition)

    /// Whether fixes of a position decide about it, and not sightings.
    package var isCircle: Bool {
        switch self {
        case .beacon: false
        case .circle: true
        }
    }

    // MARK: Making

    // The usual conditions in few words: `add(.beacon(uuid: staff), identifier: "near")`.

    /// Every beacon with `uuid`.
    public static func beacon(uuid: ProximityUUID) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid))
    }

    /// Every beacon with `uuid` and `major`.
    public static func beacon(uuid: ProximityUUID, major: UInt16) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major))
    }

    /// The one beacon with `uuid`, `major` and `minor`.
    public static func beacon(uuid: ProximityUUID, major: UInt16, minor: UInt16) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major, minor: minor))
    }

    /// This gateway's place within `radius` metres of `center`.
    ///
    /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` where the radius is not above 0 and finite.
    public static func circle(center: Coordinate, radius: Double) throws(MonitorError) -> Condition {
        .circle(try BeaconMonitor.CircularGeographicCondition(center: center, radius: radius))
    }

    /// This gateway's place within `radius` metres of a place given in degrees.
    ///
    /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` where a number is out of range or not finite.
    public static func circle(
        latitude: Double, longitude: Double, radius: Double
    ) throws(MonitorError) -> Condition {
        .circle(
            try BeaconMonitor.CircularGeographicCondition(latitude: latitude, longitude: longitude, radius: radius))
    }
}
