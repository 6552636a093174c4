/// A condition that is worth monitoring where this gateway is near its place.
public struct PlacedCondition: Sendable, Hashable {
    /// What is to be monitored then.
    public let wanted: MonitorSetup.Condition
    /// The circle around where that may be monitored; its distance decides who is near.
    public let place: BeaconMonitor.CircularGeographicCondition

    /// A circle, whose place is the circle itself.
    /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` where the text can't be an identifier (rule C6).
    public init(
        _ circle: BeaconMonitor.CircularGeographicCondition, identifier: String,
        assuming: BeaconMonitor.Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        wanted = try MonitorSetup.Condition(
            .circle(circle), identifier: identifier, assuming: assuming, settings: settings)
        place = circle
    }

    /// Beacons that are known to be at a place.
    /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` where the text can't be an identifier (rule C6).
    public init(
        _ beacons: BeaconMonitor.BeaconIdentityCondition, at place: BeaconMonitor.CircularGeographicCondition,
        identifier: String,
        assuming: BeaconMonitor.Event.State = .unknown, settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        wanted = try MonitorSetup.Condition(
            .beacon(beacons), identifier: identifier, assuming: assuming, settings: settings)
        self.place = place
    }

    /// How far it is to the edge of the place, in metres; less than 0 inside of it.
    ///
    /// To the edge, not to the middle: a town that begins behind the next bend is nearer than a house two streets off.
    public func distance(from position: Coordinate) -> Double {
        position.distance(to: place.center) - place.radius
    }

    /// No more than ``distance(from:)``, and computed at once.
    func distanceMinimum(from position: Coordinate) -> Double {
        let difference = position.latitude - place.center.latitude
        // The formula for the distance is exact to half a millimetre, this one to rounding.
        return Ellipsoid.wgs84.distanceMinimum(latitudes: difference) - place.radius - 0.001
    }
}
