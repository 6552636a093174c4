// What becomes due with time, in the order of rule T3.
extension MonitorEngine {
    /// Handles all that is due at or before `time`.
    mutating func handleDue(until time: Int64, into actions: inout ActionBuffer) {
        while true {
            rearm()
            guard timeline.wake <= time else { return }
            timeline.advanceToWake()
            var due: [SubjectIndex] = []
            swap(&due, &dueScratch)
            handleDueAdapters(&due, into: &actions)
            collectDue(into: &due)
            resolve(&due, into: &actions)
            due.removeAll(keepingCapacity: true)
            swap(&due, &dueScratch)
        }
    }

    /// Finds out when something is due next.
    mutating func rearm() {
        var next = wayIn.nextForgetting(subjects, conditions) ?? .max
        for adapter in adapters.indices {
            if let expiry = earliestExpiry(of: adapter),
                let time = adapters.clock(of: adapter).time(of: expiry, at: present)
            {
                next = min(next, time)
            }
            if let time = nextChange(of: adapter) { next = min(next, time) }
            if adapters.isMissed(adapter), let time = adapters[adapter].silence.nextOutage(of: monitors.outages) {
                next = min(next, time)
            }
        }
        timeline.setWake(next)
    }

    /// The subjects for which something is due now.
    private mutating func collectDue(into due: inout [SubjectIndex]) {
        for adapter in adapters.indices {
            while let expiry = earliestExpiry(of: adapter), expiry <= adapters.reading(of: adapter, at: present) {
                due.append(adapters[holdsOf: adapter].removeEarliest().subject)
            }
            guard adapters.isMissed(adapter) else { continue }
            while let monitor = adapters.handleOutage(of: adapter, in: monitors, at: present) {
                collectHeld(by: adapter, in: monitor, into: &due)
            }
        }
        while let subject = wayIn.removeForgotten(at: present, subjects, conditions) { due.append(subject) }
    }

    private func collectHeld(by adapter: AdapterIndex, in monitor: MonitorIndex, into due: inout [SubjectIndex]) {
        guard adapter != adapters.locationSource else {
            due += conditions.circleSubjects(in: monitor)
            return
        }
        due += adapters[holdsOf: adapter].subjects(among: subjects, of: adapter)
            .filter { conditions.match(subjects[$0].condition).monitor == monitor }
        guard adapter == .together else { return }
        due += conditions.subjects(in: monitor).filter { subjects[$0].state == .unsatisfied }
    }

    /// Resolves subjects in the order of rule T3, each once.
    mutating func resolve(_ due: inout [SubjectIndex], into actions: inout ActionBuffer) {
        if due.count > 1 {
            if due.count > 16 { makeRanks() }
            due.sort { precedes($0, $1) }
        }
        var previous = SubjectIndex.absent
        for subject in due where subject != previous {
            previous = subject
            resolve(subject, into: &actions)
        }
    }

    /// Gives a subject the state that its holds and its adapters' listening leave it now (rules L2, X2); a beacon on its
    /// way in is forgotten (rule P1).
    mutating func resolve(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        guard subjects[subject].exists else { return }
        guard !subjects[subject].isOnTheWayIn else { return forgetBeacon(subject) }
        let before = subjects[subject].state
        guard before != .unmonitored else { return }
        if isCircle(subject) { return resolveCircle(subject, into: &actions) }
        endExpiredHolds(on: subject)
        let leaves = subjects[subject].canLeave && !subjects[subject].isHeld
        if leaves || before == .unsatisfied {
            let outage = monitor(of: subjects[subject].condition).outageTimeout
            if !subjects[subject].isBeacon, adapters.isOut(.together, for: outage, at: present) {
                addHold(on: subject, by: .together)
                becomeUnknown(subject, into: &actions)
            } else if leaves {
                become(.unsatisfied, subject, isOutage: false, into: &actions)
                if subjects[subject].isBeacon { forgetBeacon(subject) }
            }
        } else if before == .satisfied, isOut(subject) {
            restartHolds(on: subject)
            becomeUnknown(subject, into: &actions)
        }
    }

    mutating func becomeUnknown(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        let before = subjects[subject].state
        guard before != .unknown else { return }
        become(.unknown, subject, isOutage: true, into: &actions)
        subjects[subject].noteOutage(wasSatisfied: before == .satisfied)
    }

    /// The order of two subjects at one time: by identifier, a condition before its beacons (rule T3).
    private func precedes(_ left: SubjectIndex, _ right: SubjectIndex) -> Bool {
        let (leftCondition, rightCondition) = (subjects[left].condition, subjects[right].condition)
        guard leftCondition == rightCondition else { return conditions.precedes(leftCondition, rightCondition) }
        guard subjects[left].isBeacon, subjects[right].isBeacon else {
            return subjects[right].isBeacon && !subjects[left].isBeacon
        }
        return subjects.beacon(of: left, conditions) < subjects.beacon(of: right, conditions)
    }

    /// Gives every condition its rank in the order of identifiers.
    mutating func makeRanks() { if conditions.makeRanks() { wayIn.forgetOrder() } }
}
