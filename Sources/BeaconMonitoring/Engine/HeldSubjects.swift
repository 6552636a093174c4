import BaseTypes
import BluetoothLE

/// The subjects of an engine, the conditions that they belong to, and the adapters that hold them (rules L1–L3, X2).
///
/// A hold is in two places: the subject has it, and the queue of its adapter has an entry with its expiry. Only this
/// type changes subjects and queues, so the two places agree. The other tables guard their own state. Nothing here
/// makes an action: ``SubjectEvaluator`` decides which state a subject gets.
///
/// Times are nanoseconds.
struct HeldSubjects: Sendable {
    var timeline: Timeline
    var monitors = MonitorTable()
    var conditions = ConditionTable()
    var adapters: AdapterTable
    private(set) var subjects = SubjectTable()
    /// The holds of each adapter, at the adapter's index; shorter than the table of adapters if the last ones hold
    /// nothing.
    private var queues: [HoldQueue] = []

    init(_ settings: EngineSettings, start: Int64) {
        timeline = Timeline(start: start)
        adapters = AdapterTable(
            locationSource: settings.locationSource, deafAfter: settings.deafAfter?.nanoseconds, start: start)
    }

    // MARK: Reading

    /// The engine's present, on the timeline.
    @inline(__always)
    var present: Int64 { timeline.present }

    @inline(__always)
    subscript(subject: SubjectIndex) -> Subject { subjects[subject] }

    subscript(detailsOf subject: SubjectIndex) -> SubjectDetails { subjects[detailsOf: subject] }

    func monitor(of condition: ConditionIndex) -> MonitorState { monitors[conditions.match(condition).monitor] }

    /// The beacon of a subject that is a beacon under a condition.
    func beacon(of subject: SubjectIndex) -> BeaconIdentity { subjects.beacon(of: subject, conditions) }

    func isCircle(_ subject: SubjectIndex) -> Bool { conditions[subjects[subject].condition].condition.isCircle }

    /// Whether this gateway can evaluate a condition (rule C5).
    func isSupported(_ condition: ConditionIndex) -> Bool { isSupported(conditions[condition].condition) }

    /// Whether this gateway can evaluate a condition (rule C5).
    func isSupported(_ condition: Condition) -> Bool { adapters.locationSource != nil || !condition.isCircle }

    /// Whether sightings or fixes are evaluated for a condition.
    func isMonitored(_ condition: ConditionIndex) -> Bool {
        isSupported(condition) && !conditions[condition].isLimited
    }

    /// The subjects of the beacons under a condition, in rule T3's order.
    func beacons(of condition: ConditionIndex) -> [SubjectIndex] {
        guard conditions[condition].beacons > 0 else { return [] }
        return subjects.indices { $0.condition == condition && $0.isBeacon }
            .sorted { beacon(of: $0) < beacon(of: $1) }
    }

    /// The order of two subjects at one time: by identifier, a condition before its beacons (rule T3).
    func precedes(_ left: SubjectIndex, _ right: SubjectIndex) -> Bool {
        let (leftCondition, rightCondition) = (subjects[left].condition, subjects[right].condition)
        guard leftCondition == rightCondition else { return conditions.precedes(leftCondition, rightCondition) }
        guard subjects[left].isBeacon, subjects[right].isBeacon else {
            return subjects[right].isBeacon && !subjects[left].isBeacon
        }
        return beacon(of: left) < beacon(of: right)
    }

    private func exitTimeout(of subject: SubjectIndex) -> Int64 {
        conditions.match(subjects[subject].condition).exitTimeout
    }

    private func outageTimeout(of subject: SubjectIndex) -> Int64 {
        monitor(of: subjects[subject].condition).outageTimeout
    }

    // MARK: Adding and removing subjects

    /// Adds the subject of a condition itself.
    mutating func addSubject(of condition: ConditionIndex, as state: BeaconMonitor.Event.State) -> SubjectIndex {
        let subject = subjects.add(Subject(condition: condition, state: state, beacon: nil))
        conditions.begin(condition, as: subject)
        subjects[subject].exitRSSI = conditions.match(condition).exitRSSI
        return subject
    }

