import BluetoothLE
import HeapModule

// The path of a sighting: which subjects it concerns, and what it does to them.
extension MonitorEngine {
    mutating func match(_ sighting: Sighting, into actions: inout ActionBuffer) {
        let uuid = sighting.beacon.uuid
        let hash = conditionTable.hash(uuid)
        let place = conditionTable.find(uuid, hash: hash, extra: 0)
        guard place >= 0 else { return }
        let entry = uuids[Int(place)]
        let adapter = Int(sighting.adapter.index)
        let clock = present - adapters[adapter].offset
        var sighting = sighting
        sighting.time = now
        let strength = sighting.rssi.map { Int16($0.dBm) } ?? ConditionMatch.absentRSSI
        var isRefreshOnly = refresh(entry.first, by: sighting, strength, adapter, clock)
        let major = UInt64(sighting.beacon.major) << 16
        if entry.counts[1] > 0 {
            let first = conditionTable.find(uuid, hash: hash, extra: 1 << 32 | major)
            if !refresh(first, by: sighting, strength, adapter, clock) { isRefreshOnly = false }
        }
        if entry.counts[2] > 0 {
            let first = conditionTable.find(uuid, hash: hash, extra: 2 << 32 | major | UInt64(sighting.beacon.minor))
            if !refresh(first, by: sighting, strength, adapter, clock) { isRefreshOnly = false }
        }
        if !isRefreshOnly { considerAll(sighting, strength, into: &actions) }
    }

    /// Refreshes the subjects of a list of conditions; those that a sighting may change are left to ``considerAll``.
    @inline(__always)
    private mutating func refresh(
        _ first: Int32, by sighting: Sighting, _ strength: Int16, _ adapter: Int, _ clock: Int64
    ) -> Bool {
        var condition = first
        var isRefreshOnly = true
        while condition >= 0 {
            let match = matches[Int(condition)]
            let subject = Int(match.subject)
            if !match.perBeacon, subjects[subject].state == .satisfied {
                if strength >= match.exitRSSI {
                    refreshHold(on: subject, by: adapter, clock: clock)
                    subjects[subject].refresh(by: sighting)
                }
            } else {
                isRefreshOnly = false
                scratch.append(condition)
            }
            condition = match.next
        }
        return isRefreshOnly
    }

    /// The conditions that were left, by identifier: each condition's own subject, then its beacon's (rule E4).
    @inline(never)
    private mutating func considerAll(_ sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer) {
        var left: [Int32] = []
        swap(&left, &scratch)
        if left.count > 1 { left.sort { precedes(condition: $0, $1) } }
        for condition in left {
            let match = matches[Int(condition)]
            consider(Int(match.subject), by: sighting, strength, into: &actions)
            if match.perBeacon { considerBeacon(of: condition, by: sighting, strength, into: &actions) }
        }
        left.removeAll(keepingCapacity: true)
        swap(&left, &scratch)
    }

    /// What a matching sighting does to one subject (rules E1, E2, L3, X1).
    mutating func consider(
        _ subject: Int, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let condition = Int(subjects[subject].condition)
        let exitRSSI = matches[condition].exitRSSI
        switch subjects[subject].state {
        case .satisfied:
            guard strength >= exitRSSI else { return }
            let adapter = Int(sighting.adapter.index)
            refreshHold(on: subject, by: adapter, clock: adapters[adapter].clock(at: present))
            subjects[subject].refresh(by: sighting)
        case .unknown where subjects[subject].wasSatisfied:
            if strength >= exitRSSI { satisfy(subject, by: sighting, into: &actions) }
        case .unknown, .unsatisfied:
            guard strength >= conditions[condition].enterRSSI else { return }
            subjects[subject].lastQualifying = present
            let settings = conditions[condition].settings
            if settings.enterCount > 1 {
                let edge = present - settings.enterWindow.nanoseconds
                subjects[subject].progress.removeAll { $0 <= edge }
                guard subjects[subject].progress.count + 1 >= settings.enterCount else {
                    subjects[subject].progress.append(present)
                    return
                }
            }
            satisfy(subject, by: sighting, into: &actions)
        case .unmonitored:
            return
        }
    }

    private mutating func satisfy(_ subject: Int, by sighting: Sighting, into actions: inout ActionBuffer) {
        if subjects[subject].isOnTheWayIn { wayInCount -= 1 }
        if !subjects[subject].isVisited { subjects[subject].openVisit(arrival: present) }
        let adapter = Int(sighting.adapter.index)
        refreshHold(on: subject, by: adapter, clock: adapters[adapter].clock(at: present))
        subjects[subject].refresh(by: sighting)
        become(.satisfied, subject, isOutage: false, into: &actions)
    }
}
