import BaseTypes
import BluetoothLE

/// Evaluates sightings, fixes and time: which state each subject gets, which visits open and end, and which beacons
/// under conditions become subjects (rules E, X, L, P, G).
///
/// ``HeldSubjects`` stores the subjects. ``MonitorEngine`` adds and removes conditions. Times are nanoseconds.
struct SubjectEvaluator: Sendable {
    let settings: EngineSettings
    var clockOffset: ClockOffset
    var ambientDiagnostics: Diagnostics = []
    var held: HeldSubjects
    /// The beacons with names (rule P4).
    private(set) var names: Set<BeaconIdentity> = []
    private(set) var untrackedBeacons = 0
    private(set) var displacedBeacons = 0
    private(set) var refusedBeacons = 0
    private var candidates = EntryCandidates()
    private var presentUnnamed = PresentUnnamedBeacons()
    private var tokens: NewBeaconTokens
    private var episodes = TrackingEpisodes()
    // Reused for all inputs to avoid allocations; empty between inputs.
    private var dueScratch: [SubjectIndex] = []
    private var foundScratch: [ConditionIndex] = []

    init(_ settings: EngineSettings, start: Int64, clockOffset: ClockOffset) {
        self.settings = settings
        self.clockOffset = clockOffset
        held = HeldSubjects(settings, start: start)
        tokens = NewBeaconTokens(most: settings.maxNewBeacons, start: start)
    }

    // MARK: Reading

    /// The engine's present, on the timeline.
    @inline(__always)
    var present: Int64 { held.present }

    var now: Instant { Instant(nanoseconds: present) }

    /// The number of beacons without names that could enter now; `nil` if there is no limit (rule P5).
    var newBeaconsLeft: Int? { tokens.left(at: present) }

    /// The ambient diagnostics, and `trackingLimitExceeded` while beacons exceed a limit (rules P2, P4, P5).
    var presentDiagnostics: Diagnostics {
        episodes.areUnderWay(at: present) ? ambientDiagnostics.union(.trackingLimitExceeded) : ambientDiagnostics
    }

    // MARK: Time (rules T2–T4)

    /// Handles everything that is due at or before an input (rule T3). An input with a time before the present is
    /// handled as an input of the present, and counted (rule T2).
    @inline(__always)
    mutating func enter(_ time: Instant, into actions: inout ActionBuffer) {
        let time = held.timeline.admit(time.nanoseconds)
        if time >= held.timeline.wake { handleDue(until: time, into: &actions) }
        held.timeline.advance(to: time)
    }

    /// Handles everything that an input has made due.
    mutating func handleDueNow(into actions: inout ActionBuffer) { handleDue(until: present, into: &actions) }

    private mutating func handleDue(until time: Int64, into actions: inout ActionBuffer) {
        while true {
            rearm()
            guard held.timeline.wake <= time else { return }
            held.timeline.advanceToWake()
            var due: [SubjectIndex] = []
            swap(&due, &dueScratch)
            handleDueAdapters(&due, into: &actions)
            held.collectDue(into: &due)
            while let subject = candidates.removeForgotten(at: present, held.subjects, held.conditions) {
                due.append(subject)
            }
            resolve(&due, into: &actions)
            due.removeAll(keepingCapacity: true)
            swap(&due, &dueScratch)
        }
    }

    /// Sets the time at which something is due next.
    private mutating func rearm() {
        let forgetting = candidates.nextForgetting(held.subjects, held.conditions) ?? .max
        held.timeline.setWake(min(held.nextDue(), forgetting))
    }

    /// Resolves subjects in the order of rule T3, each once.
    private mutating func resolve(_ due: inout [SubjectIndex], into actions: inout ActionBuffer) {
        if due.count > 1 {
            if due.count > 16 { makeRanks() }
            due.sort { held.precedes($0, $1) }
        }
        var previous = SubjectIndex.absent
        for subject in due where subject != previous {
            previous = subject
            resolve(subject, into: &actions)
        }
    }

