// Who holds what, and until when (rules L1–L3, X2).
extension MonitorEngine {
    func exitTimeout(of subject: SubjectIndex) -> Int64 { conditions.match(subjects[subject].condition).exitTimeout }

    private func outageTimeout(of subject: SubjectIndex) -> Int64 {
        monitor(of: subjects[subject].condition).outageTimeout
    }

    // MARK: Beginning

    /// Makes an adapter's hold on a subject that it does not hold, from now, the latest of them.
    mutating func addHold(on subject: SubjectIndex, by adapter: AdapterIndex) {
        let start = adapters.reading(of: adapter, at: present)
        let expiry = start + exitTimeout(of: subject)
        subjects[subject].add(Hold(adapter: adapter, start: start, queued: expiry))
        adapters[holdsOf: adapter].add(HoldEntry(expiry: expiry, subject: subject), among: subjects, of: adapter)
        expectExpiry(expiry, of: adapter)
    }

    /// What no adapter has held yet is held by all together; a circle needs no holds (rule G2).
    mutating func holdByAll(_ subject: SubjectIndex) {
        if subjects[subject].canLeave, !isCircle(subject) { addHold(on: subject, by: .together) }
    }

    private mutating func expectExpiry(_ expiry: Int64, of adapter: AdapterIndex) {
        let clock = adapters.clock(of: adapter)
        if clock.isListening, let time = clock.time(of: expiry, at: present) { timeline.expect(time) }
    }

    // MARK: End

    mutating func endHold(on subject: SubjectIndex, at position: Int) {
        let adapter = subjects[subject].hold(at: position).adapter
        subjects[subject].removeHold(at: position)
        adapters[holdsOf: adapter].noteEnd()
    }

    mutating func endHolds(on subject: SubjectIndex) {
        while subjects[subject].isHeld { endHold(on: subject, at: subjects[subject].holdCount - 1) }
    }

    /// Ends the holds whose time is up on their adapters' clocks.
    mutating func endExpiredHolds(on subject: SubjectIndex) {
        let timeout = exitTimeout(of: subject)
        var position = 0
        while position < subjects[subject].holdCount {
            let hold = subjects[subject].hold(at: position)
            if adapters.reading(of: hold.adapter, at: present) >= hold.start + timeout {
                endHold(on: subject, at: position)
            } else {
                position += 1
            }
        }
    }

    // MARK: Refreshes

    /// Lets every hold of a subject begin anew (rule L2).
    mutating func restartHolds(on subject: SubjectIndex) {
        for position in 0..<subjects[subject].holdCount {
            let adapter = subjects[subject].hold(at: position).adapter
            subjects[subject].restartHold(at: position, clock: adapters.reading(of: adapter, at: present))
        }
    }

    /// The adapter's hold on a subject begins anew; the holds that rule L3 ends are ended.
    @inline(__always)
    mutating func refreshHold(on subject: SubjectIndex, by adapter: AdapterIndex, clock: Int64) {
        if !subjects[subject].refreshOnlyHold(by: adapter, clock: clock) {
            refreshHolds(on: subject, by: adapter, clock: clock)
        }
    }

    @inline(never)
    private mutating func refreshHolds(on subject: SubjectIndex, by adapter: AdapterIndex, clock: Int64) {
        let outage = outageTimeout(of: subject)
        var position = 0
        while position < subjects[subject].holdCount {
            // A refresh by another ends the hold of all together, and that of one that is away for too long (rule L3).
            let holder = subjects[subject].hold(at: position).adapter
            if holder == .together || adapters.isOut(holder, for: outage, at: present) {
                endHold(on: subject, at: position)
            } else {
                position += 1
            }
        }
        if let position = subjects[subject].hold(by: adapter) {
            subjects[subject].refreshHold(at: position, clock: clock)
        } else {
            addHold(on: subject, by: adapter)
            if subjects[subject].holdCount > Self.holdersMax { endHold(on: subject, at: 0) }
        }
    }

    // MARK: Time

    /// Whether every adapter that holds the subject stopped `outage_timeout` ago or more (rule L2).
    func isOut(_ subject: SubjectIndex) -> Bool {
        let outage = outageTimeout(of: subject)
        let holds = subjects[subject].holdCount
        return holds > 0
            && (0..<holds).allSatisfy {
                adapters.isOut(subjects[subject].hold(at: $0).adapter, for: outage, at: present)
            }
    }

    /// The exit timeout of a subject's condition changed: its holds' entries follow (rule C2).
    mutating func requeueHolds(of subject: SubjectIndex) {
        let timeout = exitTimeout(of: subject)
        for position in 0..<subjects[subject].holdCount {
            let hold = subjects[subject].hold(at: position)
            let expiry = hold.start + timeout
            // One that runs out later is put back when its entry surfaces.
            guard expiry < hold.queued else { continue }
            subjects[subject].noteQueued(at: position, expiry)
            adapters[holdsOf: hold.adapter].move(
                HoldEntry(expiry: expiry, subject: subject), among: subjects, of: hold.adapter)
            expectExpiry(expiry, of: hold.adapter)
        }
    }

    /// The expiry of an adapter's earliest hold, on its clock; stale entries are put back or dropped on the way.
    mutating func earliestExpiry(of adapter: AdapterIndex) -> Int64? {
        Self.earliestExpiry(of: &adapters[holdsOf: adapter], adapter, &subjects, conditions)
    }

    // A function of its parts, so that the subjects can change while the queue does.
    private static func earliestExpiry(
        of holds: inout HoldQueue, _ adapter: AdapterIndex, _ subjects: inout SubjectTable, _ conditions: ConditionTable
    ) -> Int64? {
        holds.earliest { entry in
            guard subjects.isHeld(entry, by: adapter), let position = subjects[entry.subject].hold(by: adapter) else {
                return nil
            }
            let timeout = conditions.match(subjects[entry.subject].condition).exitTimeout
            let expiry = subjects[entry.subject].hold(at: position).start + timeout
            guard expiry > entry.expiry else { return entry }
            subjects[entry.subject].noteQueued(at: position, expiry)
            return HoldEntry(expiry: expiry, subject: entry.subject)
        }?.expiry
    }
}
