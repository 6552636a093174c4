import BluetoothLE

// Events, visits and condition lines as values.
extension MonitorEngine {
    /// Gives a subject another state, which is an event (rule X3), and ends its visit where it left (rule P3).
    mutating func become(
        _ state: BeaconMonitor.Event.State, _ subject: Int, isOutage: Bool, into actions: inout ActionBuffer
    ) {
        if refusingCount > 0 { endRefusing() }
        let condition = Int(subjects[subject].condition)
        let monitor = monitors[Int(matches[condition].monitor)].name.text
        let isBeacon = subjects[subject].isBeacon
        let isRefreshed = subjects[subject].isRefreshed
        let isCircle = conditions[condition].condition.isCircle
        var last = subjects[subject].last.sighting(uuid: uuid(of: condition))
        last.time = moment(subjects[subject].last.time)
        actions.append(
            .event(
                BeaconMonitor.Event(
                    monitor: monitor, identifier: conditions[condition].identifier.text,
                    scope: isBeacon ? .beacon : .condition, state: state, time: now, clockOffset: clockOffset,
                    condition: conditions[condition].condition,
                    refinement: isBeacon || (state == .satisfied && !isCircle) ? last.beacon : nil,
                    previous: subjects[subject].hasPrevious ? details[subject].previous : nil,
                    sighting: isRefreshed && !isCircle ? last : nil, lastSeen: isRefreshed ? last.time : nil,
                    diagnostics: diagnostics(condition: condition, state: state, isOutage: isOutage))))
        subjects[subject].state = state
        subjects[subject].wasSatisfied = false
        subjects[subject].hasPrevious = true
        details[subject].previous = BeaconMonitor.Event.Previous(state: state, date: WallDate(now, offset: clockOffset))
        if !details[subject].progress.isEmpty { details[subject].progress.removeAll() }
        if state == .unsatisfied, subjects[subject].isVisited {
            endVisit(subject, reason: isCircle ? .left : .exitTimeout, into: &actions)
        }
    }

    private func diagnostics(condition: Int, state: BeaconMonitor.Event.State, isOutage: Bool) -> Diagnostics {
        var diagnostics = ambientDiagnostics
        if isOutage || silentCount > 0 { diagnostics.insert(.scannerUnavailable) }
        if !circles.isEmpty, !adapters[locationPlace].isListening { diagnostics.insert(.locationUnavailable) }
        if state == .unmonitored {
            diagnostics.insert(isSupported(Int32(condition)) ? .conditionLimitExceeded : .conditionUnsupported)
        }
        if conditions[condition].isOverflowing || conditions[condition].isRefusing {
            diagnostics.insert(.trackingLimitExceeded)
        }
        return diagnostics
    }

    mutating func endVisit(_ subject: Int, reason: Visit.Reason, into actions: inout ActionBuffer) {
        let visited = subjects[subject]
        let arrival = details[subject].arrival
        let condition = Int(visited.condition)
        subjects[subject].isVisited = false
        let strength = Visit.Strength(
            minimum: visited.strengthMinimum, sum: visited.strengthSum, count: visited.strengthCount,
            maximum: visited.strengthMaximum)
        actions.append(
            .visit(
                Visit(
                    monitor: monitors[Int(matches[condition].monitor)].name.text,
                    identifier: conditions[condition].identifier.text,
                    scope: visited.isBeacon ? .beacon : .condition, time: now, clockOffset: clockOffset,
                    condition: conditions[condition].condition,
                    refinement: visited.isBeacon ? beacon(of: subject) : nil,
                    arrival: arrival == SubjectDetails.assumed ? nil : moment(arrival),
                    departure: visited.refreshes > 0 ? moment(visited.last.time) : nil,
                    sightings: visited.refreshes,
                    strength: visited.strengthCount > 0 ? strength : nil, reason: reason)))
    }

    /// Ends the visits that are open under a condition: its own, then its beacons' (rules C2, C3).
    mutating func endVisits(of condition: Int32, reason: Visit.Reason, into actions: inout ActionBuffer) {
        let own = Int(matches[Int(condition)].subject)
        if subjects[own].isVisited { endVisit(own, reason: reason, into: &actions) }
        for subject in beacons(of: condition) where subjects[subject].isVisited {
            endVisit(subject, reason: reason, into: &actions)
        }
    }

    func act(
        _ kind: ConditionChange.Kind, _ condition: Int32, assumed: BeaconMonitor.Event.State?,
        into actions: inout ActionBuffer
    ) {
        let state = conditions[Int(condition)]
        actions.append(
            .condition(
                ConditionChange(
                    monitor: monitors[Int(matches[Int(condition)].monitor)].name.text,
                    identifier: state.identifier.text,
                    kind: kind, time: now, clockOffset: clockOffset, condition: state.condition,
                    settings: state.settings,
                    assumed: assumed)))
    }
}
