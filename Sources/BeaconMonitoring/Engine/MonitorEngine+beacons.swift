import BluetoothLE
import HeapModule

// The beacons under conditions (rules P1, P2, P4).
extension MonitorEngine {
    private static func extra(_ condition: Int32, _ beacon: BeaconIdentity) -> UInt64 {
        UInt64(UInt32(bitPattern: condition)) << 32 | UInt64(beacon.major) << 16 | UInt64(beacon.minor)
    }

    /// What a matching sighting does to the beacon's own subject under a condition.
    mutating func considerBeacon(
        of condition: Int32, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let beacon = sighting.beacon
        let found = beaconTable.find(beacon.uuid, extra: Self.extra(condition, beacon))
        if found >= 0 { return consider(Int(found), by: sighting, strength, into: &actions) }
        // A sighting that does not qualify creates nothing (rule P1).
        guard strength >= conditions[Int(condition)].enterRSSI else { return }
        let isNamed = namedBeacons.contains(beacon)
        guard isNamed || conditions[Int(condition)].settings.strangers == .track,
            makeRoom(for: condition, isNamed: isNamed, into: &actions)
        else { return }
        var new = Subject(condition: condition, state: .unsatisfied, beacon: beacon)
        new.isNamed = isNamed
        let subject = makeSubject(new)
        beaconTable.set(beacon.uuid, extra: Self.extra(condition, beacon), to: Int32(subject))
        conditions[Int(condition)].beacons += 1
        beaconCount += 1
        wayInCount += 1
        consider(subject, by: sighting, strength, into: &actions)
        if subjects[subject].isOnTheWayIn { queueWayIn(subject) }
    }

    /// Whether a beacon is held under a condition.
    func isTracked(_ beacon: BeaconIdentity, under condition: Int32) -> Bool {
        beaconTable.find(beacon.uuid, extra: Self.extra(condition, beacon)) >= 0
    }

    /// Counts a beacon's subject, which is not on its way in, among those that are held.
    mutating func track(_ subject: Int, _ beacon: BeaconIdentity, under condition: Int32) {
        beaconTable.set(beacon.uuid, extra: Self.extra(condition, beacon), to: Int32(subject))
        conditions[Int(condition)].beacons += 1
        beaconCount += 1
        subjects[subject].isNamed = namedBeacons.contains(beacon)
        noteOrder(subject)
        displaceableValid = false
    }

    private mutating func queueWayIn(_ subject: Int) {
        let due = details[subject].lastQualifying + conditions[Int(subjects[subject].condition)].enterWindow
        wayIn.insert(WayInEntry(time: due, subject: Int32(subject)))
        wake = min(wake, due)
        // Those that came in or gave way leave stale entries: at most one for each on its way in, and some.
        if wayIn.count > 2 * wayInCount + 64 {
            let entries = wayIn.unordered.filter {
                subjects[Int($0.subject)].condition >= 0 && subjects[Int($0.subject)].isOnTheWayIn
            }
            wayIn = Heap(entries)
        }
        guard giveWayValid, !subjects[subject].isNamed else { return }
        if giveWay.count > 2 * wayInCount + 64 { giveWayValid = false } else { giveWay.insert(giveWayEntry(subject)) }
    }

    private func giveWayEntry(_ subject: Int) -> GiveWayEntry {
        GiveWayEntry(
            time: details[subject].lastQualifying, rank: conditions[Int(subjects[subject].condition)].rank,
            beacon: beacon(of: subject), subject: Int32(subject))
    }

    /// Whether one more beacon may be held: one without a name that is on its way in gives way where there is one
    /// (rule P2), and for a named one even one that is present (rule P4).
    private mutating func makeRoom(for condition: Int32, isNamed: Bool, into actions: inout ActionBuffer) -> Bool {
        guard beaconCount >= settings.maxBeacons else { return true }
        // A place is taken again at once, so that no fewer are held and the episode goes on.
        if let subject = leastRecentOnTheWayIn() {
            untrackedBeacons &+= 1
            raiseTrackingLimit(subjects[subject].condition, into: &actions)
            takeOut(subject)
            return true
        }
        if isNamed, let subject = leastRecentStranger() {
            raiseTrackingLimit(subjects[subject].condition, into: &actions)
            displace(subject, into: &actions)
            return true
        }
        untrackedBeacons &+= 1
        raiseTrackingLimit(condition, into: &actions)
        return false
    }

    /// Ends the visit of a beacon whose place another gets, and forgets it.
    mutating func displace(_ subject: Int, into actions: inout ActionBuffer) {
        displacedBeacons &+= 1
        if subjects[subject].isVisited { endVisit(subject, reason: .displaced, into: &actions) }
        takeOut(subject)
    }

