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
}