    /// Sets the state of a subject that follows from its holds and from whether its adapters scan (rules L2, X2).
    /// Removes a beacon that has not entered (rule P1).
    mutating func resolve(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        guard held[subject].exists else { return }
        guard !held[subject].isCandidate else { return forgetBeacon(subject) }
        let before = held[subject].state
        guard before != .unmonitored else { return }
        if held.isCircle(subject) { return resolveCircle(subject, into: &actions) }
        held.endExpiredHolds(on: subject)
        let leaves = held[subject].canLeave && !held[subject].isHeld
        if leaves || before == .unsatisfied {
            let outage = held.monitor(of: held[subject].condition).outageTimeout
            if !held[subject].isBeacon, held.adapters.isOut(.together, for: outage, at: present) {
                held.addHold(on: subject, by: .together)
                becomeUnknown(subject, into: &actions)
            } else if leaves {
                become(.unsatisfied, subject, into: &actions)
                if held[subject].isBeacon { forgetBeacon(subject) }
            }
        } else if before == .satisfied, held.isOut(subject) {
            held.restartHolds(on: subject)
            becomeUnknown(subject, into: &actions)
        }
    }

    /// Computes the rank of every condition in the order of identifiers.
    private mutating func makeRanks() { if held.conditions.makeRanks() { candidates.forgetOrder() } }

    // MARK: Adapters (rules L1–L7)

    /// Handles a report of any kind. It shows that the adapter scans (rules L4, L5).
    @inline(__always)
    mutating func noteReport(_ adapter: AdapterIndex, into actions: inout ActionBuffer) {
        if held.adapters.clock(of: adapter).isListening {
            held.adapters.noteReport(adapter, at: present)
        } else {
            start(adapter, reason: nil, into: &actions)
            rearm()
        }
    }

    mutating func apply(_ change: ListeningChange, into actions: inout ActionBuffer) {
        let adapter = AdapterIndex(change.adapter)
        let isListening = held.adapters.clock(of: adapter).isListening
        switch change.kind {
        case .started:
            if !isListening { start(adapter, reason: change.reason, into: &actions) }
        case .stopped(let since):
            if isListening {
                held.adapters.stop(adapter, since: min(since?.nanoseconds ?? present, present), at: present)
            }
            if isListening || held.adapters[adapter].reported == .deaf {
                let since = held.adapters[adapter].silence.stoppedAt
                report(adapter, .off, since: since, reason: change.reason, into: &actions)
            }
        case .removed:
            if !held.adapters[adapter].isGone { remove(adapter, reason: change.reason, into: &actions) }
        }
    }

    private mutating func start(_ adapter: AdapterIndex, reason: String?, into actions: inout ActionBuffer) {
        held.adapters.renameForgotten(adapter, after: held.monitors.longestForgetting, at: present)
        held.adapters.start(adapter, at: present)
        report(adapter, .listening, since: present, reason: reason, into: &actions)
    }

    /// Removes an adapter and ends its holds (rule L3).
    private mutating func remove(_ adapter: AdapterIndex, reason: String?, into actions: inout ActionBuffer) {
        if held.adapters.clock(of: adapter).isListening { held.adapters.stop(adapter, since: present, at: present) }
        held.adapters.remove(adapter)
        report(adapter, .gone, since: present, reason: reason, into: &actions)
        var released: [SubjectIndex] = []
        held.endHolds(of: adapter, into: &released)
        resolve(&released, into: &actions)
    }

    /// Handles the adapters that count as not scanning (rule L5) or are forgotten (rule L3) now, in the order of their
    /// names.
    ///
    /// The subjects of a forgotten adapter are added to `due`, because all their other adapters can have stopped long
    /// ago.
    private mutating func handleDueAdapters(_ due: inout [SubjectIndex], into actions: inout ActionBuffer) {
        var concerned: [AdapterIndex] = []
        for adapter in held.adapters.indices.dropFirst() {
            if let time = held.adapters.nextChange(of: adapter, in: held.monitors), time <= present {
                concerned.append(adapter)
            }
        }
        if concerned.count > 1 {
            concerned.sort { held.adapters[$0].name.utf8.lexicographicallyPrecedes(held.adapters[$1].name.utf8) }
        }
        for adapter in concerned {
            if let deadline = held.adapters.deafDeadline(of: adapter), deadline <= present {
                held.adapters.stop(adapter, since: held.adapters.clock(of: adapter).lastReport, at: present)
                let since = held.adapters[adapter].silence.stoppedAt
                report(adapter, .deaf, since: since, reason: nil, into: &actions)
            }
            while let monitor = held.adapters.handleForgetting(of: adapter, in: held.monitors, at: present) {
                held.endHolds(of: adapter, in: monitor, into: &due)
            }
        }
    }

    // MARK: Sightings (rules E1–E4, X1)

