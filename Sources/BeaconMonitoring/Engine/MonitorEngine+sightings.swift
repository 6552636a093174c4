import BluetoothLE
import HeapModule

// The path of a sighting: which subjects it concerns, and what it does to them.
extension MonitorEngine {
    /// Hands a sighting, as the refresh that it may be, to the subjects of the conditions that it matches.
    @inline(__always)
    mutating func match(_ uuid: ProximityUUID, _ last: Refresh, _ strength: Int16, into actions: inout ActionBuffer) {
        let place = find(uuid, last)
        if place < 0 { return considerLeft(last.sighting(uuid: uuid), into: &actions) }
        let adapter = last.adapter
        let clock = present - adapters[Int(adapter)].offset
        let isLeft = Self.refreshAlone(&subjects, of: memo.entries, at: place, by: last, strength, clock)
        if isLeft != 0 { refreshLeft(isLeft, at: place, by: last.sighting(uuid: uuid), clock, into: &actions) }
    }

    /// The place in the memo of what a beacon concerns, looked up where it is not remembered.
    ///
    /// - Returns: −1 where it can't be remembered: the conditions stand in ``scratch``, to be considered one by one.
    @inline(__always)
    private mutating func find(_ uuid: ProximityUUID, _ last: Refresh) -> Int {
        let hash = conditionTable.hash(uuid)
        let place = memo.find(uuid, last.number, hash: hash)
        if place >= 0 { return place }
        return lookUp(last.beacon(uuid: uuid), hash: hash) ? memo.find(uuid, last.number, hash: hash) : -1
    }

    // A function of its parts, so that the subjects can change while the entry is borrowed.
    @inline(__always)
    private static func refreshAlone(
        _ subjects: inout ContiguousArray<Subject>, of entries: borrowing ContiguousArray<MatchMemo.Entry>,
        at place: Int,
        by last: Refresh, _ strength: Int16, _ clock: Int64
    ) -> UInt8 {
        let entries = entries.span
        var subjects = subjects.mutableSpan
        var isLeft: UInt8 = 0
        for index in 0..<Int(entries[place].count)
        where !subjects[Int(entries[place].subjects[index])].refreshAlone(by: last, strength, last.adapter, clock) {
            isLeft |= 1 << UInt8(truncatingIfNeeded: index)
        }
        return isLeft
    }

    /// The subjects of an entry that are not held by the sighting's adapter alone, or not satisfied.
    @inline(never)
    mutating func refreshLeft(
        _ isLeft: UInt8, at place: Int, by sighting: Sighting, _ clock: Int64,
        into actions: inout ActionBuffer
    ) {
        let entry = memo.entries[place]
        for index in 0..<Int(entry.count) where isLeft & 1 << UInt8(index) != 0 {
            let subject = Int(entry.subjects[index])
            if subjects[subject].state == .satisfied {
                guard sighting.strength >= subjects[subject].exitRSSI else { continue }
                refreshHold(on: subject, by: Int(sighting.adapter.index), clock: clock)
                subjects[subject].refresh(by: Refresh(sighting, at: present), sighting.strength)
                subjects[subject].noteLoneAdapter()
            } else {
                scratch.append(subjects[subject].condition)
            }
        }
        if !scratch.isEmpty { considerLeft(sighting, into: &actions) }
    }

    /// Finds the conditions on a beacon and remembers them.
    ///
    /// - Returns: whether they are remembered; where not, they stand in ``scratch``, to be considered one by one.
    @inline(never)
    private mutating func lookUp(_ beacon: BeaconIdentity, hash: UInt64) -> Bool {
        let place = conditionTable.find(beacon.uuid, hash: hash, extra: 0)
        if place >= 0 {
            let entry = uuids[Int(place)]
            let major = UInt64(beacon.major) << 16
            collect(entry.first)
            if entry.counts[1] > 0 { collect(conditionTable.find(beacon.uuid, hash: hash, extra: 1 << 32 | major)) }
            if entry.counts[2] > 0 {
                collect(conditionTable.find(beacon.uuid, hash: hash, extra: 2 << 32 | major | UInt64(beacon.minor)))
            }
        }
        guard scratch.count <= MatchMemo.conditionsMax, !scratch.contains(where: { matches[Int($0)].perBeacon }) else {
            return false
        }
        var entry = MatchMemo.Entry()
        entry.count = Int32(scratch.count)
        for (index, condition) in scratch.enumerated() {
            entry.subjects[index] = matches[Int(condition)].subject
        }
        memo.keep(entry, for: beacon, hash: hash)
        scratch.removeAll(keepingCapacity: true)
        return true
    }

