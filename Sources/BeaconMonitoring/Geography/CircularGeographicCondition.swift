extension BeaconMonitor {
    /// A condition on where this gateway is: within a circle on the Earth.
    ///
    /// Source: Apple, `CLCircularGeographicCondition`. WGS 84 degrees and metres.
    public struct CircularGeographicCondition: Sendable, Hashable {
        /// The point that distances are measured from, on WGS 84.
        public let center: Coordinate
        /// How far around it the circle goes, in metres: above 0.
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
}
