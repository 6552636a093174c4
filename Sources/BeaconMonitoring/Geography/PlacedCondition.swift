/// A condition that should be monitored only while this gateway is near a place.
public struct PlacedCondition: Sendable, Hashable {
    /// The condition to monitor.
    public let wanted: MonitorSetup.Condition
    /// The circle around the place of the condition. The distance to it decides whether the place is near.
    public let place: BeaconMonitor.CircularGeographicCondition

    /// Creates a condition on a circle, whose place is the same circle.
    /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` if the identifier is invalid (rule C6).
    public init(
        _ circle: BeaconMonitor.CircularGeographicCondition, identifier: String,
        assuming: BeaconMonitor.Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        wanted = try MonitorSetup.Condition(
            .circle(circle), identifier: identifier, assuming: assuming, settings: settings)
        place = circle
    }

    /// Creates a condition on beacons at a known place.
    /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` if the identifier is invalid (rule C6).
    public init(
        _ beacons: BeaconMonitor.BeaconIdentityCondition, at place: BeaconMonitor.CircularGeographicCondition,
        identifier: String,
        assuming: BeaconMonitor.Event.State = .unknown, settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        wanted = try MonitorSetup.Condition(
            .beacon(beacons), identifier: identifier, assuming: assuming, settings: settings)
        self.place = place
    }

    /// Returns the distance to the edge of the place in metres; negative inside of it.
    ///
    /// The edge is used instead of the centre, because a large place can be near although its centre is far away.
    public func distance(from position: Coordinate) -> Double {
        position.distance(to: place.center) - place.radius
    }

    /// Returns a lower bound of ``distance(from:)`` that needs little computation.
    func distanceMinimum(from position: Coordinate) -> Double {
        let difference = position.latitude - place.center.latitude
        // The 1 mm covers the errors of the exact formula (0.5 mm) and of rounding.
        return Ellipsoid.wgs84.distanceMinimum(latitudes: difference) - place.radius - 0.001
    }
}
