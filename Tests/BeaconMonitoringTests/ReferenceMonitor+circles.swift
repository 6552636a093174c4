import Foundation

@testable import BeaconMonitoring

// Circles (G1…G3), written as simply as the rest.
extension ReferenceMonitor {
    var locationSource: AdapterID? { source?.id }

    func located(_ fix: LocationFix, into actions: inout ActionBuffer) {
        input(at: fix.time, into: &actions) {
            guard let source else { return }
            report(from: source)
            for entry in entriesByIdentifier where hasPlace(entry) {
                guard case .circle(let circle) = entry.condition else { continue }
                perceive(fix, circle, entry)
            }
        }
    }

    private func perceive(_ fix: LocationFix, _ circle: BeaconMonitor.CircularGeographicCondition, _ entry: Entry) {
        let subject = entry.own
        let distance = Self.chord(fix.coordinate, circle.center)
        if distance - fix.horizontalAccuracy > circle.radius {
            guard subject.state != .unsatisfied else { return }
            change(subject, entry, to: .unsatisfied)
            endVisit(of: subject, entry, reason: .left)
        } else if subject.state == .satisfied {
            if distance <= circle.radius { isInside(subject) }
        } else if distance <= circle.radius, fix.horizontalAccuracy <= circle.radius {
            if !subject.wasSatisfied {
                let window = entry.settings.enterWindow.nanoseconds
                subject.progress.append(now)
                subject.progress.removeAll { now.nanoseconds - $0.nanoseconds >= window }
                guard subject.progress.count >= entry.settings.enterCount else { return }
            }
            if subject.visit == nil { subject.visit = OpenVisit(arrival: now) }
            isInside(subject)
            change(subject, entry, to: .satisfied)
        }
    }

    private func isInside(_ subject: Subject) {
        subject.lastInside = now
        subject.visit?.departure = now
        subject.visit?.sightings += 1
    }

    func isSupported(_ entry: Entry) -> Bool { source != nil || !entry.condition.isCircle }

    /// Returns whether a condition has one of the places of rule C4.
    func hasPlace(_ entry: Entry) -> Bool {
        if let decidedPlaces { return decidedPlaces.contains(entry.identifier) }
        return isSupported(entry) && entry.own.state != .unmonitored
    }

    var monitorsCircles: Bool { entries.contains { $0.condition.isCircle && hasPlace($0) } }

    /// Returns the straight distance between two places in meters. Over some hundred meters, it is as long as the
    /// distance on the ground.
    private static func chord(_ left: Coordinate, _ right: Coordinate) -> Double {
        let (a, b) = (cartesian(left), cartesian(right))
        return ((a.0 - b.0) * (a.0 - b.0) + (a.1 - b.1) * (a.1 - b.1) + (a.2 - b.2) * (a.2 - b.2)).squareRoot()
    }

    private static func cartesian(_ place: Coordinate) -> (Double, Double, Double) {
        let (latitude, longitude) = (place.latitude * .pi / 180, place.longitude * .pi / 180)
        let flattening = 1 / 298.257223563
        let eccentricity = flattening * (2 - flattening)
        let radius = 6_378_137 / (1 - eccentricity * sin(latitude) * sin(latitude)).squareRoot()
        return (
            radius * cos(latitude) * cos(longitude), radius * cos(latitude) * sin(longitude),
            radius * (1 - eccentricity) * sin(latitude)
        )
    }
}
