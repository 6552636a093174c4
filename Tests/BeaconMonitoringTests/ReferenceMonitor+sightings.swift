import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

// Entering and staying (E, X1, L3), beacons as subjects (P), and the resulting actions.
extension ReferenceMonitor {
    /// Handles a sighting for each condition that it matches, in the order of rule E4.
    func perceive(_ sighting: Sighting) {
        for entry in entriesByIdentifier where hasPlace(entry) {
            guard case .beacon(let identity) = entry.condition, identity.matches(sighting.beacon) else { continue }
            if isUnnamed(sighting.beacon, under: entry), entry.settings.unnamed == .refuse { continue }
            perceive(sighting, entry.own, entry)
            guard entry.settings.perBeacon else { continue }
            if isUnnamed(sighting.beacon, under: entry), entry.settings.unnamed != .track { continue }
            if let subject = entry.beacons.first(where: { $0.beacon == sighting.beacon }) {
                perceive(sighting, subject, entry)
            } else if reaches(sighting.rssi, entry.settings.enterRSSI), makePlace(for: sighting.beacon, entry) {
                let subject = Subject(beacon: sighting.beacon)
                entry.beacons.append(subject)
                entry.beacons.sort { $0.beacon! < $1.beacon! }
                perceive(sighting, subject, entry)
            }
        }
    }

    private func perceive(_ sighting: Sighting, _ subject: Subject, _ entry: Entry) {
        let stays = reaches(sighting.rssi, entry.settings.exitRSSI)
        if subject.state == .satisfied {
            if stays { refresh(subject, entry, by: sighting) }
        } else if subject.wasSatisfied {
            if stays { enter(subject, entry, by: sighting) }
        } else if reaches(sighting.rssi, entry.settings.enterRSSI) {
            let window = entry.settings.enterWindow.nanoseconds
            subject.progress.append(now)
            subject.progress.removeAll { now.nanoseconds - $0.nanoseconds >= window }
            guard subject.progress.count >= entry.settings.enterCount, hasToken(for: subject, entry) else { return }
            enter(subject, entry, by: sighting)
        }
    }

    /// Returns whether an RSSI reaches a threshold. An absent RSSI never does (rule E2).
    private func reaches(_ rssi: RSSI?, _ threshold: RSSI?) -> Bool {
        guard let threshold else { return true }
        guard let rssi else { return false }
        return rssi.dBm >= threshold.dBm
    }

    private func enter(_ subject: Subject, _ entry: Entry, by sighting: Sighting) {
        if subject.visit == nil { subject.visit = OpenVisit(arrival: now) }
        refresh(subject, entry, by: sighting)
        change(subject, entry, to: .satisfied)
    }

    private func refresh(_ subject: Subject, _ entry: Entry, by sighting: Sighting) {
        let adapter = self[sighting.adapter]
        subject.holds.removeAll { $0.adapter == nil || $0.adapter === adapter || isOut($0.adapter, entry) }
        subject.holds.append(newHold(by: adapter))
        if subject.holds.count > 8 { subject.holds.removeFirst() }
        subject.lastRefresh = sighting
        refreshes += 1
        subject.refreshNumber = refreshes
        subject.visit?.departure = now
        subject.visit?.sightings += 1
        if let rssi = sighting.rssi { subject.visit?.strengths.append(rssi.dBm) }
    }

    // MARK: Beacons as subjects

