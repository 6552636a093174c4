import BaseTypes
import BluetoothLE

// How an engine takes over what one before it left (rule N4).
extension MonitorEngine {
    /// Takes over what survived. What is out of bounds, in a file that somebody wrote by hand, is left out.
    mutating func restore(
        _ snapshot: MonitorSnapshot, _ setups: [MonitorSetup], into actions: inout ActionBuffer
    ) {
        var configured: [Identifier: ConditionSettings] = [:]
        for setup in setups {
            for condition in setup.conditions { configured[condition.identifier] = condition.settings }
        }
        restoreAdapters(snapshot)
        var restored: [(saved: MonitorSnapshot.Condition, condition: ConditionIndex)] = []
        for saved in snapshot.conditions {
            guard let identifier = try? Identifier(saved.identifier), conditions.index(of: identifier) == nil,
                let monitor = restoreMonitor(saved.monitor, snapshot),
                let settings = [saved.settings, configured[identifier], ConditionSettings()].lazy
                    .compactMap(\.self).first(where: { isPossible($0, in: monitor) })
            else { continue }
            restored.append((saved, conditions.add(saved.condition, identifier, in: monitor, settings)))
        }
        // Rule C4: who had a place keeps it, and the first of the others get what is left.
        for hadPlace in [true, false] {
            for (saved, condition) in restored where (saved.own.state != .unmonitored) == hadPlace {
                enterLimit(condition)
            }
        }
        // The circles are there from the first event on, which may say that they have no fix.
        for (_, condition) in restored where conditions[condition].condition.isCircle && isMonitored(condition) {
            conditions.link(condition)
        }
        for (saved, condition) in restored { restore(saved, condition, into: &actions) }
    }

    private func isPossible(_ settings: ConditionSettings, in monitor: MonitorIndex) -> Bool {
        (try? settings.validate()) != nil && settings.enterWindow.nanoseconds <= monitors[monitor].outageTimeout
    }

    /// A monitor; one that is no longer wanted is made known all the same, for its conditions to be removed.
    private mutating func restoreMonitor(_ name: String, _ snapshot: MonitorSnapshot) -> MonitorIndex? {
        guard let identifier = try? Identifier(name) else { return nil }
        if let monitor = monitors.index(named: identifier) { return monitor }
        let settings = snapshot.monitors.first { $0.name.isSpelt(as: name) }?.settings
        return try? monitors.add(identifier, settings ?? MonitorSettings(), deafAfter: self.settings.deafAfter)
    }

    // MARK: Adapters

    /// Makes the adapters known, all of them stopped. Those that hold something are there and do not listen; of the others
    /// who they are is remembered, until they are forgotten (rule L7).
    private mutating func restoreAdapters(_ snapshot: MonitorSnapshot) {
        var holders: Set<String> = []
        for condition in snapshot.conditions {
            for subject in [condition.own] + condition.beacons { holders.formUnion(subject.holders) }
        }
        // What the location source holds, it holds by no name (rule G3).
        let source = adapters.locationSource.map { adapters[$0].name }
        for saved in snapshot.adapters where saved.name != source {
            let stopped = saved.stopped.map { min($0.nanoseconds(offset: clockOffset), present) }
            let isHolder = holders.contains(saved.name)
            guard isHolder || !isLongGone(stopped),
                let adapter = adapters.remember(saved.name, saved.address, at: present)
            else { continue }
            adapters.resumeSilence(of: adapter, since: stopped ?? present, at: present)
            if isHolder { adapters.expect(adapter) }
        }
    }

    private func isLongGone(_ stopped: Int64?) -> Bool {
        guard let stopped, let longest = monitors.longestForgetting else { return false }
        return stopped + longest <= present
    }

    /// The adapter that heard a last refresh: where nobody knows it, its name alone is kept.
    private mutating func rememberedAdapter(_ name: String) -> AdapterID? {
        (adapters.index(called: name) ?? adapters.remember(name, nil, at: present))?.id
    }

    // MARK: Subjects

