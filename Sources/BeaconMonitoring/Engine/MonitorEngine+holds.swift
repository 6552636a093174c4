import BluetoothLE
import HeapModule

// Who holds what, and until when.
extension MonitorEngine {
    func exitTimeout(of subject: Int) -> Int64 { matches[Int(subjects[subject].condition)].exitTimeout }

    /// Whether a heap's entry is the one of a hold that is alive.
    func isAlive(_ entry: HoldEntry, of place: Int) -> Bool {
        let subject = Int(entry.subject)
        guard subjects[subject].condition >= 0, subjects[subject].isHeld else { return false }
        if Int(subjects[subject].hold.adapter) == place { return subjects[subject].hold.queued == entry.expiry }
        for hold in subjects[subject].others where Int(hold.adapter) == place { return hold.queued == entry.expiry }
        return false
    }

    /// Makes an adapter's hold on a subject that it does not hold, from now, the latest of them.
    mutating func addHold(on subject: Int, by place: Int) {
        let start = adapters[place].clock(at: present)
        let expiry = start + exitTimeout(of: subject)
        if subjects[subject].isHeld { subjects[subject].others.append(subjects[subject].hold) }
        subjects[subject].hold = Hold(adapter: UInt16(place), start: start, queued: expiry)
        subjects[subject].isHeld = true
        adapters[place].holdCount += 1
        queue(HoldEntry(expiry: expiry, subject: Int32(subject)), for: place)
    }

    private mutating func queue(_ entry: HoldEntry, for place: Int) {
        adapters[place].holds.insert(entry)
        if adapters[place].isListening { wake = min(wake, entry.expiry + adapters[place].offset) }
        // Holds that ended otherwise leave stale entries: at most one for each that is alive, and some.
        if adapters[place].holds.count > 2 * adapters[place].holdCount + 64 {
            let entries = adapters[place].holds.unordered.filter { isAlive($0, of: place) }
            adapters[place].holds = Heap(entries)
        }
    }

    /// Ends an adapter's hold on a subject, where there is one.
    mutating func dropHold(of subject: Int, by adapter: UInt16) {
        guard subjects[subject].isHeld else { return }
        if subjects[subject].hold.adapter == adapter {
            dropLatestHold(of: subject)
        } else if let index = subjects[subject].others.firstIndex(where: { $0.adapter == adapter }) {
            subjects[subject].others.remove(at: index)
            adapters[Int(adapter)].holdCount -= 1
        }
    }

    private mutating func dropLatestHold(of subject: Int) {
        adapters[Int(subjects[subject].hold.adapter)].holdCount -= 1
        if let previous = subjects[subject].others.popLast() {
            subjects[subject].hold = previous
        } else {
            subjects[subject].isHeld = false
        }
    }

    mutating func dropAllHolds(of subject: Int) {
        while subjects[subject].isHeld { dropLatestHold(of: subject) }
    }

    /// Ends the holds whose time is up on their adapters' clocks.
    mutating func dropExpiredHolds(of subject: Int) {
        guard subjects[subject].isHeld else { return }
        let timeout = exitTimeout(of: subject)
        var index = 0
        while index < subjects[subject].others.count {
            let hold = subjects[subject].others[index]
            if adapters[Int(hold.adapter)].clock(at: present) >= hold.start + timeout {
                subjects[subject].others.remove(at: index)
                adapters[Int(hold.adapter)].holdCount -= 1
            } else {
                index += 1
            }
        }
        let hold = subjects[subject].hold
        if adapters[Int(hold.adapter)].clock(at: present) >= hold.start + timeout { dropLatestHold(of: subject) }
    }

    /// Lets every hold of a subject begin anew (rule L2).
    mutating func restartHolds(of subject: Int) {
        guard subjects[subject].isHeld else { return }
        for index in subjects[subject].others.indices {
            let place = Int(subjects[subject].others[index].adapter)
            subjects[subject].others[index].start = adapters[place].clock(at: present)
        }
        let place = Int(subjects[subject].hold.adapter)
        subjects[subject].hold.start = adapters[place].clock(at: present)
    }

    /// The adapter's hold on a subject begins anew; the holds that rule L3 ends are ended.
    @inline(__always)
    mutating func refreshHold(on subject: Int, by place: Int, clock: Int64) {
        if Int(subjects[subject].hold.adapter) == place, subjects[subject].isHeld, subjects[subject].others.isEmpty {
            subjects[subject].hold.start = clock
        } else {
            refreshHolds(on: subject, by: place, clock: clock)
        }
    }