    /// Evaluates a sighting of the present for the conditions that it matches.
    @inline(__always)
    mutating func match(_ uuid: ProximityUUID, _ last: Refresh, _ strength: Int16, into actions: inout ActionBuffer) {
        let place = find(uuid, last)
        if place < 0 { return considerFound(last.sighting(uuid: uuid), into: &actions) }
        let isLeft = held.refreshAlone(at: place, by: last, strength)
        if isLeft != 0 { refreshLeft(isLeft, at: place, by: last.sighting(uuid: uuid), into: &actions) }
    }

    /// Evaluates the reports of a batch in their order.
    mutating func received(_ batch: borrowing FrameBatch, of adapters: [AdapterIndex], into actions: inout ActionBuffer)
    {
        let entries = batch.entries.span.extracting(first: batch.counts.entries)
        var index = 0
        while true {
            let run = held.refreshAlone(by: entries, of: adapters.span, from: index)
            index = run.index
            guard index < entries.count else { return }
            if run.isLeft != 0 {
                let frame = entries[index].frame
                let last = Refresh(frame, by: adapters[Int(entries[index].adapter)], at: present)
                refreshLeft(run.isLeft, at: run.place, by: last.sighting(uuid: frame.uuid), into: &actions)
            } else {
                received(entries[index], by: adapters, into: &actions)
            }
            index += 1
        }
    }

    @inline(never)
    private mutating func received(
        _ entry: FrameBatch.Entry, by adapters: [AdapterIndex], into actions: inout ActionBuffer
    ) {
        if entry.kind.isFirst { enter(entry.time, into: &actions) }
        let place = Int(entry.adapter)
        guard place < adapters.count, adapters[place] != .together else { return }
        if entry.kind.hasReports { noteReport(adapters[place], into: &actions) }
        if entry.kind.isBeacon {
            let last = Refresh(entry.frame, by: adapters[place], at: present)
            match(entry.frame.uuid, last, entry.frame.strength, into: &actions)
        }
    }

    /// Returns the place of a beacon's entry in the cache, and makes the entry if there is none.
    ///
    /// - Returns: the place; −1 if the cache cannot have an entry: ``foundScratch`` has the conditions then.
    @inline(__always)
    private mutating func find(_ uuid: ProximityUUID, _ last: Refresh) -> Int {
        let hash = held.conditions.lookup.hash(uuid)
        let place = held.conditions.lookup.remembered(uuid, last.number, hash: hash)
        if place >= 0 { return place }
        guard lookUp(last.beacon(uuid: uuid), hash: hash) else { return -1 }
        return held.conditions.lookup.remembered(uuid, last.number, hash: hash)
    }

    /// Finds the conditions on a beacon, and makes its entry in the cache.
    ///
    /// - Returns: whether there is an entry; if not, ``foundScratch`` has the conditions.
    @inline(never)
    private mutating func lookUp(_ beacon: BeaconIdentity, hash: UInt64) -> Bool {
        held.conditions.lookup.find(beacon, hash: hash, into: &foundScratch)
        if foundScratch.isEmpty { held.conditions.noteReversed(beacon) }
        guard held.conditions.remember(foundScratch, for: beacon, hash: hash) else { return false }
        foundScratch.removeAll(keepingCapacity: true)
        return true
    }

    /// Evaluates a sighting for the subjects of an entry that ``HeldSubjects/refreshAlone(at:by:_:)`` returned.
    @inline(never)
    private mutating func refreshLeft(
        _ isLeft: UInt8, at place: Int, by sighting: Sighting, into actions: inout ActionBuffer
    ) {
        let entry = held.conditions.lookup.cache.entries[place]
        for number in 0..<Int(entry.count) where isLeft & 1 << UInt8(number) != 0 {
            let subject = entry.subjects[number]
            if held[subject].state == .satisfied {
                held.refreshRemembered(subject, by: sighting, sighting.strength)
            } else {
                foundScratch.append(held[subject].condition)
            }
        }
        if !foundScratch.isEmpty { considerFound(sighting, into: &actions) }
    }