    /// Adds the subject of a beacon under a condition.
    mutating func addSubject(
        of beacon: BeaconIdentity, under condition: ConditionIndex, as state: BeaconMonitor.Event.State, isNamed: Bool
    ) -> SubjectIndex {
        var new = Subject(condition: condition, state: state, beacon: beacon)
        new.isNamed = isNamed
        conditions[condition].beacons += 1
        return subjects.add(new, for: beacon)
    }

    /// Removes a subject and ends its holds.
    mutating func remove(_ subject: SubjectIndex) {
        endHolds(on: subject)
        guard subjects[subject].isBeacon else { return subjects.remove(subject) }
        conditions[subjects[subject].condition].beacons -= 1
        subjects.remove(subject, of: beacon(of: subject))
    }

    /// Notes which beacons have names (rule P4).
    mutating func setNames(_ names: Set<BeaconIdentity>) {
        for subject in subjects.indices(where: { $0.exists && $0.isBeacon }) {
            subjects[subject].isNamed = names.contains(beacon(of: subject))
        }
    }

    // MARK: State and visits

    /// Gives a subject another state, by an event of that date.
    mutating func become(_ state: BeaconMonitor.Event.State, _ subject: SubjectIndex, on date: WallDate) {
        subjects[subject].become(state)
        subjects[detailsOf: subject].previous = BeaconMonitor.Event.Previous(state: state, date: date)
        subjects[detailsOf: subject].progress.restart()
    }

    /// Records that an outage changed a subject to `unknown` (rule L3).
    mutating func noteOutage(_ subject: SubjectIndex, wasSatisfied: Bool) {
        subjects[subject].noteOutage(wasSatisfied: wasSatisfied)
    }

    /// Opens a visit that starts now, unless one is open (rule P3).
    mutating func openVisit(_ subject: SubjectIndex) {
        guard !subjects[subject].isVisited else { return }
        subjects[subject].openVisit()
        subjects[detailsOf: subject].arrival = present
    }

    /// Opens the visit of a subject that is assumed to be `satisfied`: its arrival is not known.
    mutating func openAssumedVisit(_ subject: SubjectIndex) { subjects[subject].openVisit() }

    mutating func closeVisit(_ subject: SubjectIndex) { subjects[subject].closeVisit() }

    /// Counts a qualifying sighting or fix at the present.
    ///
    /// - Returns: Whether it is the `enter_count`-th within `enter_window` (rule E1).
    mutating func suffices(_ subject: SubjectIndex) -> Bool {
        let condition = subjects[subject].condition
        let count = conditions[condition].settings.enterCount
        subjects[detailsOf: subject].progress.noteQualifying(at: present)
        guard count > 1 else { return true }
        return subjects[detailsOf: subject].progress.suffices(
            at: present, count: count, window: conditions[condition].enterWindow)
    }

    /// Stores the qualifying sightings of a subject whose entry was refused, so that the next one is sufficient again
    /// (rule P5).
    mutating func keepProgress(_ subject: SubjectIndex) {
        let count = conditions[subjects[subject].condition].settings.enterCount
        subjects[detailsOf: subject].progress.keepForNext(at: present, count: count)
    }

    mutating func restartProgress(_ subject: SubjectIndex) { subjects[detailsOf: subject].progress.restart() }

    // MARK: Settings

    /// Changes the settings of a condition. ``requeueHolds(of:)`` must follow.
    mutating func set(_ condition: ConditionIndex, _ settings: ConditionSettings) {
        conditions.set(condition, settings)
        subjects[conditions.match(condition).subject].exitRSSI = conditions.match(condition).exitRSSI
    }

    /// Moves the holds under a condition in their queues after its exit timeout changed (rule C2).
    mutating func requeueHolds(of condition: ConditionIndex) {
        for subject in [conditions.match(condition).subject] + beacons(of: condition) { requeueHolds(on: subject) }
    }

    private mutating func requeueHolds(on subject: SubjectIndex) {
        let timeout = exitTimeout(of: subject)
        for position in 0..<subjects[subject].holdCount {
            let hold = subjects[subject].hold(at: position)
            let expiry = hold.start + timeout
            // An entry whose hold expires later is put back when it surfaces.
            guard expiry < hold.queued else { continue }
            subjects[subject].noteQueued(at: position, expiry)
            queues[hold.adapter.offset].move(
                HoldEntry(expiry: expiry, subject: subject), among: subjects, of: hold.adapter)
            expectExpiry(expiry, of: hold.adapter)
        }
    }