    @inline(never)
    private mutating func refreshHolds(on subject: Int, by place: Int, clock: Int64) {
        let outage = monitors[Int(matches[Int(subjects[subject].condition)].monitor)].outageTimeout
        var index = 0
        while index < subjects[subject].others.count {
            if isEnded(by: Int(subjects[subject].others[index].adapter), outage: outage) {
                adapters[Int(subjects[subject].others[index].adapter)].holdCount -= 1
                subjects[subject].others.remove(at: index)
            } else {
                index += 1
            }
        }
        if subjects[subject].isHeld, isEnded(by: Int(subjects[subject].hold.adapter), outage: outage) {
            dropLatestHold(of: subject)
        }
        if subjects[subject].isHeld, Int(subjects[subject].hold.adapter) == place {
            subjects[subject].hold.start = clock
        } else if let index = subjects[subject].others.firstIndex(where: { Int($0.adapter) == place }) {
            // The latest and this one change places; those between move down.
            var mine = subjects[subject].others.remove(at: index)
            mine.start = clock
            subjects[subject].others.append(subjects[subject].hold)
            subjects[subject].hold = mine
        } else {
            addHold(on: subject, by: place)
            if subjects[subject].others.count >= Self.holdersMax {
                adapters[Int(subjects[subject].others[0].adapter)].holdCount -= 1
                subjects[subject].others.remove(at: 0)
            }
        }
    }

    /// Whether a refresh by another ends this adapter's hold (rule L3): all together, and one away for too long.
    private func isEnded(by place: Int, outage: Int64) -> Bool {
        place == 0 || (!adapters[place].isListening && adapters[place].stoppedAt + outage <= present)
    }

    /// Whether every adapter that holds the subject stopped `outage_timeout` ago or more (rule L2).
    func isOut(_ subject: Int) -> Bool {
        guard subjects[subject].isHeld else { return false }
        let outage = monitors[Int(matches[Int(subjects[subject].condition)].monitor)].outageTimeout
        guard isOut(Int(subjects[subject].hold.adapter), outage) else { return false }
        return subjects[subject].others.allSatisfy { isOut(Int($0.adapter), outage) }
    }

    /// Whether an adapter, or all together, stopped `outage` ago or more.
    func isOut(_ place: Int, _ outage: Int64) -> Bool {
        !adapters[place].isListening && adapters[place].stoppedAt + outage <= present
    }

    /// The exit timeout of a subject's condition changed: its holds' entries follow (rule C2).
    mutating func requeueHolds(of subject: Int) {
        guard subjects[subject].isHeld else { return }
        let timeout = exitTimeout(of: subject)
        for index in subjects[subject].others.indices {
            let hold = subjects[subject].others[index]
            guard hold.start + timeout < hold.queued else { continue }
            subjects[subject].others[index].queued = hold.start + timeout
            queue(HoldEntry(expiry: hold.start + timeout, subject: Int32(subject)), for: Int(hold.adapter))
        }
        let hold = subjects[subject].hold
        guard hold.start + timeout < hold.queued else { return }
        subjects[subject].holdQueued = hold.start + timeout
        queue(HoldEntry(expiry: hold.start + timeout, subject: Int32(subject)), for: Int(hold.adapter))
    }

    /// The expiry of an adapter's earliest hold, on its clock; stale entries are put back or dropped on the way.
    mutating func earliestExpiry(of place: Int) -> Int64? {
        while let entry = adapters[place].holds.min {
            guard isAlive(entry, of: place) else {
                adapters[place].holds.removeMin()
                continue
            }
            let subject = Int(entry.subject)
            let timeout = exitTimeout(of: subject)
            let isLatest = Int(subjects[subject].hold.adapter) == place
            let index = isLatest ? 0 : subjects[subject].others.firstIndex { Int($0.adapter) == place } ?? 0
            let expiry = (isLatest ? subjects[subject].hold : subjects[subject].others[index]).start + timeout
            guard expiry > entry.expiry else { return entry.expiry }
            if isLatest {
                subjects[subject].holdQueued = expiry
            } else {
                subjects[subject].others[index].queued = expiry
            }
            adapters[place].holds.replaceMin(with: HoldEntry(expiry: expiry, subject: entry.subject))
        }
        return nil
    }
}