    /// Evaluates a sighting for the conditions in ``foundScratch``, in the order of their identifiers.
    @inline(never)
    private mutating func considerFound(_ sighting: Sighting, into actions: inout ActionBuffer) {
        // Usually one: a condition with `per_beacon`, which the cache cannot have.
        if foundScratch.count == 1 {
            return considerFound(foundScratch.removeLast(), by: sighting, sighting.strength, into: &actions)
        }
        let strength = sighting.strength
        var found: [ConditionIndex] = []
        swap(&found, &foundScratch)
        found.sort { held.conditions.precedes($0, $1) }
        for condition in found { considerFound(condition, by: sighting, strength, into: &actions) }
        found.removeAll(keepingCapacity: true)
        swap(&found, &foundScratch)
    }

    /// Evaluates a sighting for the subject of a condition, then for the subject of the beacon (rule E4).
    @inline(__always)
    private mutating func considerFound(
        _ condition: ConditionIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let match = held.conditions.match(condition)
        if match.refusesUnnamed, held.subjects.find(sighting.beacon, under: condition) == nil,
            !names.contains(sighting.beacon)
        {
            return
        }
        consider(match.subject, by: sighting, strength, into: &actions)
        if match.perBeacon { considerBeacon(of: condition, by: sighting, strength, into: &actions) }
    }

    /// Evaluates a matching sighting for one subject (rules E1, E2, L3, X1).
    private mutating func consider(
        _ subject: SubjectIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let condition = held[subject].condition
        let exitRSSI = held.conditions.match(condition).exitRSSI
        switch held[subject].state {
        case .satisfied:
            if strength >= exitRSSI { held.refresh(subject, by: sighting, strength) }
        case .unknown where held[subject].wasSatisfied:
            if strength >= exitRSSI { satisfy(subject, by: sighting, strength, into: &actions) }
        case .unknown, .unsatisfied:
            guard strength >= held.conditions[condition].enterRSSI, held.suffices(subject),
                mayEnter(subject, into: &actions)
            else { return }
            satisfy(subject, by: sighting, strength, into: &actions)
        case .unmonitored:
            return
        }
    }

    private mutating func satisfy(
        _ subject: SubjectIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        if held[subject].isCandidate { candidates.end() }
        held.openVisit(subject)
        held.refresh(subject, by: sighting, strength)
        if held[subject].isBeacon { presentUnnamed.insert(subject, held.subjects) }
        become(.satisfied, subject, into: &actions)
    }

    // MARK: Circles (rules G1–G3)

    /// Evaluates a fix for one circle (rules G2, E1, L3).
    mutating func consider(_ condition: ConditionIndex, by fix: LocationFix, into actions: inout ActionBuffer) {
        guard case .circle(let circle) = held.conditions[condition].condition else { return }
        let subject = held.conditions.match(condition).subject
        let position = CirclePosition(of: fix, against: circle)
        if position == .surelyOutside {
            if held[subject].canLeave { become(.unsatisfied, subject, into: &actions) }
            return
        }
        switch held[subject].state {
        case .satisfied:
            if position == .inside || position == .surelyInside { held.refreshCircle(subject) }
        case .unknown, .unsatisfied:
            guard position == .surelyInside, held[subject].wasSatisfied || held.suffices(subject) else { return }
            held.openVisit(subject)
            held.refreshCircle(subject)
            become(.satisfied, subject, into: &actions)
        case .unmonitored: return
        }
    }

    /// Changes a circle to `unknown` if its source stopped `outage_timeout` ago (rules L2, G3). A circle has no holds.
    private mutating func resolveCircle(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        let outage = held.monitor(of: held[subject].condition).outageTimeout
        guard let source = held.adapters.locationSource, held.adapters.isOut(source, for: outage, at: present) else {
            return
        }
        becomeUnknown(subject, into: &actions)
    }

    // MARK: Beacons under conditions (rules P1, P2, P4, P5)

    /// Evaluates a matching sighting for the beacon under a condition.
    private mutating func considerBeacon(
        of condition: ConditionIndex, by sighting: Sighting, _ strength: Int16, into actions: inout ActionBuffer
    ) {
        let beacon = sighting.beacon
        if let subject = held.subjects.find(beacon, under: condition) {
            return consider(subject, by: sighting, strength, into: &actions)
        }
        // A sighting that does not qualify adds no subject (rule P1).
        guard strength >= held.conditions[condition].enterRSSI else { return }
        let isNamed = names.contains(beacon)
        guard isNamed || held.conditions[condition].settings.unnamed == .track,
            makeRoom(for: condition, isNamed: isNamed, into: &actions)
        else { return }
        let subject = held.addSubject(of: beacon, under: condition, as: .unsatisfied, isNamed: isNamed)
        candidates.begin()
        consider(subject, by: sighting, strength, into: &actions)
        if held[subject].isCandidate {
            held.timeline.expect(candidates.queue(subject, held.subjects, held.conditions))
        }
    }

