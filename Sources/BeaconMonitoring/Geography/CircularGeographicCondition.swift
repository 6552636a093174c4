extension BeaconMonitor {
    /// A condition that is satisfied while this gateway is inside a circle on the Earth.
    ///
    /// Source: Apple, `CLCircularGeographicCondition`. WGS 84 degrees and metres.
    ///
    ///     let pier = try BeaconMonitor.CircularGeographicCondition(latitude: 50, longitude: 8, radius: 200)
    ///     try await monitor.add(.circle(pier), identifier: "pier")
    public struct CircularGeographicCondition: Sendable, Hashable {
        /// The centre of the circle, on WGS 84.
        public let center: Coordinate
        /// The radius in metres, above 0.
        public let radius: Double

        /// The latitude of the centre in degrees north, −90 … 90.
        public var latitude: Double { center.latitude }
        /// The longitude of the centre in degrees east, −180 … 180.
        public var longitude: Double { center.longitude }

        /// Creates a circle.
        /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` unless the radius is above 0 and
        ///   finite.
        public init(center: Coordinate, radius: Double) throws(MonitorError) {
            guard radius > 0, radius.isFinite else {
                throw .circleInvalid(latitude: center.latitude, longitude: center.longitude, radius: radius)
            }
            self.center = center
            self.radius = radius
        }

        /// Creates a circle from degrees and metres.
        /// - Throws: ``MonitorError/circleInvalid(latitude:longitude:radius:)`` if a number is out of range or not
        ///   finite.
        public init(latitude: Double, longitude: Double, radius: Double) throws(MonitorError) {
            guard let center = try? Coordinate(latitude: latitude, longitude: longitude) else {
                throw .circleInvalid(latitude: latitude, longitude: longitude, radius: radius)
            }
            try self.init(center: center, radius: radius)
        }
    }
}
