/// A place on the Earth, on the WGS 84 ellipsoid.
///
///     let here = try Coordinate(latitude: 50, longitude: 8)
///     let there = here.destination(azimuth: 90, distance: 1000)
///     #expect(abs(here.distance(to: there) - 1000) < 0.001)
public struct Coordinate: Sendable, Hashable {
    /// Degrees north, −90 … 90.
    public let latitude: Double
    /// Degrees east, −180 … 180.
    public let longitude: Double

    /// Creates a place from degrees.
    ///
    /// - Throws: ``MonitorError/coordinateInvalid(latitude:longitude:)`` if a number is out of range or not finite.
    public init(latitude: Double, longitude: Double) throws(MonitorError) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
            throw .coordinateInvalid(latitude: latitude, longitude: longitude)
        }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Creates a computed place. Rounding can exceed the bounds; such values are moved to the nearest bound.
    init(computedLatitude latitude: Double, longitude: Double) {
        self.latitude = min(max(latitude, -90), 90)
        self.longitude = min(max(longitude, -180), 180)
    }

    /// Returns the distance to another place in metres, along the shortest line on the ellipsoid. Its error is below
    /// 0.5 mm unless the places are nearly antipodal.
    public func distance(to other: Coordinate) -> Double { Ellipsoid.wgs84.inverse(self, other).distance }

    /// Returns the direction at the start of that line, in degrees clockwise from north, 0 ..< 360; 0 if both places
    /// are equal.
    public func azimuth(to other: Coordinate) -> Double {
        let azimuth = Ellipsoid.wgs84.inverse(self, other).azimuth
        return azimuth < 0 ? azimuth + 360 : azimuth
    }

    /// Follows a line that starts here.
    ///
    /// - Parameters:
    ///   - azimuth: the direction at the start, in degrees clockwise from north.
    ///   - distance: the length in metres.
    /// - Returns: the end of the line.
    public func destination(azimuth: Double, distance: Double) -> Coordinate {
        Ellipsoid.wgs84.direct(self, azimuth: azimuth, distance: distance)
    }

    /// Returns a place on the shortest line to another place. `fraction` is the part of the distance: 0 is this place,
    /// 1 the other. Values outside 0…1 count as 0 or 1.
    public func interpolated(to other: Coordinate, fraction: Double) -> Coordinate {
        if fraction <= 0 || self == other { return self }
        if fraction >= 1 { return other }
        let line = Ellipsoid.wgs84.inverse(self, other)
        return Ellipsoid.wgs84.direct(self, azimuth: line.azimuth, distance: line.distance * fraction)
    }
}