    /// Returns whether a subject with sufficient sightings can enter. A beacon without a name needs a token; if none is
    /// left, it must wait for one (rule P5).
    @inline(__always)
    private mutating func mayEnter(_ subject: SubjectIndex, into actions: inout ActionBuffer) -> Bool {
        guard held[subject].isBeacon, !held[subject].isNamed, !tokens.spend(at: present) else { return true }
        refuse(subject, into: &actions)
        return false
    }

    private mutating func refuse(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        refusedBeacons &+= 1
        held.keepProgress(subject)
        let condition = held[subject].condition
        guard episodes.refuse(condition, at: present) else { return }
        actions.append(.trackingLimitExceeded(identifier: held.conditions[condition].identifier.text, .new))
    }

    /// Returns whether one more beacon can be a subject. If all places are taken, a beacon without a name that has not
    /// entered is removed (rule P2). For a beacon with a name, even one without a name that is present is removed (rule
    /// P4).
    private mutating func makeRoom(
        for condition: ConditionIndex, isNamed: Bool, into actions: inout ActionBuffer
    ) -> Bool {
        guard held.subjects.beaconCount >= settings.maxBeacons else { return true }
        makeRanks()
        // The place is taken again at once, so the number of beacons stays and the episode continues.
        if let subject = candidates.removeLeastRecent(held.subjects, held.conditions) {
            untrackedBeacons &+= 1
            raiseTrackingLimit(held[subject].condition, into: &actions)
            removeBeacon(subject)
            return true
        }
        if isNamed, let subject = presentUnnamed.removeLeastRecent(held.subjects) {
            displace(subject, into: &actions)
            return true
        }
        untrackedBeacons &+= 1
        raiseTrackingLimit(condition, into: &actions)
        return false
    }

    /// Removes the beacons that exceed the limit, after the limit was made smaller.
    mutating func shedBeacons(into actions: inout ActionBuffer) {
        let excess = held.subjects.beaconCount - settings.maxBeacons
        guard excess > 0 else { return }
        for subject in PresentUnnamedBeacons.leavingOrder(held.subjects).prefix(excess) {
            displace(subject, into: &actions)
        }
    }

    /// Ends the visit of a beacon whose place another beacon gets, and removes it.
    private mutating func displace(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        raiseTrackingLimit(held[subject].condition, into: &actions)
        displacedBeacons &+= 1
        if held[subject].isVisited { endVisit(subject, reason: .displaced, into: &actions) }
        removeBeacon(subject)
    }

    private mutating func raiseTrackingLimit(_ condition: ConditionIndex, into actions: inout ActionBuffer) {
        guard episodes.overflow(condition) else { return }
        actions.append(.trackingLimitExceeded(identifier: held.conditions[condition].identifier.text, .held))
    }

    /// Removes a beacon under a condition, because it left or did not enter.
    mutating func forgetBeacon(_ subject: SubjectIndex) {
        removeBeacon(subject)
        if episodes.isOverflowing, held.subjects.beaconCount * 10 < settings.maxBeacons * 9 { episodes.endOverflow() }
    }

    private mutating func removeBeacon(_ subject: SubjectIndex) {
        if held[subject].isCandidate, !held[subject].hasPrevious { candidates.end() }
        held.remove(subject)
    }

    /// Discards the progress of all entries under a condition (rule C2): its own, and its beacons that have not
    /// entered.
    mutating func restartEntering(_ condition: ConditionIndex) {
        held.restartProgress(held.conditions.match(condition).subject)
        for subject in held.beacons(of: condition) where held[subject].isCandidate { forgetBeacon(subject) }
        // A beacon that is `unknown` and was present returns by rule L3, without progress.
    }

    /// Sets which beacons have names. ``removeUnnamed(into:)`` must follow.
    mutating func setNames(_ beacons: Set<BeaconIdentity>) {
        names = beacons
        held.setNames(beacons)
        candidates.forgetOrder()
        presentUnnamed.forgetOrder()
    }

