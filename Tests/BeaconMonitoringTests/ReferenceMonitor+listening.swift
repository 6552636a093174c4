import BaseTypes

@testable import BeaconMonitoring

// Adapters (L1…L5), and the order of deadlines (T3, X2, L2).
extension ReferenceMonitor {
    // MARK: Adapters

    func report(from adapter: Adapter) {
        starts(adapter, reason: nil)
        adapter.lastSign = now
    }

    func starts(_ adapter: Adapter, reason: String?) {
        guard !adapter.listens else { return }
        renameIfForgotten(adapter)
        adapter.lastSign = now
        adapter.stopped = nil
        adapter.stoppedInFact = nil
        adapter.isOnlyRemembered = false
        becomes(.listening, adapter, since: now, reason: reason)
    }

    func isOff(_ adapter: Adapter, since: Instant?, reason: String?) {
        let since = min(since ?? now, now)
        switch adapter.state {
        case .listening:
            stops(adapter, since: since)
            becomes(.off, adapter, since: since, reason: reason)
        case .deaf: becomes(.off, adapter, since: adapter.stopped!, reason: reason)
        // An adapter that is off or removed, or has never scanned, does not stop.
        case .off, .gone, nil: break
        }
    }

    func isGone(_ adapter: Adapter, reason: String?) {
        guard adapter.state != .gone else { return }
        if adapter.listens { stops(adapter, since: now) }
        adapter.stopped = nil
        becomes(.gone, adapter, since: now, reason: reason)
        for entry in entries { forget(adapter, in: entry) }
    }

    func isDeaf(_ adapter: Adapter) {
        stops(adapter, since: adapter.lastSign)
        becomes(.deaf, adapter, since: adapter.lastSign, reason: nil)
    }

    private func stops(_ adapter: Adapter, since: Instant) {
        adapter.stopped = since
        if adapter === source {
            sourceStopped = since
            return
        }
        watermark = max(watermark, since)
    }

    private func becomes(_ state: AdapterChange.State, _ adapter: Adapter, since: Instant, reason: String?) {
        adapter.state = state
        adapter.clock.run(adapter.listens, at: now)
        togetherClock.run(somethingListens, at: now)
        reportNames()
        made.append(
            .adapter(
                AdapterChange(
                    adapter: adapter.name, address: adapter.address, state: state, since: since, reason: reason,
                    time: now, clockOffset: clockOffset)))
    }

    var somethingListens: Bool { adapters.contains { $0 !== source && $0.listens } }

    /// Ends the holds of an adapter. A subject that only this adapter held gets a shared hold (rule L3).
    func forget(_ adapter: Adapter, in entry: Entry) {
        for subject in [entry.own] + entry.beacons where subject.holds.contains(where: { $0.adapter === adapter }) {
            subject.holds.removeAll { $0.adapter === adapter }
            if subject.holds.isEmpty { subject.holds = [newHold(by: nil)] }
        }
    }

    // MARK: Holders

    func newHold(by adapter: Adapter?) -> Hold { Hold(adapter: adapter, clock: clock(of: adapter)) }

    func clock(of adapter: Adapter?) -> Int64 { (adapter?.clock ?? togetherClock).value(at: now) }

    func listens(_ adapter: Adapter?) -> Bool { adapter?.listens ?? somethingListens }

    /// Returns when a holder that does not scan stopped, for L2 and L3.
    func stopped(_ adapter: Adapter?) -> Instant {
        guard let adapter else { return watermark }
        return adapter.stopped!
    }

    /// Returns whether a holder stopped `outage_timeout` ago or earlier.
    func isOut(_ adapter: Adapter?, _ entry: Entry) -> Bool {
        !listens(adapter) && stopped(adapter) + entry.monitor.settings.outageTimeout <= now
    }

    func hasRunOut(_ hold: Hold, _ entry: Entry) -> Bool {
        clock(of: hold.adapter) - hold.clock >= entry.settings.exitTimeout.nanoseconds
    }

    // MARK: Deadlines

    enum Due {
        case deaf(Adapter)
        case forgotten(Adapter, Entry)
        case subject(Subject, Entry)
    }

    var nextDeadline: Instant? { nextDue?.time }

