import BluetoothLE
import HeapModule

// What becomes due with time, in the order of rule T3.
extension MonitorEngine {
    /// Handles all that is due at or before `time`.
    mutating func handleDue(until time: Int64, into actions: inout ActionBuffer) {
        while true {
            rearm()
            guard wake <= time else { return }
            // A due time that lay before now when it came to exist is due now (rule T2).
            present = max(present, wake)
            var due: [Int32] = []
            swap(&due, &scratch)
            handleDueAdapters(&due, into: &actions)
            collectDue(into: &due)
            settle(&due, into: &actions)
            // The next to use it is the path of a sighting, which expects it empty.
            due.removeAll(keepingCapacity: true)
            swap(&due, &scratch)
        }
    }

    /// Finds out when something is due next.
    mutating func rearm() {
        var next = Int64.max
        for place in adapters.indices {
            if let expiry = earliestExpiry(of: place) {
                if adapters[place].isListening {
                    next = min(next, expiry + adapters[place].offset)
                } else if expiry <= adapters[place].stoppedClock {
                    next = min(next, present)
                }
            }
            next = min(next, nextChange(of: place))
        }
        while let entry = wayIn.min {
            guard let due = forgetting(entry) else {
                wayIn.removeMin()
                continue
            }
            guard due > entry.time else {
                next = min(next, due)
                break
            }
            wayIn.replaceMin(with: WayInEntry(time: due, subject: entry.subject))
        }
        wake = next
    }

    /// When an adapter next goes deaf, is out for an outage timeout, or is forgotten.
    private func nextChange(of place: Int) -> Int64 {
        let adapter = adapters[place]
        if adapter.isListening {
            guard place > 0, takesSilenceForDeafness, let deafAfter else { return .max }
            return adapter.lastReport + deafAfter
        }
        guard place == 0 || adapter.hasListened || adapter.isLocation else { return .max }
        var next = Int64.max
        if adapter.outagesHandled < outages.count {
            next = adapter.stoppedAt + outages[adapter.outagesHandled].timeout
        }
        if place > 0, adapter.hasListened, adapter.forgettingsHandled < forgettings.count {
            next = min(next, adapter.silentSince + forgettings[adapter.forgettingsHandled].timeout)
        }
        return next
    }

    /// Adapters that go deaf (rule L5) or are forgotten (rule L3) now, by name.
    ///
    /// A subject that a forgotten one held is put to `due`: what holds it still may all have stopped long ago, where
    /// this one is said now to have stopped even longer ago.
    private mutating func handleDueAdapters(_ due: inout [Int32], into actions: inout ActionBuffer) {
        var dueAdapters: [Int] = []
        for place in adapters.indices.dropFirst() {
            if isDeaf(place) || isForgotten(place) { dueAdapters.append(place) }
        }
        if dueAdapters.count > 1 {
            dueAdapters.sort { adapters[$0].name.utf8.lexicographicallyPrecedes(adapters[$1].name.utf8) }
        }
        for place in dueAdapters {
            if isDeaf(place) {
                stop(place, since: adapters[place].lastReport)
                report(place, .deaf, since: adapters[place].stoppedAt, reason: nil, into: &actions)
            }
            while isForgotten(place) {
                forget(place, monitor: forgettings[adapters[place].forgettingsHandled].monitor, due: &due)
                adapters[place].forgettingsHandled += 1
            }
        }
    }

    private func isDeaf(_ place: Int) -> Bool {
        guard takesSilenceForDeafness, let deafAfter, adapters[place].isListening else { return false }
        return adapters[place].lastReport + deafAfter <= present
    }

    private func isForgotten(_ place: Int) -> Bool {
        let adapter = adapters[place]
        guard !adapter.isListening, adapter.hasListened, adapter.forgettingsHandled < forgettings.count else {
            return false
        }
        return adapter.silentSince + forgettings[adapter.forgettingsHandled].timeout <= present
    }

    /// The subjects for which something is due now.
    private mutating func collectDue(into due: inout [Int32]) {
        for place in adapters.indices {
            while let expiry = earliestExpiry(of: place), expiry <= adapters[place].clock(at: present) {
                due.append(adapters[place].holds.removeMin().subject)
            }
            guard !adapters[place].isListening,
                place == 0 || adapters[place].hasListened || adapters[place].isLocation
            else { continue }
            while adapters[place].outagesHandled < outages.count,
                adapters[place].stoppedAt + outages[adapters[place].outagesHandled].timeout <= present
            {
                let monitor = outages[adapters[place].outagesHandled].monitor
                adapters[place].outagesHandled += 1
                collectHeld(by: place, monitor: monitor, into: &due)
            }
        }
        while let entry = wayIn.min, entry.time <= present {
            wayIn.removeMin()
            guard let time = forgetting(entry) else { continue }
            if time <= present {
                due.append(entry.subject)
            } else {
                wayIn.insert(WayInEntry(time: time, subject: entry.subject))
            }
        }
    }