    private mutating func restore(
        _ saved: MonitorSnapshot.Condition, _ condition: ConditionIndex, into actions: inout ActionBuffer
    ) {
        let own = addSubject(of: condition, as: saved.own.state)
        restorePast(saved.own, own)
        guard isMonitored(condition) else { return stopMonitoring(saved, condition, into: &actions) }
        if !conditions[condition].condition.isCircle { conditions.link(condition) }
        if subjects[own].state == .unmonitored {
            // Rule C4: there is a place now.
            become(.unknown, own, isOutage: false, into: &actions)
            holdByAll(own)
            return
        }
        restorePresent(saved.own, own)
        guard conditions.match(condition).perBeacon else { return }
        for beacon in saved.beacons { restoreBeacon(beacon, under: condition) }
    }

    /// A condition for which there is no place any more (rule C4): what is open under it ends.
    private mutating func stopMonitoring(
        _ saved: MonitorSnapshot.Condition, _ condition: ConditionIndex, into actions: inout ActionBuffer
    ) {
        let own = conditions.match(condition).subject
        guard subjects[own].state != .unmonitored else { return }
        restorePresent(saved.own, own)
        for beacon in saved.beacons { restoreBeacon(beacon, under: condition) }
        endVisits(of: condition, reason: .removed, into: &actions)
        for beacon in beacons(of: condition) { forgetBeacon(beacon) }
        endHolds(on: own)
        become(.unmonitored, own, isOutage: false, into: &actions)
    }

    private mutating func restoreBeacon(_ saved: MonitorSnapshot.Subject, under condition: ConditionIndex) {
        guard let beacon = saved.beacon, saved.state == .satisfied || saved.state == .unknown,
            beacon.uuid == conditions[condition].uuid, subjects.find(beacon, under: condition) == nil
        else { return }
        let subject = track(beacon, under: condition, as: saved.state)
        subjects[subject].order = strangers.nextOrder()
        strangers.forgetOrder()
        restorePast(saved, subject)
        restorePresent(saved, subject)
    }

    /// What a subject was.
    private mutating func restorePast(_ saved: MonitorSnapshot.Subject, _ subject: SubjectIndex) {
        if let previous = saved.previous {
            subjects[subject].restorePrevious()
            subjects[detailsOf: subject].previous = previous
        }
        let condition = subjects[subject].condition
        guard !conditions[condition].condition.isCircle else {
            if let seen = saved.lastSeen { subjects[subject].restoreLastSeen(kept(seen)) }
            return
        }
        guard let refresh = saved.lastRefresh, refresh.beacon.uuid == conditions[condition].uuid,
            let adapter = rememberedAdapter(refresh.adapter)
        else { return }
        let sighting = Sighting(
            time: now, adapter: adapter, beacon: refresh.beacon, measuredPower: refresh.measuredPower,
            rssi: refresh.rssi, address: refresh.address)
        subjects[subject].restore(Refresh(sighting, at: kept(refresh.time)))
    }

    /// What a subject is: who holds it, and its visit.
    private mutating func restorePresent(_ saved: MonitorSnapshot.Subject, _ subject: SubjectIndex) {
        subjects[subject].noteOutage(wasSatisfied: saved.wasSatisfied && saved.state == .unknown)
        guard subjects[subject].canLeave else { return }
        if let visit = saved.visit {
            subjects[subject].resumeVisit(refreshes: visit.refreshes, visit.strength)
            subjects[detailsOf: subject].arrival = visit.arrival.map { kept($0) } ?? SubjectDetails.assumed
        }
        guard !isCircle(subject) else { return }
        var holders: [AdapterIndex] = []
        for name in saved.holders {
            guard let adapter = adapters.index(called: name), adapters[adapter].hasListened,
                !holders.contains(adapter)
            else { continue }
            holders.append(adapter)
        }
        for adapter in holders.suffix(Self.holdersMax) { addHold(on: subject, by: adapter) }
        if holders.isEmpty { addHold(on: subject, by: .together) }
    }

    private func kept(_ moment: PastMoment) -> Int64 { KeptMoment(moment, at: present).word }
}
