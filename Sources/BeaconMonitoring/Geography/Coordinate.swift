/// A place on the Earth, on the WGS 84 ellipsoid.
public struct Coordinate: Sendable, Hashable {
    /// Degrees north, −90 … 90.
    public let latitude: Double
    /// Degrees east, −180 … 180.
    public let longitude: Double

    /// The place at so many degrees north and east.
    ///
    /// - Throws: ``MonitorError/coordinateInvalid(latitude:longitude:)`` where a number is out of range or not finite.
    public init(latitude: Double, longitude: Double) throws(MonitorError) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
            throw .coordinateInvalid(latitude: latitude, longitude: longitude)
        }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// A place that was computed: moved to the nearest bound where rounding took it out of them.
    init(computedLatitude latitude: Double, longitude: Double) {
        self.latitude = min(max(latitude, -90), 90)
        self.longitude = min(max(longitude, -180), 180)
    }

    /// How far it is to another place, in metres, along the shortest line on the ellipsoid.
    public func distance(to other: Coordinate) -> Double { Ellipsoid.wgs84.inverse(self, other).distance }

    /// The direction in which that line begins, in degrees clockwise from north, 0 ..< 360; 0 where both are one place.
    public func azimuth(to other: Coordinate) -> Double {
        let azimuth = Ellipsoid.wgs84.inverse(self, other).azimuth
        return azimuth < 0 ? azimuth + 360 : azimuth
    }

    /// The place at the end of a line that begins here in the direction `azimuth` (degrees clockwise from north) and is
    /// `distance` metres long.
    public func destination(azimuth: Double, distance: Double) -> Coordinate {
        Ellipsoid.wgs84.direct(self, azimuth: azimuth, distance: distance)
    }

    /// The place on the way to another that `fraction` of the way is behind; 0 is here, 1 there.
    public func interpolated(to other: Coordinate, fraction: Double) -> Coordinate {
        if fraction <= 0 || self == other { return self }
        if fraction >= 1 { return other }
        let line = Ellipsoid.wgs84.inverse(self, other)
        return Ellipsoid.wgs84.direct(self, azimuth: line.azimuth, distance: line.distance * fraction)
    }
}