    /// Removes the beacons without a name under all conditions that do not track them.
    mutating func removeUnnamed(into actions: inout ActionBuffer) {
        let concerned = held.conditions.all.filter { held.conditions[$0].beacons > 0 }
        for condition in concerned.sorted(by: { held.conditions.precedes($0, $1) }) {
            removeUnnamed(from: condition, into: &actions)
        }
    }

    /// Removes the beacons without a name under a condition that does not track them; their visits end.
    mutating func removeUnnamed(from condition: ConditionIndex, into actions: inout ActionBuffer) {
        guard held.conditions[condition].settings.unnamed != .track else { return }
        for subject in held.beacons(of: condition) where !held[subject].isNamed {
            if held[subject].isVisited { endVisit(subject, reason: .removed, into: &actions) }
            forgetBeacon(subject)
        }
    }

    /// Restores a beacon under a condition (rule N4), unless its state or its UUID is invalid.
    mutating func restoreBeacon(_ saved: MonitorSnapshot.Subject, under condition: ConditionIndex) {
        guard let beacon = saved.beacon, saved.state == .satisfied || saved.state == .unknown,
            beacon.uuid == held.conditions[condition].uuid, held.subjects.find(beacon, under: condition) == nil
        else { return }
        let subject = held.addSubject(
            of: beacon, under: condition, as: saved.state, isNamed: names.contains(beacon))
        presentUnnamed.forgetOrder()
        held.restorePast(of: subject, saved)
        held.restorePresent(of: subject, saved)
    }

    // MARK: Conditions (rules C1–C3)

    /// Adds the subject of a new or replaced condition, in its assumed state, or `unmonitored` (rules C1, C4, C5).
    mutating func begin(
        _ condition: ConditionIndex, assuming assumed: BeaconMonitor.Event.State, into actions: inout ActionBuffer
    ) {
        let subject = held.addSubject(of: condition, as: assumed)
        guard held.isMonitored(condition) else { return become(.unmonitored, subject, into: &actions) }
        held.conditions.link(condition)
        if assumed == .satisfied { held.openAssumedVisit(subject) }
        held.holdByAll(subject)
        resolve(subject, into: &actions)
    }

    /// Changes the subject of a condition to `unknown`, because the limit no longer prevents monitoring (rule C4).
    mutating func becomeMonitored(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        become(.unknown, subject, into: &actions)
        held.holdByAll(subject)
    }

    /// Changes the subject of a condition to `unmonitored`, and ends everything that is open under the condition (rule
    /// C4).
    mutating func becomeUnmonitored(_ condition: ConditionIndex, into actions: inout ActionBuffer) {
        endVisits(of: condition, reason: .removed, into: &actions)
        for beacon in held.beacons(of: condition) { forgetBeacon(beacon) }
        let own = held.conditions.match(condition).subject
        held.endHolds(on: own)
        become(.unmonitored, own, into: &actions)
    }

    /// Removes all subjects of a condition.
    mutating func end(_ condition: ConditionIndex) {
        for subject in held.beacons(of: condition) { forgetBeacon(subject) }
        if held.isMonitored(condition) { held.conditions.unlink(condition) }
        episodes.forget(condition)
        held.remove(held.conditions.match(condition).subject)
    }

    // MARK: Actions

    /// Changes the state of a subject, which is an event (rule X3). Ends its visit if it left (rule P3).
    private mutating func become(
        _ state: BeaconMonitor.Event.State, _ subject: SubjectIndex, isOutage: Bool = false,
        into actions: inout ActionBuffer
    ) {
        episodes.endRefusing(at: present)
        reportNames(into: &actions)
        actions.append(.event(event(state, held[subject], subject, isOutage: isOutage)))
        held.become(state, subject, on: WallDate(now, offset: clockOffset))
        if state == .unsatisfied, held[subject].isVisited {
            endVisit(subject, reason: held.isCircle(subject) ? .left : .exitTimeout, into: &actions)
        }
    }

    private mutating func becomeUnknown(_ subject: SubjectIndex, into actions: inout ActionBuffer) {
        let before = held[subject].state
        guard before != .unknown else { return }
        become(.unknown, subject, isOutage: true, into: &actions)
        held.noteOutage(subject, wasSatisfied: before == .satisfied)
    }

