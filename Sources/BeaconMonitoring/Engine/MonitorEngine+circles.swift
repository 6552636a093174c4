// Where this gateway is, and the circles that it is in (rules G1–G3).
extension MonitorEngine {
    /// The location source, the adapter of all circles, which ``EngineSettings/locationSource`` names: for
    /// ``listening(_:at:into:)``. `nil` where there is none.
    public var locationSource: AdapterID? { adapters.locationSource?.id }

    /// The location source gave a fix: it listens, and each circle is held against it, in the order of identifiers
    /// (rules E4, G2). Where there is no location source only time goes on.
    public mutating func located(_ fix: LocationFix, into actions: inout ActionBuffer) {
        enter(fix.time, into: &actions)
        guard let source = adapters.locationSource else { return }
        hear(source, into: &actions)
        for circle in conditions.sortedCircles() { consider(circle, by: fix, into: &actions) }
    }

    /// Whether this gateway can evaluate a condition (rule C5).
    func isSupported(_ condition: ConditionIndex) -> Bool {
        adapters.locationSource != nil || !conditions[condition].condition.isCircle
    }

    /// Whether a subject is a circle.
    func isCircle(_ subject: SubjectIndex) -> Bool { conditions[subjects[subject].condition].condition.isCircle }

    /// What a fix does to one circle (rules G2, E1, L3).
    private mutating func consider(_ condition: ConditionIndex, by fix: LocationFix, into actions: inout ActionBuffer) {
        guard case .circle(let circle) = conditions[condition].condition else { return }
        let subject = conditions.match(condition).subject
        let position = CirclePosition(of: fix, against: circle)
        if position == .surelyOutside {
            if subjects[subject].canLeave { become(.unsatisfied, subject, isOutage: false, into: &actions) }
            return
        }
        switch subjects[subject].state {
        case .satisfied:
            if position == .inside || position == .surelyInside { refreshCircle(subject) }
        case .unknown, .unsatisfied:
            guard position == .surelyInside, subjects[subject].wasSatisfied || suffices(subject) else { return }
            openVisit(subject)
            refreshCircle(subject)
            become(.satisfied, subject, isOutage: false, into: &actions)
        case .unmonitored: return
        }
    }

    private mutating func refreshCircle(_ subject: SubjectIndex) {
        var last = subjects[subject].last
        last.time = present
        subjects[subject].refresh(by: last, ConditionMatch.absentRSSI)
    }

    /// Makes a circle unknown once its source stopped `outage_timeout` ago (rules L2, G3): it has no holds that run out.
    mutating func resolveCircle(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        let outage = monitor(of: subjects[subject].condition).outageTimeout
        guard let source = adapters.locationSource, adapters.isOut(source, for: outage, at: present) else { return }
        becomeUnknown(subject, into: &actions)
    }
}