    // MARK: Holds

    /// Adds the hold of an adapter that does not hold the subject. It starts now and is the latest.
    mutating func addHold(on subject: SubjectIndex, by adapter: AdapterIndex) {
        let start = adapters.reading(of: adapter, at: present)
        let expiry = start + exitTimeout(of: subject)
        subjects[subject].add(Hold(adapter: adapter, start: start, queued: expiry))
        while queues.count <= adapter.offset { queues.append(HoldQueue()) }
        queues[adapter.offset].add(HoldEntry(expiry: expiry, subject: subject), among: subjects, of: adapter)
        expectExpiry(expiry, of: adapter)
    }

    /// Adds a hold by all adapters together on a subject that no adapter has held yet. A circle needs no holds (rule
    /// G2).
    mutating func holdByAll(_ subject: SubjectIndex) {
        if subjects[subject].canLeave, !isCircle(subject) { addHold(on: subject, by: .together) }
    }

    private mutating func expectExpiry(_ expiry: Int64, of adapter: AdapterIndex) {
        let clock = adapters.clock(of: adapter)
        if clock.isListening, let time = clock.time(of: expiry, at: present) { timeline.expect(time) }
    }

    private mutating func endHold(on subject: SubjectIndex, at position: Int) {
        let adapter = subjects[subject].hold(at: position).adapter
        subjects[subject].removeHold(at: position)
        queues[adapter.offset].noteEnd()
    }

    mutating func endHolds(on subject: SubjectIndex) {
        while subjects[subject].isHeld { endHold(on: subject, at: subjects[subject].holdCount - 1) }
    }

    /// Ends the holds on a subject that are expired on their adapters' clocks.
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

    /// Restarts every hold on a subject (rule L2).
    mutating func restartHolds(on subject: SubjectIndex) {
        for position in 0..<subjects[subject].holdCount {
            let adapter = subjects[subject].hold(at: position).adapter
            subjects[subject].restartHold(at: position, clock: adapters.reading(of: adapter, at: present))
        }
    }

    /// Whether every adapter that holds the subject stopped `outage_timeout` ago or more (rule L2).
    func isOut(_ subject: SubjectIndex) -> Bool {
        let outage = outageTimeout(of: subject)
        let holds = subjects[subject].holdCount
        return holds > 0
            && (0..<holds).allSatisfy {
                adapters.isOut(subjects[subject].hold(at: $0).adapter, for: outage, at: present)
            }
    }

    /// Ends the holds of an adapter, in one monitor or in all (rule L3).
    ///
    /// A subject that no other adapter holds is held by all together from now on.
    ///
    /// - Parameters:
    ///   - adapter: The adapter.
    ///   - monitor: The monitor of the subjects; `nil` for all.
    ///   - released: Receives the subjects that the adapter held.
    mutating func endHolds(
        of adapter: AdapterIndex, in monitor: MonitorIndex? = nil, into released: inout [SubjectIndex]
    ) {
        for subject in subjects(heldBy: adapter, in: monitor) {
            if let hold = subjects[subject].hold(by: adapter) { endHold(on: subject, at: hold) }
            if !subjects[subject].isHeld, subjects[subject].canLeave { addHold(on: subject, by: .together) }
            released.append(subject)
        }
        if adapter.offset < queues.count { queues[adapter.offset].sweep(among: subjects, of: adapter) }
    }

    private func subjects(heldBy adapter: AdapterIndex, in monitor: MonitorIndex?) -> [SubjectIndex] {
        guard adapter.offset < queues.count else { return [] }
        let held = queues[adapter.offset].subjects(among: subjects, of: adapter)
        guard let monitor else { return held }
        return held.filter { conditions.match(subjects[$0].condition).monitor == monitor }
    }

    /// Returns the number of subjects that an adapter holds.
    func holdCount(of adapter: AdapterIndex) -> Int {
        adapter.offset < queues.count ? queues[adapter.offset].count : 0
    }

    // MARK: Refreshes

