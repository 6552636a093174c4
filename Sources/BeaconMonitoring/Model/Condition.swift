public import BluetoothLE

/// A condition that a monitor evaluates. Each change of its state is an event.
///
///     try await monitor.add(.beacon(uuid: uuid, major: 1), identifier: "visitors")
///     try await monitor.add(.circle(latitude: 50, longitude: 8, radius: 200), identifier: "pier")
public enum Condition: Sendable, Hashable {
    /// A beacon with the given numbers is in range.
    case beacon(BeaconMonitor.BeaconIdentityCondition)
    /// This gateway is inside a circle on the Earth.
    case circle(BeaconMonitor.CircularGeographicCondition)

    /// Whether it is evaluated with fixes of a position instead of sightings.
    package var isCircle: Bool {
        switch self {
        case .beacon: false
        case .circle: true
        }
    }

    // MARK: Convenience

    // Short forms of the usual conditions: `add(.beacon(uuid: staff), identifier: "near")`.

    /// Returns the condition that matches all beacons with `uuid`.
    public static func beacon(uuid: ProximityUUID) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid))
    }

    /// Returns the condition that matches all beacons with `uuid` and `major`.
    public static func beacon(uuid: ProximityUUID, major: UInt16) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major))
    }

    /// Returns the condition that matches the beacon with `uuid`, `major` and `minor`.
    public static func beacon(uuid: ProximityUUID, major: UInt16, minor: UInt16) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major, minor: minor))
    }

    /// Returns the condition that matches exactly `beacon`, for example the refinement of an event.
    ///
    ///     if let badge = event.refinement {
    ///         try await monitor.add(.beacon(matching: badge), identifier: "visitor", assuming: .satisfied)
    ///     }
    public static func beacon(matching beacon: BeaconIdentity) -> Condition {
        .beacon(BeaconMonitor.BeaconIdentityCondition(beacon))
    }

    /// Returns the condition that this gateway is within `radius` metres of `center`.
    ///
    /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` unless the radius is above 0 and finite.
    public static func circle(center: Coordinate, radius: Double) throws(MonitorError) -> Condition {
        .circle(try BeaconMonitor.CircularGeographicCondition(center: center, radius: radius))
    }

    /// Returns the condition that this gateway is within `radius` metres of a place in degrees.
    ///
    /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` if a number is out of range or not finite.
    public static func circle(
        latitude: Double, longitude: Double, radius: Double
    ) throws(MonitorError) -> Condition {
        .circle(
            try BeaconMonitor.CircularGeographicCondition(latitude: latitude, longitude: longitude, radius: radius))
    }
}
