package import BluetoothLE

// The beacons under conditions (rules P1, P2, P4, P5).
extension MonitorEngine {
    /// What a matching sighting does to the beacon's own subject under a condition.
    mutating func considerBeacon(
        of condition: ConditionIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let beacon = sighting.beacon
        if let subject = subjects.find(beacon, under: condition) {
            return consider(subject, by: sighting, strength, into: &actions)
        }
        // A sighting that does not qualify creates nothing (rule P1).
        guard strength >= conditions[condition].enterRSSI else { return }
        let isNamed = namedBeacons.contains(beacon)
        guard isNamed || conditions[condition].settings.strangers == .track,
            makeRoom(for: condition, isNamed: isNamed, into: &actions)
        else { return }
        let subject = track(beacon, under: condition, as: .unsatisfied)
        wayIn.begin()
        consider(subject, by: sighting, strength, into: &actions)
        if subjects[subject].isOnTheWayIn { timeline.expect(wayIn.queue(subject, subjects, conditions)) }
    }

    /// Makes the subject of a beacon under a condition.
    mutating func track(
        _ beacon: BeaconIdentity, under condition: ConditionIndex, as state: BeaconMonitor.Event.State
    ) -> SubjectIndex {
        var new = Subject(condition: condition, state: state, beacon: beacon)
        new.isNamed = namedBeacons.contains(beacon)
        conditions[condition].beacons += 1
        return subjects.add(new, for: beacon)
    }

    /// Whether a subject whose sightings suffice may enter: a beacon without a name needs a token, and stays on its way in
    /// where none is left (rule P5).
    @inline(__always)
    mutating func mayEnter(_ subject: SubjectIndex, into actions: inout ActionBuffer) -> Bool {
        guard subjects[subject].isBeacon, !subjects[subject].isNamed, !tokens.spend(at: present) else { return true }
        refuse(subject, into: &actions)
        return false
    }

    private mutating func refuse(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        refusedBeacons &+= 1
        let condition = subjects[subject].condition
        // The next that qualifies tries again, with the latest of those before it.
        subjects[detailsOf: subject].progress.keepForNext(
            at: present, count: conditions[condition].settings.enterCount)
        guard episodes.refuse(condition, at: present) else { return }
        actions.append(.trackingLimitExceeded(identifier: conditions[condition].identifier.text, .new))
    }

    /// Whether one more beacon may be held: one without a name that is on its way in gives way where there is one
    /// (rule P2), and for a named one even one that is present (rule P4).
    private mutating func makeRoom(
        for condition: ConditionIndex, isNamed: Bool, into actions: inout ActionBuffer
    ) -> Bool {
        guard subjects.beaconCount >= settings.maxBeacons else { return true }
        makeRanks()
        // A place is taken again at once, so that no fewer are held and the episode goes on.
        if let subject = wayIn.removeLeastRecent(subjects, conditions) {
            untrackedBeacons &+= 1
            raiseTrackingLimit(subjects[subject].condition, into: &actions)
            removeBeacon(subject)
            return true
        }
        if isNamed, let subject = strangers.removeLeastRecent(subjects) {
            displace(subject, into: &actions)
            return true
        }
        untrackedBeacons &+= 1
        raiseTrackingLimit(condition, into: &actions)
        return false
    }

    /// Lets those go that do not fit any more, since fewer may be held than were.
    mutating func shedBeacons(into actions: inout ActionBuffer) {
        let excess = subjects.beaconCount - settings.maxBeacons
        guard excess > 0 else { return }
        for subject in PresentStrangers.leavingOrder(subjects).prefix(excess) { displace(subject, into: &actions) }
    }

    /// Ends the visit of a beacon whose place another gets, and forgets it.
    private mutating func displace(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        raiseTrackingLimit(subjects[subject].condition, into: &actions)
        displacedBeacons &+= 1
        if subjects[subject].isVisited { endVisit(subject, reason: .displaced, into: &actions) }
        removeBeacon(subject)
    }

    private mutating func raiseTrackingLimit(_ condition: ConditionIndex, into actions: inout ActionBuffer) {
        guard episodes.overflow(condition) else { return }
        actions.append(.trackingLimitExceeded(identifier: conditions[condition].identifier.text, .held))
    }

    /// Forgets a beacon under a condition: it left, or did not come in.
    mutating func forgetBeacon(_ subject: SubjectIndex) {
        removeBeacon(subject)
        if episodes.isOverflowing, subjects.beaconCount * 10 < settings.maxBeacons * 9 { episodes.endOverflow() }
    }

    private mutating func removeBeacon(_ subject: SubjectIndex) {
        if subjects[subject].isOnTheWayIn, !subjects[subject].hasPrevious { wayIn.end() }
        conditions[subjects[subject].condition].beacons -= 1
        endHolds(on: subject)
        subjects.remove(subject, of: subjects.beacon(of: subject, conditions))
    }

    /// Forgets what an entry under a condition was building up (rule C2): its own, and its beacons on their way in.
    mutating func restartEntering(_ condition: ConditionIndex) {
        subjects[detailsOf: conditions.match(condition).subject].progress.restart()
        for subject in beacons(of: condition) where subjects[subject].isOnTheWayIn { forgetBeacon(subject) }
        // A beacon that is `unknown` and was present comes back by rule L3, without progress.
    }

    /// The beacons that are there under conditions that follow them, by condition and in their order; none of a condition
    /// is absent. It goes over all subjects, once.
    package var presentBeacons: [Identifier: [BeaconIdentity]] {
        var present: [Identifier: [BeaconIdentity]] = [:]
        for subject in subjects.indices(where: { $0.exists && $0.isBeacon && $0.state == .satisfied }) {
            let identifier = conditions[subjects[subject].condition].identifier
            present[identifier, default: []].append(subjects.beacon(of: subject, conditions))
        }
        return present.mapValues { $0.sorted() }
    }

    /// The subjects of the beacons under a condition, in rule T3's order.
    func beacons(of condition: ConditionIndex) -> [SubjectIndex] {
        guard conditions[condition].beacons > 0 else { return [] }
        return subjects.indices { $0.condition == condition && $0.isBeacon }
            .sorted { subjects.beacon(of: $0, conditions) < subjects.beacon(of: $1, conditions) }
    }
}