    /// Refreshes a subject, and the hold of the sighting's adapter on it (rule X1).
    @inline(__always)
    mutating func refresh(_ subject: SubjectIndex, by sighting: Sighting, _ strength: Int16) {
        let adapter = AdapterIndex(sighting.adapter)
        let clock = adapters.reading(of: adapter, at: present)
        if !subjects[subject].refreshOnlyHold(by: adapter, clock: clock) {
            refreshHolds(on: subject, by: adapter, clock: clock)
        }
        subjects[subject].refresh(by: Refresh(sighting, at: present), strength)
        if subjects[subject].isBeacon { subjects.noteOrder(of: subject) }
    }

    @inline(never)
    private mutating func refreshHolds(on subject: SubjectIndex, by adapter: AdapterIndex, clock: Int64) {
        let outage = outageTimeout(of: subject)
        var position = 0
        while position < subjects[subject].holdCount {
            // A refresh ends the hold of all adapters together, and the hold of an adapter that is out (rule L3).
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
            if subjects[subject].holdCount > MonitorEngine.holdersMax { endHold(on: subject, at: 0) }
        }
    }

    /// Refreshes a circle by a fix of the present.
    mutating func refreshCircle(_ subject: SubjectIndex) {
        var last = subjects[subject].last
        last.time = present
        subjects[subject].refresh(by: last, ConditionMatch.absentRSSI)
    }

    /// Refreshes a subject of the cache that is `satisfied`, unless the sighting is too weak (rule X1).
    mutating func refreshRemembered(_ subject: SubjectIndex, by sighting: Sighting, _ strength: Int16) {
        guard strength >= subjects[subject].exitRSSI else { return }
        refresh(subject, by: sighting, strength)
        subjects[subject].noteLoneAdapter()
    }

    /// Refreshes the subjects of an entry of the cache that only the sighting's adapter holds and that are `satisfied`.
    ///
    /// - Parameters:
    ///   - place: The place of the entry in the cache.
    ///   - last: The refresh.
    ///   - strength: The RSSI, or ``ConditionMatch/absentRSSI``.
    /// - Returns: The other subjects of the entry, as the bits of their numbers.
    @inline(__always)
    mutating func refreshAlone(at place: Int, by last: Refresh, _ strength: Int16) -> UInt8 {
        let clock = adapters.clock(of: last.adapter).runningReading(at: present)
        return Self.refreshAlone(&subjects, of: conditions.lookup.cache.entries, at: place, by: last, strength, clock)
    }