    private func event(
        _ state: BeaconMonitor.Event.State, _ subject: Subject, _ index: SubjectIndex, isOutage: Bool
    ) -> BeaconMonitor.Event {
        let condition = held.conditions[subject.condition]
        let isCircle = condition.condition.isCircle
        var last = subject.last.sighting(uuid: condition.uuid)
        last.time = instant(subject.last.time)
        return BeaconMonitor.Event(
            monitor: held.monitor(of: subject.condition).name.text, identifier: condition.identifier.text,
            scope: subject.isBeacon ? .beacon : .condition, state: state, time: now, clockOffset: clockOffset,
            condition: condition.condition,
            refinement: subject.isBeacon || (state == .satisfied && !isCircle) ? last.beacon : nil,
            previous: subject.hasPrevious ? held[detailsOf: index].previous : nil,
            sighting: subject.isRefreshed && !isCircle ? last : nil,
            lastSeen: subject.isRefreshed ? last.time : nil,
            diagnostics: diagnostics(subject.condition, state, isOutage: isOutage))
    }

    private func diagnostics(
        _ condition: ConditionIndex, _ state: BeaconMonitor.Event.State, isOutage: Bool
    ) -> Diagnostics {
        var diagnostics = ambientDiagnostics
        if isOutage || held.adapters.silentCount > 0 { diagnostics.insert(.scannerUnavailable) }
        if let source = held.adapters.locationSource, held.conditions.hasCircles,
            !held.adapters.clock(of: source).isListening
        {
            diagnostics.insert(.locationUnavailable)
        }
        if state == .unmonitored {
            diagnostics.insert(held.isSupported(condition) ? .conditionLimitExceeded : .conditionUnsupported)
        }
        if episodes.concern(condition) { diagnostics.insert(.trackingLimitExceeded) }
        return diagnostics
    }

    private mutating func endVisit(_ index: SubjectIndex, reason: Visit.Reason, into actions: inout ActionBuffer) {
        let subject = held[index]
        let arrival = held[detailsOf: index].arrival
        let condition = held.conditions[subject.condition]
        held.closeVisit(index)
        actions.append(
            .visit(
                Visit(
                    monitor: held.monitor(of: subject.condition).name.text, identifier: condition.identifier.text,
                    scope: subject.isBeacon ? .beacon : .condition, time: now, clockOffset: clockOffset,
                    condition: condition.condition,
                    refinement: subject.isBeacon ? held.beacon(of: index) : nil,
                    arrival: arrival == SubjectDetails.assumed ? nil : instant(arrival),
                    departure: subject.refreshes > 0 ? instant(subject.last.time) : nil,
                    sightings: subject.refreshes, strength: subject.strength, reason: reason)))
    }

    /// Ends the open visits under a condition: its own, then those of its beacons (rules C2, C3).
    mutating func endVisits(of condition: ConditionIndex, reason: Visit.Reason, into actions: inout ActionBuffer) {
        let own = held.conditions.match(condition).subject
        if held[own].isVisited { endVisit(own, reason: reason, into: &actions) }
        for subject in held.beacons(of: condition) where held[subject].isVisited {
            endVisit(subject, reason: reason, into: &actions)
        }
    }

    /// Appends a change of a condition.
    func report(
        _ kind: ConditionChange.Kind, _ condition: ConditionIndex, assumed: BeaconMonitor.Event.State?,
        into actions: inout ActionBuffer
    ) {
        let state = held.conditions[condition]
        actions.append(
            .condition(
                ConditionChange(
                    monitor: held.monitor(of: condition).name.text, identifier: state.identifier.text, kind: kind,
                    time: now, clockOffset: clockOffset, condition: state.condition, settings: state.settings,
                    assumed: assumed)))
    }

    private mutating func report(
        _ adapter: AdapterIndex, _ state: AdapterChange.State, since: Int64, reason: String?,
        into actions: inout ActionBuffer
    ) {
        held.adapters.noteReported(adapter, state)
        reportNames(into: &actions)
        actions.append(
            .adapter(
                AdapterChange(
                    adapter: held.adapters[adapter].name, address: held.adapters[adapter].address, state: state,
                    since: Instant(nanoseconds: since), reason: reason, time: now, clockOffset: clockOffset)))
    }

    /// Appends actions with the new names of adapters. The actions that follow use them; the actions before do not.
    private mutating func reportNames(into actions: inout ActionBuffer) {
        guard held.adapters.hasNewNames else { return }
        for (adapter, name) in held.adapters.takeNewNames() { actions.append(.adapterNamed(adapter.id, name: name)) }
    }

    private func instant(_ packed: Int64) -> Instant { PackedMoment(packed).instant(offset: clockOffset) }
}