    mutating func raiseTrackingLimit(_ condition: Int32, into actions: inout ActionBuffer) {
        guard !conditions[Int(condition)].isOverflowing else { return }
        conditions[Int(condition)].isOverflowing = true
        overflowingCount += 1
        actions.append(.trackingLimitExceeded(identifier: conditions[Int(condition)].identifier.text, .held))
    }

    /// Of the beacons on their way in that have no name the one seen longest ago, ties in rule T3's order.
    private mutating func leastRecentOnTheWayIn() -> Int? {
        guard wayInCount > 0 else { return nil }
        makeRanks()
        if !giveWayValid {
            var entries: [GiveWayEntry] = []
            for subject in subjects.indices where mayGiveWay(subject) { entries.append(giveWayEntry(subject)) }
            giveWay = Heap(entries)
            giveWayValid = true
        }
        while let entry = giveWay.min {
            let subject = Int(entry.subject)
            guard mayGiveWay(subject), beacon(of: subject) == entry.beacon,
                conditions[Int(subjects[subject].condition)].rank == entry.rank
            else {
                giveWay.removeMin()
                continue
            }
            guard details[subject].lastQualifying > entry.time else {
                giveWay.removeMin()
                return subject
            }
            giveWay.replaceMin(with: giveWayEntry(subject))
        }
        return nil
    }

    /// Whether it is a beacon on its way in that has no name.
    private func mayGiveWay(_ subject: Int) -> Bool {
        subjects[subject].condition >= 0 && subjects[subject].isOnTheWayIn && !subjects[subject].isNamed
    }

    /// Forgets a beacon under a condition: it left, gave way, or did not come in.
    mutating func forgetBeacon(_ subject: Int) {
        takeOut(subject)
        if overflowingCount > 0, beaconCount * 10 < settings.maxBeacons * 9 { endOverflow() }
    }

    private mutating func takeOut(_ subject: Int) {
        let condition = subjects[subject].condition
        if subjects[subject].isOnTheWayIn, !subjects[subject].hasPrevious { wayInCount -= 1 }
        beaconTable.remove(beacon(of: subject).uuid, extra: Self.extra(condition, beacon(of: subject)))
        conditions[Int(condition)].beacons -= 1
        freeSubject(subject)
        beaconCount -= 1
    }

    /// Ends the episode in which beacons did not fit.
    private mutating func endOverflow() {
        overflowingCount = 0
        for index in conditions.indices { conditions[index].isOverflowing = false }
    }

    /// Forgets what an entry under a condition was building up (rule C2): its own, and its beacons on their way in.
    mutating func restartEntering(_ condition: Int32) {
        details[Int(matches[Int(condition)].subject)].progress.removeAll()
        for subject in beacons(of: condition) where subjects[subject].isOnTheWayIn { forgetBeacon(subject) }
        // A beacon that is `unknown` and was present comes back by rule L3, without progress.
    }

    /// The subjects of the beacons under a condition, in rule T3's order.
    func beacons(of condition: Int32) -> [Int] {
        guard conditions[Int(condition)].beacons > 0 else { return [] }
        return subjects.indices
            .filter { subjects[$0].condition == condition && subjects[$0].isBeacon }
            .sorted { beacon(of: $0) < beacon(of: $1) }
    }

    /// The UUID of the beacons under a condition.
    func uuid(of condition: Int) -> ProximityUUID {
        guard case .beacon(let identity) = conditions[condition].condition else {
            return ProximityUUID(high: 0, low: 0)
        }
        return identity.uuid
    }

    /// The beacon that a beacon's own subject is about.
    func beacon(of subject: Int) -> BeaconIdentity {
        let last = subjects[subject].last
        return BeaconIdentity(uuid: uuid(of: Int(subjects[subject].condition)), major: last.major, minor: last.minor)
    }

    mutating func makeSubject(_ subject: Subject) -> Int {
        guard let free = freeSubjects.popLast() else {
            subjects.append(subject)
            details.append(SubjectDetails())
            return subjects.count - 1
        }
        subjects[Int(free)] = subject
        details[Int(free)] = SubjectDetails()
        return Int(free)
    }

    mutating func freeSubject(_ subject: Int) {
        dropAllHolds(of: subject)
        subjects[subject] = Subject(condition: -1, state: .unmonitored, beacon: nil)
        details[subject] = SubjectDetails()
        freeSubjects.append(Int32(subject))
    }
}
