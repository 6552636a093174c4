/// The position of a fix relative to a circle (rule G2).
enum CirclePosition: Sendable {
    /// Inside the radius, and the accuracy is at most the radius.
    case surelyInside
    /// Inside the radius.
    case inside
    /// Outside the radius by at most the accuracy.
    case near
    /// Outside the radius by more than the accuracy.
    case surelyOutside

    init(of fix: LocationFix, against circle: BeaconMonitor.CircularGeographicCondition) {
        // Most circles are far away. The difference in latitude excludes those without computing the distance.
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