    func handleDue(until time: Instant) {
        while let next = nextDue, next.time <= time {
            now = next.time
            switch next.due {
            case .deaf(let adapter): isDeaf(adapter)
            case .forgotten(let adapter, let entry): forget(adapter, in: entry)
            case .subject(let subject, let entry): settle(subject, entry)
            }
        }
    }

    /// The first deadline in T3's order, with its time. No deadline is before the present.
    var nextDue: (time: Instant, due: Due)? {
        var first: (time: Instant, due: Due)?
        func consider(_ time: Instant?, _ due: @autoclosure () -> Due) {
            guard var time else { return }
            if time < now { time = now }
            if let earliest = first?.time, time >= earliest { return }
            first = (time, due())
        }
        for adapter in adapters {
            if adapter.listens {
                let deafAfter = silenceMeansNotScanning ? settings.deafAfter : nil
                consider(deafAfter.map { adapter.lastSign + $0 }, .deaf(adapter))
            } else if let stopped = adapter.stopped {
                for entry in entries where holdsSomething(adapter, in: entry) {
                    let since = adapter.stoppedInFact ?? stopped
                    consider(since + entry.monitor.settings.forgetAfter, .forgotten(adapter, entry))
                }
            }
        }
        for entry in entriesByIdentifier {
            consider(due(entry.own, entry), .subject(entry.own, entry))
            for beacon in entry.beacons { consider(due(beacon, entry), .subject(beacon, entry)) }
        }
        return first
    }

    private func holdsSomething(_ adapter: Adapter, in entry: Entry) -> Bool {
        entry.own.holds.contains { $0.adapter === adapter }
            || entry.beacons.contains { $0.holds.contains { $0.adapter === adapter } }
    }

    private func due(_ subject: Subject, _ entry: Entry) -> Instant? {
        let outage = entry.monitor.settings.outageTimeout
        if entry.condition.isCircle {
            guard let source, !source.listens else { return nil }
            return subject.state == .satisfied || subject.state == .unsatisfied ? sourceStopped + outage : nil
        }
        switch subject.state {
        case .unmonitored: return nil
        case .unsatisfied:
            if subject.isOnItsWayIn { return subject.progress.last! + entry.settings.enterWindow }
            return somethingListens ? nil : watermark + outage
        case .unknown, .satisfied:
            var first: Instant?
            for hold in subject.holds {
                let left = entry.settings.exitTimeout.nanoseconds - (clock(of: hold.adapter) - hold.clock)
                guard left <= 0 || listens(hold.adapter) else { continue }
                let runsOut = Instant(nanoseconds: now.nanoseconds + max(left, 0))
                if first == nil || runsOut < first! { first = runsOut }
            }
            if subject.state == .satisfied, !subject.holds.contains(where: { listens($0.adapter) }) {
                let out = subject.holds.map { stopped($0.adapter) }.max()! + outage
                if first == nil || out < first! { first = out }
            }
            return first
        }
    }

    /// Handles all present deadlines of a subject in one step.
    private func settle(_ subject: Subject, _ entry: Entry) {
        guard !subject.isOnItsWayIn else { return forget(subject, entry) }
        if entry.condition.isCircle { return change(subject, entry, to: .unknown, because: .scannerUnavailable) }
        subject.holds.removeAll { hasRunOut($0, entry) }
        var state = subject.state
        var isOutage = false
        if state == .satisfied || state == .unknown, subject.holds.isEmpty {
            state = .unsatisfied
        } else if state == .satisfied, subject.holds.allSatisfy({ isOut($0.adapter, entry) }) {
            state = .unknown
            isOutage = true
            subject.holds = subject.holds.map { newHold(by: $0.adapter) }
        }
        if state == .unsatisfied, subject.beacon == nil, isOut(nil, entry) {
            state = .unknown
            isOutage = true
            subject.holds = [newHold(by: nil)]
        }
        guard state != subject.state else { return }
        change(subject, entry, to: state, because: isOutage ? .scannerUnavailable : [])
        if state == .unsatisfied {
            endVisit(of: subject, entry, reason: .exitTimeout)
            if subject.beacon != nil { forget(subject, entry) }
        }
    }
}
