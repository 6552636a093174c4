/// What is monitored.
public enum Condition: Sendable, Hashable {
    /// Beacons in range.
    case beacon(BeaconMonitor.BeaconIdentityCondition)
    /// This gateway's own place.
    case circle(BeaconMonitor.CircularGeographicCondition)

    /// Whether it is a circle.
    package var isCircle: Bool {
        switch self {
        case .beacon: false
        case .circle: true
        }
    }
}
