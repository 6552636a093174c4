import BaseTypes

// Events, visits and condition lines as values.
extension MonitorEngine {
    /// Gives a subject another state, which is an event (rule X3), and ends its visit where it left (rule P3).
    mutating func become(
        _ state: BeaconMonitor.Event.State, _ subject: SubjectIndex, isOutage: Bool, into actions: inout ActionBuffer
    ) {
        episodes.endRefusing(at: present)
        let condition = subjects[subject].condition
        let isBeacon = subjects[subject].isBeacon
        let isRefreshed = subjects[subject].isRefreshed
        let isCircle = conditions[condition].condition.isCircle
        var last = subjects[subject].last.sighting(uuid: conditions[condition].uuid)
        last.time = instant(subjects[subject].last.time)
        reportNames(into: &actions)
        actions.append(
            .event(
                BeaconMonitor.Event(
                    monitor: monitor(of: condition).name.text, identifier: conditions[condition].identifier.text,
                    scope: isBeacon ? .beacon : .condition, state: state, time: now, clockOffset: clockOffset,
                    condition: conditions[condition].condition,
                    refinement: isBeacon || (state == .satisfied && !isCircle) ? last.beacon : nil,
                    previous: subjects[subject].hasPrevious ? subjects[detailsOf: subject].previous : nil,
                    sighting: isRefreshed && !isCircle ? last : nil, lastSeen: isRefreshed ? last.time : nil,
                    diagnostics: diagnostics(condition, state, isOutage: isOutage))))
        subjects[subject].become(state)
        subjects[detailsOf: subject].previous = BeaconMonitor.Event.Previous(
            state: state, date: WallDate(now, offset: clockOffset))
        subjects[detailsOf: subject].progress.restart()
        if state == .unsatisfied, subjects[subject].isVisited {
            endVisit(subject, reason: isCircle ? .left : .exitTimeout, into: &actions)
        }
    }

    private func diagnostics(
        _ condition: ConditionIndex, _ state: BeaconMonitor.Event.State, isOutage: Bool
    ) -> Diagnostics {
        var diagnostics = ambientDiagnostics
        if isOutage || adapters.silentCount > 0 { diagnostics.insert(.scannerUnavailable) }
        if let source = adapters.locationSource, conditions.hasCircles, !adapters.clock(of: source).isListening {
            diagnostics.insert(.locationUnavailable)
        }
        if state == .unmonitored {
            diagnostics.insert(isSupported(condition) ? .conditionLimitExceeded : .conditionUnsupported)
        }
        if episodes.concern(condition) { diagnostics.insert(.trackingLimitExceeded) }
        return diagnostics
    }

    mutating func endVisit(_ subject: SubjectIndex, reason: Visit.Reason, into actions: inout ActionBuffer) {
        let visited = subjects[subject]
        let arrival = subjects[detailsOf: subject].arrival
        let condition = visited.condition
        subjects[subject].closeVisit()
        actions.append(
            .visit(
                Visit(
                    monitor: monitor(of: condition).name.text, identifier: conditions[condition].identifier.text,
                    scope: visited.isBeacon ? .beacon : .condition, time: now, clockOffset: clockOffset,
                    condition: conditions[condition].condition,
                    refinement: visited.isBeacon ? subjects.beacon(of: subject, conditions) : nil,
                    arrival: arrival == SubjectDetails.assumed ? nil : instant(arrival),
                    departure: visited.refreshes > 0 ? instant(visited.last.time) : nil,
                    sightings: visited.refreshes, strength: visited.strength, reason: reason)))
    }

    /// Ends the visits that are open under a condition: its own, then its beacons' (rules C2, C3).
    mutating func endVisits(of condition: ConditionIndex, reason: Visit.Reason, into actions: inout ActionBuffer) {
        let own = conditions.match(condition).subject
        if subjects[own].isVisited { endVisit(own, reason: reason, into: &actions) }
        for subject in beacons(of: condition) where subjects[subject].isVisited {
            endVisit(subject, reason: reason, into: &actions)
        }
    }

    /// Says what happened to a condition.
    func report(
        _ kind: ConditionChange.Kind, _ condition: ConditionIndex, assumed: BeaconMonitor.Event.State?,
        into actions: inout ActionBuffer
    ) {
        let state = conditions[condition]
        actions.append(
            .condition(
                ConditionChange(
                    monitor: monitor(of: condition).name.text, identifier: state.identifier.text, kind: kind, time: now,
                    clockOffset: clockOffset, condition: state.condition, settings: state.settings, assumed: assumed)))
    }

    func monitor(of condition: ConditionIndex) -> MonitorState { monitors[conditions.match(condition).monitor] }

    private func instant(_ kept: Int64) -> Instant { KeptMoment(kept).instant(offset: clockOffset) }
}