    private mutating func collect(_ first: Int32) {
        var condition = first
        while condition >= 0 {
            scratch.append(condition)
            condition = matches[Int(condition)].next
        }
    }

    /// The conditions that were left, by identifier: each condition's own subject, then its beacon's (rule E4).
    @inline(never)
    private mutating func considerLeft(_ sighting: Sighting, into actions: inout ActionBuffer) {
        let strength = sighting.strength
        var left: [Int32] = []
        swap(&left, &scratch)
        if left.count > 1 { left.sort { precedes(condition: $0, $1) } }
        for condition in left {
            let match = matches[Int(condition)]
            if match.refusesStrangers, !isTracked(sighting.beacon, under: condition),
                !namedBeacons.contains(sighting.beacon)
            {
                continue
            }
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
            subjects[subject].refresh(by: Refresh(sighting, at: present), strength)
            if subjects[subject].isBeacon { noteOrder(subject) }
        case .unknown where subjects[subject].wasSatisfied:
            if strength >= exitRSSI { satisfy(subject, by: sighting, into: &actions) }
        case .unknown, .unsatisfied:
            guard strength >= conditions[condition].enterRSSI else { return }
            details[subject].lastQualifying = present
            guard suffices(subject), mayEnter(subject, into: &actions) else { return }
            satisfy(subject, by: sighting, into: &actions)
        case .unmonitored:
            return
        }
    }

    /// Counts what qualifies now; whether it is the `enter_count`-th within `enter_window` (rule E1).
    mutating func suffices(_ subject: Int) -> Bool {
        let settings = conditions[Int(subjects[subject].condition)].settings
        guard settings.enterCount > 1 else { return true }
        let edge = present - settings.enterWindow.nanoseconds
        details[subject].progress.removeAll { $0 <= edge }
        guard details[subject].progress.count + 1 >= settings.enterCount else {
            details[subject].progress.append(present)
            return false
        }
        return true
    }

    private mutating func satisfy(_ subject: Int, by sighting: Sighting, into actions: inout ActionBuffer) {
        if subjects[subject].isOnTheWayIn { wayInCount -= 1 }
        if !subjects[subject].isVisited {
            subjects[subject].openVisit()
            details[subject].arrival = present
        }
        let adapter = Int(sighting.adapter.index)
        refreshHold(on: subject, by: adapter, clock: adapters[adapter].clock(at: present))
        subjects[subject].refresh(by: Refresh(sighting, at: present), sighting.strength)
        if subjects[subject].isBeacon {
            noteOrder(subject)
            noteDisplaceable(subject)
        }
        become(.satisfied, subject, isOutage: false, into: &actions)
    }
}

extension BeaconFrame {
    /// Minor and major, as the memo has them.
    @inline(__always)
    var number: UInt32 { UInt32(truncatingIfNeeded: packed) }

    /// The RSSI, where an absent one is below every threshold (rule E2).
    @inline(__always)
    var strength: Int16 {
        let octet = UInt8(truncatingIfNeeded: packed >> 48)
        return octet == 0x7F ? ConditionMatch.absentRSSI : Int16(Int8(bitPattern: octet))
    }
}

extension Sighting {
    /// The RSSI, where an absent one is below every threshold (rule E2).
    @inline(__always)
    var strength: Int16 { rssi.map { Int16($0.dBm) } ?? ConditionMatch.absentRSSI }
}