    /// Returns whether one more beacon can be held. If there is no free place, an unnamed beacon can give way (rules
    /// P2, P4).
    private func makePlace(for beacon: BeaconIdentity, _ entry: Entry) -> Bool {
        guard entries.reduce(0, { $0 + $1.beacons.count }) >= settings.maxBeacons else { return true }
        var candidate: (subject: Subject, entry: Entry)?
        var present: (subject: Subject, entry: Entry)?
        for entry in entriesByIdentifier {
            for subject in entry.beacons where !named.contains(subject.beacon!) {
                if !subject.isOnItsWayIn {
                    if present == nil || isRefreshed(subject, before: present!.subject) { present = (subject, entry) }
                } else if candidate == nil || lastQualifying(subject) < lastQualifying(candidate!.subject) {
                    candidate = (subject, entry)
                }
            }
        }
        if candidate != nil || !named.contains(beacon) { present = nil }
        let loser = candidate ?? present
        if present == nil { untrackedBeacons += 1 } else { displacedBeacons += 1 }
        let raisedFor = loser?.entry ?? entry
        if !raisedFor.limitRaised {
            raisedFor.limitRaised = true
            made.append(.trackingLimitExceeded(identifier: raisedFor.identifier.text, .held))
        }
        guard let loser else { return false }
        endVisit(of: loser.subject, loser.entry, reason: .displaced)
        loser.entry.beacons.removeAll { $0 === loser.subject }
        return true
    }

    private func lastQualifying(_ subject: Subject) -> Instant { subject.progress.last! }

    private func isRefreshed(_ subject: Subject, before other: Subject) -> Bool {
        (subject.lastRefresh!.time, subject.refreshNumber) < (other.lastRefresh!.time, other.refreshNumber)
    }

    func forget(_ subject: Subject, _ entry: Entry) {
        entry.beacons.removeAll { $0 === subject }
        endEpisodeIfFew()
    }

    /// Ends P2's episode if fewer than nine tenths of `max_beacons` are held.
    func endEpisodeIfFew() {
        let held = entries.reduce(0) { $0 + $1.beacons.count }
        if held * 10 < settings.maxBeacons * 9 { for entry in entries { entry.limitRaised = false } }
    }

    // MARK: Actions

    func date(_ time: Instant) -> WallDate { WallDate(time, offset: clockOffset) }

    func change(_ subject: Subject, _ entry: Entry, to state: BeaconMonitor.Event.State, because flag: Diagnostics = [])
    {
        endRefusalEpisode()
        subject.wasSatisfied = subject.state == .satisfied && state == .unknown
        subject.state = state
        subject.progress = []
        if state == .unsatisfied { subject.holds = [] }
        var diagnostics = ambientDiagnostics.union(flag)
        if adapters.contains(where: { $0 !== source && $0.state != .listening && $0.state != .gone }) {
            diagnostics.insert(.scannerUnavailable)
        }
        if let source, !source.listens, monitorsCircles { diagnostics.insert(.locationUnavailable) }
        if entry.limitRaised || entry.refusalRaised { diagnostics.insert(.trackingLimitExceeded) }
        reportNames()
        made.append(
            .event(
                BeaconMonitor.Event(
                    monitor: entry.monitor.name.text, identifier: entry.identifier.text,
                    scope: subject.beacon == nil ? .condition : .beacon, state: state, time: now,
                    clockOffset: clockOffset,
                    condition: entry.condition,
                    refinement: subject.beacon
                        ?? (state == .satisfied && !entry.condition.isCircle ? subject.lastRefresh?.beacon : nil),
                    previous: subject.previous, sighting: subject.lastRefresh,
                    lastSeen: subject.lastInside ?? subject.lastRefresh?.time,
                    diagnostics: diagnostics)))
        subject.previous = BeaconMonitor.Event.Previous(state: state, date: date(now))
    }

    func endVisit(of subject: Subject, _ entry: Entry, reason: Visit.Reason) {
        guard let visit = subject.visit else { return }
        subject.visit = nil
        var strength: Visit.Strength?
        if let minimum = visit.strengths.min(), let maximum = visit.strengths.max() {
            strength = Visit.Strength(
                minimum: minimum, sum: visit.strengths.reduce(0) { $0 + Int64($1) }, count: visit.strengths.count,
                maximum: maximum)
        }
        made.append(
            .visit(
                Visit(
                    monitor: entry.monitor.name.text, identifier: entry.identifier.text,
                    scope: subject.beacon == nil ? .condition : .beacon, time: now, clockOffset: clockOffset,
                    condition: entry.condition, refinement: subject.beacon, arrival: visit.arrival,
                    departure: visit.departure, sightings: visit.sightings, strength: strength, reason: reason)))
    }
}
