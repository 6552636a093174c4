import BluetoothLE

// The path of a sighting: which subjects it concerns, and what it does to them.
extension MonitorEngine {
    /// Hands a sighting, as the refresh that it may be, to the subjects of the conditions that it matches.
    @inline(__always)
    mutating func match(_ uuid: ProximityUUID, _ last: Refresh, _ strength: Int16, into actions: inout ActionBuffer) {
        let place = find(uuid, last)
        if place < 0 { return considerFound(last.sighting(uuid: uuid), into: &actions) }
        let clock = adapters.clock(of: last.adapter).runningReading(at: present)
        let isLeft = Self.refreshAlone(
            &subjects, of: conditions.lookup.memo.entries, at: place, by: last, strength, clock)
        if isLeft != 0 { refreshLeft(isLeft, at: place, by: last.sighting(uuid: uuid), into: &actions) }
    }

    /// The place in the memo of what a beacon concerns, looked up where it is not remembered.
    ///
    /// - Returns: −1 where it can't be remembered: the conditions stand in ``foundScratch``, to be considered one by one.
    @inline(__always)
    private mutating func find(_ uuid: ProximityUUID, _ last: Refresh) -> Int {
        let hash = conditions.lookup.hash(uuid)
        let place = conditions.lookup.remembered(uuid, last.number, hash: hash)
        if place >= 0 { return place }
        guard lookUp(last.beacon(uuid: uuid), hash: hash) else { return -1 }
        return conditions.lookup.remembered(uuid, last.number, hash: hash)
    }

    /// Finds the conditions on a beacon, and remembers them.
    ///
    /// - Returns: whether they are remembered; where not, they stand in ``foundScratch``.
    @inline(never)
    private mutating func lookUp(_ beacon: BeaconIdentity, hash: UInt64) -> Bool {
        conditions.lookup.find(beacon, hash: hash, into: &foundScratch)
        if foundScratch.isEmpty { conditions.noteReversed(beacon) }
        guard conditions.remember(foundScratch, for: beacon, hash: hash) else { return false }
        foundScratch.removeAll(keepingCapacity: true)
        return true
    }

    // A function of its parts, so that the subjects can change while the entry is borrowed.
    @inline(__always)
    private static func refreshAlone(
        _ subjects: inout SubjectTable, of entries: borrowing ContiguousArray<MatchMemo.Entry>, at place: Int,
        by last: Refresh, _ strength: Int16, _ clock: Int64
    ) -> UInt8 {
        let entries = entries.span
        return subjects.withSubjects { subjects in
            var isLeft: UInt8 = 0
            for number in 0..<Int(entries[place].count) {
                let subject = entries[place].subjects[number]
                if !subjects[subject.offset].refreshAlone(by: last, strength, last.adapter, clock) {
                    isLeft |= 1 << UInt8(truncatingIfNeeded: number)
                }
            }
            return isLeft
        }
    }

    /// The subjects of an entry that are not held by the sighting's adapter alone, or not satisfied.
    @inline(never)
    mutating func refreshLeft(
        _ isLeft: UInt8, at place: Int, by sighting: Sighting, into actions: inout ActionBuffer
    ) {
        let entry = conditions.lookup.memo.entries[place]
        for number in 0..<Int(entry.count) where isLeft & 1 << UInt8(number) != 0 {
            let subject = entry.subjects[number]
            if subjects[subject].state == .satisfied {
                guard sighting.strength >= subjects[subject].exitRSSI else { continue }
                refresh(subject, by: sighting, sighting.strength)
                subjects[subject].noteLoneAdapter()
            } else {
                foundScratch.append(subjects[subject].condition)
            }
        }
        if !foundScratch.isEmpty { considerFound(sighting, into: &actions) }
    }

    /// Hands a sighting to the conditions that were found, by identifier.
    @inline(never)
    private mutating func considerFound(_ sighting: Sighting, into actions: inout ActionBuffer) {
        // Nearly always one: a condition that follows each beacon of a UUID, which is looked up each time.
        if foundScratch.count == 1 {
            return considerFound(foundScratch.removeLast(), by: sighting, sighting.strength, into: &actions)
        }
        let strength = sighting.strength
        var found: [ConditionIndex] = []
        swap(&found, &foundScratch)
        found.sort { conditions.precedes($0, $1) }
        for condition in found { considerFound(condition, by: sighting, strength, into: &actions) }
        found.removeAll(keepingCapacity: true)
        swap(&found, &foundScratch)
    }

    /// Hands a sighting to a condition: to its own subject, then to its beacon's (rule E4).
    @inline(__always)
    private mutating func considerFound(
        _ condition: ConditionIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let match = conditions.match(condition)
        if match.refusesStrangers, subjects.find(sighting.beacon, under: condition) == nil,
            !namedBeacons.contains(sighting.beacon)
        {
            return
        }
        consider(match.subject, by: sighting, strength, into: &actions)
        if match.perBeacon { considerBeacon(of: condition, by: sighting, strength, into: &actions) }
    }

    /// What a matching sighting does to one subject (rules E1, E2, L3, X1).
    mutating func consider(
        _ subject: SubjectIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let condition = subjects[subject].condition
        let exitRSSI = conditions.match(condition).exitRSSI
        switch subjects[subject].state {
        case .satisfied:
            guard strength >= exitRSSI else { return }
            refresh(subject, by: sighting, strength)
            if subjects[subject].isBeacon { subjects[subject].order = strangers.nextOrder() }
        case .unknown where subjects[subject].wasSatisfied:
            if strength >= exitRSSI { satisfy(subject, by: sighting, strength, into: &actions) }
        case .unknown, .unsatisfied:
            guard strength >= conditions[condition].enterRSSI else { return }
            subjects[detailsOf: subject].progress.noteQualifying(at: present)
            guard suffices(subject), mayEnter(subject, into: &actions) else { return }
            satisfy(subject, by: sighting, strength, into: &actions)
        case .unmonitored:
            return
        }
    }

    /// Counts what qualifies now; whether it is the `enter_count`-th within `enter_window` (rule E1).
    mutating func suffices(_ subject: SubjectIndex) -> Bool {
        let condition = subjects[subject].condition
        let count = conditions[condition].settings.enterCount
        guard count > 1 else { return true }
        return subjects[detailsOf: subject].progress.suffices(
            at: present, count: count, window: conditions[condition].enterWindow)
    }

    private mutating func satisfy(
        _ subject: SubjectIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        if subjects[subject].isOnTheWayIn { wayIn.end() }
        openVisit(subject)
        refresh(subject, by: sighting, strength)
        if subjects[subject].isBeacon {
            subjects[subject].order = strangers.nextOrder()
            strangers.insert(subject, subjects)
        }
        become(.satisfied, subject, isOutage: false, into: &actions)
    }

    @inline(__always)
    private mutating func refresh(_ subject: SubjectIndex, by sighting: Sighting, _ strength: Int16) {
        let adapter = AdapterIndex(sighting.adapter)
        refreshHold(on: subject, by: adapter, clock: adapters.reading(of: adapter, at: present))
        subjects[subject].refresh(by: Refresh(sighting, at: present), strength)
    }

    /// Begins a visit, where none is open (rule P3).
    mutating func openVisit(_ subject: SubjectIndex) {
        guard !subjects[subject].isVisited else { return }
        subjects[subject].openVisit()
        subjects[detailsOf: subject].arrival = present
    }
}
