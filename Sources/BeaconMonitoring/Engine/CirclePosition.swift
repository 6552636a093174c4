/// Where a fix lies against a circle (rule G2).
enum CirclePosition: Sendable {
    /// Within the radius, and no less accurate than it is long.
    case surelyInside
    /// Within the radius.
    case inside
    /// Beyond it, but not beyond what the fix can tell.
    case near
    /// Beyond it by more than the accuracy.
    case surelyOutside

    init(of fix: LocationFix, against circle: BeaconMonitor.CircularGeographicCondition) {
        // Most circles are far away: a difference of latitude says so without a computation of the distance.
        let ellipsoid = Ellipsoid.wgs84
        let reach = circle.radius + fix.horizontalAccuracy
        let least = ellipsoid.distanceMinimum(latitudes: fix.coordinate.latitude - circle.center.latitude)
        guard least <= reach * 1.001 + 1 else {
            self = .surelyOutside
            return
        }
        let distance = ellipsoid.inverse(fix.coordinate, circle.center).distance
        if distance - fix.horizontalAccuracy > circle.radius {
            self = .surelyOutside
        } else if distance > circle.radius {
            self = .near
        } else {
            self = fix.horizontalAccuracy <= circle.radius ? .surelyInside : .inside
        }
    }
}