    // A static function of the parts, so that the subjects can change while the entry is borrowed.
    @inline(__always)
    private static func refreshAlone(
        _ subjects: inout SubjectTable, of entries: borrowing ContiguousArray<MatchCache.Entry>, at place: Int,
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

    /// The end of one call of ``refreshAlone(by:of:from:)``.
    struct Run {
        /// The first entry that is not handled, or not completely.
        fileprivate(set) var index: Int
        /// The time of the entry before, or of this entry if a part of it is handled.
        fileprivate var present: Int64
        /// The subjects of this entry that are not handled, as the bits of their numbers; 0 if none is handled.
        fileprivate(set) var isLeft: UInt8 = 0
        /// The place of this entry's beacon in the cache, if a part of it is handled.
        fileprivate(set) var place = 0
    }

    /// Handles the entries of a batch that only refresh subjects, and moves the present to the last of them.
    ///
    /// It stops at the first entry that does more: if something is due, if its adapter does not scan, if its beacon is
    /// not in the cache, or if one of its subjects changes in another way.
    ///
    /// - Parameters:
    ///   - entries: The entries.
    ///   - indices: The adapters, at the places that the entries have; ``AdapterIndex/together`` for an unknown one.
    ///   - start: The first entry to handle.
    /// - Returns: The position that it reached.
    mutating func refreshAlone(
        by entries: Span<FrameBatch.Entry>, of indices: Span<AdapterIndex>, from start: Int
    ) -> Run {
        var run = Run(index: start, present: present)
        Self.refreshAlone(
            &subjects, &adapters, by: entries, of: indices, lookup: conditions.lookup, until: timeline.wake, &run)
        timeline.advance(to: run.present)
        return run
    }

    // A static function of the parts that calls nothing, so that its values stay in registers.
    @inline(never)
    private static func refreshAlone(
        _ subjects: inout SubjectTable, _ adapters: inout AdapterTable, by entries: Span<FrameBatch.Entry>,
        of indices: Span<AdapterIndex>, lookup: borrowing ConditionLookup, until wake: Int64, _ run: inout Run
    ) {
        let remembered = lookup.cache.entries.span
        subjects.withSubjects { subjects in
            adapters.withClocks { clocks in
                var present = run.present
                var index = run.index
                while index < entries.count {
                    let kind = unsafe entries[unchecked: index].kind
                    if kind.isFirst {
                        let time = unsafe entries[unchecked: index].nanoseconds
                        if time < present || time >= wake { break }
                        present = time
                    }
                    let source = Int(unsafe entries[unchecked: index].adapter)
                    guard source < indices.count else { break }
                    let adapter = indices[source]
                    guard adapter != .together, clocks[adapter.offset].isListening else { break }
                    // The line above has checked the index.
                    if kind.hasReports { unsafe clocks[unchecked: adapter.offset].noteReport(at: present) }
                    if kind.isBeacon {
                        let frame = unsafe entries[unchecked: index].frame
                        let place = lookup.remembered(frame.uuid, frame.number, hash: lookup.hash(frame.uuid))
                        if place < 0 { break }
                        let last = Refresh(frame, by: adapter, at: present)
                        let clock = unsafe clocks[unchecked: adapter.offset].runningReading(at: present)
                        var isLeft: UInt8 = 0
                        for number in 0..<Int(unsafe remembered[unchecked: place].count) {
                            let subject = unsafe remembered[unchecked: place].subjects[unchecked: number]
                            if !subjects[subject.offset].refreshAlone(by: last, frame.strength, adapter, clock) {
                                isLeft |= 1 << UInt8(truncatingIfNeeded: number)
                            }
                        }
                        if isLeft != 0 {
                            run.isLeft = isLeft
                            run.place = place
                            break
                        }
                    }
                    index &+= 1
                }
                run.index = index
                run.present = present
            }
        }
    }

    // MARK: Time

    /// Returns the earliest time at which a hold expires, an adapter counts as not scanning or is forgotten, or an
    /// outage timeout ends.
    mutating func nextDue() -> Int64 {
        var next = Int64.max
        for adapter in adapters.indices {
            if let expiry = earliestExpiry(of: adapter),
                let time = adapters.clock(of: adapter).time(of: expiry, at: present)
            {
                next = min(next, time)
            }
            if let time = adapters.nextChange(of: adapter, in: monitors) { next = min(next, time) }
            if adapters.isMissed(adapter), let time = adapters[adapter].silence.nextOutage(of: monitors.outages) {
                next = min(next, time)
            }
        }
        return next
    }

    /// Takes the expired holds out of their queues, and marks the outage timeouts that have ended as handled.
    ///
    /// - Parameter due: Receives the subjects that are affected, in no order; the same subject can be added twice.
    mutating func collectDue(into due: inout [SubjectIndex]) {
        for adapter in adapters.indices {
            while let expiry = earliestExpiry(of: adapter), expiry <= adapters.reading(of: adapter, at: present) {
                due.append(queues[adapter.offset].removeEarliest().subject)
            }
            guard adapters.isMissed(adapter) else { continue }
            while let monitor = adapters.handleOutage(of: adapter, in: monitors, at: present) {
                collectHeld(by: adapter, in: monitor, into: &due)
            }
        }
    }

    private func collectHeld(by adapter: AdapterIndex, in monitor: MonitorIndex, into due: inout [SubjectIndex]) {
        guard adapter != adapters.locationSource else {
            due += conditions.circleSubjects(in: monitor)
            return
        }
        due += subjects(heldBy: adapter, in: monitor)
        guard adapter == .together else { return }
        due += conditions.subjects(in: monitor).filter { subjects[$0].state == .unsatisfied }
    }

    /// The expiry of an adapter's earliest hold, on the adapter's clock. Entries that are out of date are put back or
    /// removed.
    private mutating func earliestExpiry(of adapter: AdapterIndex) -> Int64? {
        guard adapter.offset < queues.count else { return nil }
        return Self.earliestExpiry(of: &queues[adapter.offset], adapter, &subjects, conditions)
    }

    // A static function of the parts, so that the subjects can change while the queue does.
    private static func earliestExpiry(
        of queue: inout HoldQueue, _ adapter: AdapterIndex, _ subjects: inout SubjectTable, _ conditions: ConditionTable
    ) -> Int64? {
        queue.earliest { entry in
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

    // MARK: Restarts (rule N4)

    /// Adds the adapters of a snapshot; all of them are stopped.
    ///
    /// An adapter that held a subject is expected to scan. Of the others, only name and address are stored, until they
    /// are forgotten (rule L7).
    ///
    /// - Parameters:
    ///   - snapshot: The snapshot.
    ///   - offset: How far the wall clock is ahead of the timeline.
    mutating func restoreAdapters(of snapshot: MonitorSnapshot, offset: ClockOffset) {
        var holders: Set<String> = []
        for condition in snapshot.conditions {
            for subject in [condition.own] + condition.beacons { holders.formUnion(subject.holders) }
        }
        // The holders of a subject do not name the location source (rule G3).
        let source = adapters.locationSource.map { adapters[$0].name }
        for saved in snapshot.adapters where saved.name != source {
            let stopped = saved.stopped.map { min($0.nanoseconds(offset: offset), present) }
            let isHolder = holders.contains(saved.name)
            guard isHolder || !isForgotten(since: stopped),
                let adapter = adapters.remember(saved.name, saved.address, at: present)
            else { continue }
            adapters.resumeSilence(of: adapter, since: stopped ?? present, at: present)
            if isHolder { adapters.expect(adapter) }
        }
    }

    private func isForgotten(since stopped: Int64?) -> Bool {
        guard let stopped, let longest = monitors.longestForgetting else { return false }
        return stopped + longest <= present
    }

    /// Restores the last event and the last refresh of a subject.
    mutating func restorePast(of subject: SubjectIndex, _ saved: MonitorSnapshot.Subject) {
        if let previous = saved.previous {
            subjects[subject].restorePrevious()
            subjects[detailsOf: subject].previous = previous
        }
        guard !isCircle(subject) else {
            if let seen = saved.lastSeen { subjects[subject].restoreLastSeen(packed(seen)) }
            return
        }
        // An adapter that is not known any more keeps its name.
        guard let refresh = saved.lastRefresh,
            refresh.beacon.uuid == conditions[subjects[subject].condition].uuid,
            let adapter = adapters.index(called: refresh.adapter)
                ?? adapters.remember(refresh.adapter, nil, at: present)
        else { return }
        let sighting = Sighting(
            time: Instant(nanoseconds: present), adapter: adapter.id, beacon: refresh.beacon,
            measuredPower: refresh.measuredPower, rssi: refresh.rssi, address: refresh.address)
        subjects[subject].restore(Refresh(sighting, at: packed(refresh.time)))
    }

    /// Restores the holds and the open visit of a subject.
    mutating func restorePresent(of subject: SubjectIndex, _ saved: MonitorSnapshot.Subject) {
        if subjects[subject].isBeacon { subjects.noteOrder(of: subject) }
        subjects[subject].noteOutage(wasSatisfied: saved.wasSatisfied && saved.state == .unknown)
        guard subjects[subject].canLeave else { return }
        if let visit = saved.visit {
            subjects[subject].resumeVisit(refreshes: visit.refreshes, visit.strength)
            subjects[detailsOf: subject].arrival = visit.arrival.map { packed($0) } ?? SubjectDetails.assumed
        }
        guard !isCircle(subject) else { return }
        var holders: [AdapterIndex] = []
        for name in saved.holders {
            guard let adapter = adapters.index(called: name), adapters[adapter].hasListened,
                !holders.contains(adapter)
            else { continue }
            holders.append(adapter)
        }
        for adapter in holders.suffix(MonitorEngine.holdersMax) { addHold(on: subject, by: adapter) }
        if holders.isEmpty { addHold(on: subject, by: .together) }
    }

    private func packed(_ moment: PastMoment) -> Int64 { PackedMoment(moment, at: present).word }
}
