import BaseTypes

@testable import BeaconMonitoring

// Adding, changing and removing conditions (C1…C5).
extension ReferenceMonitor {
    func add(
        _ condition: Condition, identifier: Identifier, monitor: Identifier, assuming: BeaconMonitor.Event.State,
        settings: ConditionSettings, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        guard assuming != .unmonitored else { throw .settingInvalid("assuming", "unmonitored") }
        try settings.validate()
        guard let monitor = monitors.first(where: { $0.name == monitor }) else { throw .nameUnknown(monitor.text) }
        guard settings.enterWindow <= monitor.settings.outageTimeout else {
            throw .settingInvalid("enter_window", "above outage_timeout")
        }
        let known = entries.first { $0.identifier == identifier }
        if let known, known.monitor.name != monitor.name {
            throw .identifierTaken(identifier.text, monitor: known.monitor.name.text)
        }
        input(at: time, into: &actions) {
            guard let known else {
                let entry = Entry(identifier: identifier, monitor: monitor, condition: condition, settings: settings)
                entries.append(entry)
                entriesByIdentifier.append(entry)
                entriesByIdentifier.sort { $0.identifier < $1.identifier }
                report(.added, entry, assumed: assuming)
                return begin(entry, assuming: assuming)
            }
            if known.condition == condition, known.settings.perBeacon == settings.perBeacon {
                change(known, to: settings)
            } else {
                replace(known, by: condition, settings, assuming: assuming)
            }
        }
    }

    func remove(_ identifier: Identifier, at time: Instant, into actions: inout ActionBuffer) throws(MonitorError) {
        guard let entry = entries.first(where: { $0.identifier == identifier }) else {
            throw .identifierUnknown(identifier.text)
        }
        input(at: time, into: &actions) {
            endVisits(of: entry, reason: .removed)
            report(.removed, entry, assumed: nil)
            entries.removeAll { $0 === entry }
            entriesByIdentifier.removeAll { $0 === entry }
            endEpisodeIfFew()
            fillPlaces()
        }
    }

    private func change(_ entry: Entry, to settings: ConditionSettings) {
        let old = entry.settings
        guard old != settings else { return }
        entry.settings = settings
        if old.enterCount != settings.enterCount || old.enterWindow != settings.enterWindow
            || old.enterRSSI != settings.enterRSSI
        {
            entry.own.progress = []
            for beacon in entry.beacons where beacon.isOnItsWayIn { forget(beacon, entry) }
        }
        removeUnnamed(from: entry)
        report(.changed, entry, assumed: nil)
    }

    private func replace(
        _ entry: Entry, by condition: Condition, _ settings: ConditionSettings, assuming: BeaconMonitor.Event.State
    ) {
        endVisits(of: entry, reason: .replaced)
        entry.condition = condition
        entry.settings = settings
        entry.beacons = []
        entry.limitRaised = false
        entry.refusalRaised = false
        endEpisodeIfFew()
        report(.replaced, entry, assumed: assuming)
        begin(entry, assuming: assuming)
        fillPlaces()
    }

    /// Starts a condition with a subject that has no history.
    private func begin(_ entry: Entry, assuming: BeaconMonitor.Event.State) {
        entry.own = Subject(beacon: nil)
        // The condition is `unmonitored` until it is known whether there is a place for it.
        entry.own.state = .unmonitored
        let placesTaken = entries.count { hasPlace($0) }
        entry.own.state = assuming
        if !isSupported(entry) {
            return change(entry.own, entry, to: .unmonitored, because: .conditionUnsupported)
        }
        if settings.conditionLimit > 0, placesTaken >= settings.conditionLimit {
            return change(entry.own, entry, to: .unmonitored, because: .conditionLimitExceeded)
        }
        if assuming == .satisfied { entry.own.visit = OpenVisit() }
        if assuming != .unsatisfied, !entry.condition.isCircle { entry.own.holds = [newHold(by: nil)] }
    }

    /// Gives each free place to the first condition that waits for one (rule C4).
    private func fillPlaces() {
        for entry in entries where entries.count(where: { hasPlace($0) }) < settings.conditionLimit {
            guard isSupported(entry), entry.own.state == .unmonitored else { continue }
            if !entry.condition.isCircle { entry.own.holds = [newHold(by: nil)] }
            change(entry.own, entry, to: .unknown)
        }
    }

    private func endVisits(of entry: Entry, reason: Visit.Reason) {
        for subject in [entry.own] + entry.beacons { endVisit(of: subject, entry, reason: reason) }
    }

    private func report(_ kind: ConditionChange.Kind, _ entry: Entry, assumed: BeaconMonitor.Event.State?) {
        made.append(
            .condition(
                ConditionChange(
                    monitor: entry.monitor.name.text, identifier: entry.identifier.text, kind: kind, time: now,
                    clockOffset: clockOffset, condition: entry.condition, settings: entry.settings, assumed: assumed)))
    }
}
