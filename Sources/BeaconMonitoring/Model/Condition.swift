public import BluetoothLE

/// A condition on a beacon's identity: every beacon with the UUID, or with the major, or with the minor too.
///
/// Source: Apple, `CLBeaconIdentityCondition`. A minor needs a major, so there are three ways to make one and no fourth.
public struct BeaconIdentityCondition: Sendable, Hashable {
    /// The UUID that a beacon must have.
    public let uuid: ProximityUUID
    /// The major that it must have; any where absent.
    public let major: UInt16?
    /// The minor that it must have; any where absent.
    public let minor: UInt16?

    /// Every beacon with `uuid`.
    public init(uuid: ProximityUUID) {
        self.uuid = uuid
        major = nil
        minor = nil
    }

    /// Every beacon with `uuid` and `major`.
    public init(uuid: ProximityUUID, major: UInt16) {
        self.uuid = uuid
        self.major = major
        minor = nil
    }

    /// The one beacon with `uuid`, `major` and `minor`.
    public init(uuid: ProximityUUID, major: UInt16, minor: UInt16) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
    }

    /// Whether `beacon` has what the condition asks for.
    public func matches(_ beacon: BeaconIdentity) -> Bool {
        uuid == beacon.uuid && (major == nil || major == beacon.major) && (minor == nil || minor == beacon.minor)
    }
}

/// A condition on where this gateway is: within a circle on the Earth.
///
/// Source: Apple, `CLCircularGeographicCondition`. WGS 84 degrees and metres.
public struct CircularGeographicCondition: Sendable, Hashable {
    /// The middle.
    public let center: Coordinate
    /// Metres, above 0.
    public let radius: Double

    /// Degrees north of the middle, −90 … 90.
    public var latitude: Double { center.latitude }
    /// Degrees east of the middle, −180 … 180.
    public var longitude: Double { center.longitude }

    /// Makes a circle.
    /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` where the radius is not above 0 and finite.
    public init(center: Coordinate, radius: Double) throws(MonitorError) {
        guard radius > 0, radius.isFinite else {
            throw .circleInvalid(latitude: center.latitude, longitude: center.longitude, radius: radius)
        }
        self.center = center
        self.radius = radius
    }

    /// Makes a circle of degrees and metres.
    /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` where a number is out of range or not finite.
    public init(latitude: Double, longitude: Double, radius: Double) throws(MonitorError) {
        guard let center = try? Coordinate(latitude: latitude, longitude: longitude) else {
            throw .circleInvalid(latitude: latitude, longitude: longitude, radius: radius)
        }
        try self.init(center: center, radius: radius)
    }
}

/// What is monitored.
public enum Condition: Sendable, Hashable {
    /// Beacons in range.
    case beacon(BeaconIdentityCondition)
    /// This gateway's own place.
    case circle(CircularGeographicCondition)

    /// Whether it is a circle.
    package var isCircle: Bool {
        switch self {
        case .beacon: false
        case .circle: true
        }
    }
}
