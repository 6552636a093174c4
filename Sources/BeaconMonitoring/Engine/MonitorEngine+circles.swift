import BluetoothLE

// Where this gateway is, and the circles that it is in (rules G1–G3).
extension MonitorEngine {
    /// The location source, the adapter of all circles, which ``EngineSettings/locationSource`` names: for
    /// ``listening(_:at:into:)``. `nil` where there is none.
    public var locationSource: AdapterID? { locationPlace > 0 ? AdapterID(index: locationPlace) : nil }

    /// The location source gave a fix: it listens, and each circle is held against it, in the order of identifiers
    /// (rules E4, G2). Where there is no location source only time goes on.
    public mutating func located(_ fix: LocationFix, into actions: inout ActionBuffer) {
        enter(fix.time, into: &actions)
        guard locationPlace > 0 else { return }
        hear(AdapterID(index: locationPlace), into: &actions)
        if !circlesSorted {
            var sorted: [Int32] = []
            swap(&sorted, &circles)
            sorted.sort { precedes(condition: $0, $1) }
            swap(&sorted, &circles)
            circlesSorted = true
        }
        for circle in circles { consider(circle, by: fix, into: &actions) }
    }

    /// Whether this gateway can evaluate a condition (rule C5).
    func isSupported(_ condition: Int32) -> Bool { locationPlace > 0 || !conditions[Int(condition)].condition.isCircle }

    /// Whether a subject is a circle.
    func isCircle(_ subject: Int) -> Bool { conditions[Int(subjects[subject].condition)].condition.isCircle }

    /// What a fix does to one circle (rules G2, E1, L3).
    private mutating func consider(_ condition: Int32, by fix: LocationFix, into actions: inout ActionBuffer) {
        guard case .circle(let circle) = conditions[Int(condition)].condition else { return }
        let subject = Int(matches[Int(condition)].subject)
        let place = Place(of: fix, against: circle)
        if place == .surelyOutside {
            if subjects[subject].canLeave { become(.unsatisfied, subject, isOutage: false, into: &actions) }
            return
        }
        switch subjects[subject].state {
        case .satisfied:
            if place == .inside || place == .surelyInside { refreshCircle(subject) }
        case .unknown, .unsatisfied:
            guard place == .surelyInside, subjects[subject].wasSatisfied || suffices(subject) else { return }
            if !subjects[subject].isVisited {
                subjects[subject].openVisit()
                details[subject].arrival = present
            }
            refreshCircle(subject)
            become(.satisfied, subject, isOutage: false, into: &actions)
        case .unmonitored: return
        }
    }

    private mutating func refreshCircle(_ subject: Int) {
        var last = subjects[subject].last
        last.time = present
        subjects[subject].refresh(by: last, ConditionMatch.absentRSSI)
    }

    /// Makes a circle unknown once its source stopped `outage_timeout` ago (rules L2, G3): it has no holds that run out.
    mutating func settleCircle(_ subject: Int, into actions: inout ActionBuffer) {
        let outage = monitors[Int(matches[Int(subjects[subject].condition)].monitor)].outageTimeout
        guard isOut(locationPlace, outage) else { return }
        becomeUnknown(subject, before: subjects[subject].state, into: &actions)
    }
}

/// Where a fix lies against a circle (rule G2).
private enum Place {
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