    private func collectHeld(by place: Int, monitor: UInt16, into due: inout [Int32]) {
        guard !adapters[place].isLocation else {
            for circle in circles where matches[Int(circle)].monitor == monitor {
                due.append(matches[Int(circle)].subject)
            }
            return
        }
        for entry in adapters[place].holds.unordered where isAlive(entry, of: place) {
            if matches[Int(subjects[Int(entry.subject)].condition)].monitor == monitor { due.append(entry.subject) }
        }
        guard place == 0 else { return }
        for match in matches where match.monitor == monitor && match.subject >= 0 {
            if subjects[Int(match.subject)].state == .unsatisfied { due.append(match.subject) }
        }
    }

    /// When the beacon of an entry is forgotten (rule P1); `nil` where it is no longer on its way in.
    private func forgetting(_ entry: WayInEntry) -> Int64? {
        let subject = Int(entry.subject)
        guard subjects[subject].condition >= 0, subjects[subject].isOnTheWayIn else { return nil }
        return details[subject].lastQualifying + conditions[Int(subjects[subject].condition)].enterWindow
    }

    /// Settles subjects in the order of rule T3, each once.
    mutating func settle(_ due: inout [Int32], into actions: inout ActionBuffer) {
        if due.count > 1 {
            if due.count > 16 { makeRanks() }
            due.sort { precedes(Int($0), Int($1)) }
        }
        var previous: Int32 = -1
        for subject in due where subject != previous {
            previous = subject
            settle(Int(subject), into: &actions)
        }
    }

    /// Gives a subject the state that its holds and its adapters' listening leave it now (rules L2, X2); a beacon on its
    /// way in is forgotten (rule P1).
    mutating func settle(_ subject: Int, into actions: inout ActionBuffer) {
        guard subjects[subject].condition >= 0 else { return }
        guard !subjects[subject].isOnTheWayIn else { return forgetBeacon(subject) }
        let before = subjects[subject].state
        guard before != .unmonitored else { return }
        if isCircle(subject) { return settleCircle(subject, into: &actions) }
        dropExpiredHolds(of: subject)
        let leaves = subjects[subject].canLeave && !subjects[subject].isHeld
        if leaves || before == .unsatisfied {
            let outage = monitors[Int(matches[Int(subjects[subject].condition)].monitor)].outageTimeout
            if !subjects[subject].isBeacon, isOut(0, outage) {
                addHold(on: subject, by: 0)
                becomeUnknown(subject, before: before, into: &actions)
            } else if leaves {
                become(.unsatisfied, subject, isOutage: false, into: &actions)
                if subjects[subject].isBeacon { forgetBeacon(subject) }
            }
        } else if before == .satisfied, isOut(subject) {
            restartHolds(of: subject)
            becomeUnknown(subject, before: before, into: &actions)
        }
    }

    mutating func becomeUnknown(_ subject: Int, before: BeaconMonitor.Event.State, into actions: inout ActionBuffer) {
        guard before != .unknown else { return }
        become(.unknown, subject, isOutage: true, into: &actions)
        subjects[subject].wasSatisfied = before == .satisfied
    }

    /// The order of two subjects at one time: by identifier, a condition before its beacons (rule T3).
    func precedes(_ left: Int, _ right: Int) -> Bool {
        let (leftCondition, rightCondition) = (subjects[left].condition, subjects[right].condition)
        guard leftCondition == rightCondition else { return precedes(condition: leftCondition, rightCondition) }
        guard subjects[left].isBeacon, subjects[right].isBeacon else {
            return subjects[right].isBeacon && !subjects[left].isBeacon
        }
        return beacon(of: left) < beacon(of: right)
    }

    /// The order of two conditions: by identifier.
    func precedes(condition left: Int32, _ right: Int32) -> Bool {
        ranksValid
            ? conditions[Int(left)].rank < conditions[Int(right)].rank
            : conditions[Int(left)].identifier < conditions[Int(right)].identifier
    }

    /// Gives every condition its place in the order of identifiers.
    mutating func makeRanks() {
        guard !ranksValid else { return }
        let order = conditionPlaces.values.sorted { conditions[Int($0)].identifier < conditions[Int($1)].identifier }
        for (rank, condition) in order.enumerated() { conditions[Int(condition)].rank = Int32(rank) }
        ranksValid = true
        giveWayValid = false
    }
}
