public import BluetoothLE

/// What a monitor is to have: its name, its settings and its conditions, in their order.
public struct MonitorSetup: Sendable, Hashable {
    /// A condition that is to be monitored.
    public struct Condition: Sendable, Hashable {
        /// Its identifier.
        public var identifier: Identifier
        /// What is monitored.
        public var condition: BeaconMonitoring.Condition
        /// The state that it starts from where it is new.
        public var assuming: BeaconMonitor.Event.State
        /// How it is entered and left.
        public var settings: ConditionSettings

        /// Makes one.
        public init(
            identifier: Identifier, condition: BeaconMonitoring.Condition,
            assuming: BeaconMonitor.Event.State = .unknown,
            settings: ConditionSettings = ConditionSettings()
        ) {
            self.identifier = identifier
            self.condition = condition
            self.assuming = assuming
            self.settings = settings
        }
    }

    /// Its name.
    public var name: Identifier
    /// What holds for its conditions.
    public var settings: MonitorSettings
    /// Its conditions, in order.
    public var conditions: [Condition]

    /// Makes one.
    public init(name: Identifier, settings: MonitorSettings = MonitorSettings(), conditions: [Condition] = []) {
        self.name = name
        self.settings = settings
        self.conditions = conditions
    }
}

// How an engine starts from what one before it left (rule N4).
extension MonitorEngine {
    /// Starts a new engine: takes over what survived, compares it with what is to be monitored as rule C2 does, adds what
    /// is new and removes what is gone.
    ///
    /// A subject is held by the adapters that held it, from when each listens; they count as stopped now, and for
    /// `forget_after` when they really did. So a restart alone makes no event; what changed in the configuration does.
    ///
    /// - Parameters:
    ///   - setups: the monitors that are to be, in their order.
    ///   - names: the beacons that have a name (rule P4). One that is present, has none and is not tracked without one
    ///     any more is forgotten, and one that does not fit any more gives its place up.
    ///   - snapshot: what survived; absent at a first start.
    ///   - time: the start, on the timeline.
    ///   - actions: where the lines of what changed go.
    /// - Throws: ``MonitorError`` where a setup is out of bounds or names two alike; the engine is to be thrown away then.
    public mutating func begin(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity> = [], from snapshot: MonitorSnapshot?,
        at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        enter(time, into: &actions)
        for setup in setups { try addMonitor(setup.name, settings: setup.settings) }
        setNames(names)
        if let snapshot { restore(snapshot, setups, into: &actions) }
        try apply(setups, at: time, into: &actions)
        removeStrangers(into: &actions)
        shedBeacons(into: &actions)
        // What was restored may be due without anything having been added.
        settleNow(into: &actions)
    }

    /// Makes the conditions those of `setups`: removes what is gone, then adds and changes, in their order (rules C2, C3).
    ///
    /// - Throws: ``MonitorError`` at the first that can't be; what came before it holds.
    public mutating func apply(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity>, at time: Instant,
        into actions: inout ActionBuffer
    ) throws(MonitorError) {
        enter(time, into: &actions)
        // First the names, then the settings, then what follows from both: who is named as strangers cease to be tracked
        // stays, and so does who loses a name as they begin to be.
        setNames(names)
        defer { removeStrangers(into: &actions) }
        try apply(setups, at: time, into: &actions)
    }

    /// The same, the names of beacons left as they are.
    ///
    /// - Throws: ``MonitorError`` at the first that can't be; what came before it holds.
    public mutating func apply(
        _ setups: [MonitorSetup], at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        var wanted: [Identifier: Identifier] = [:]
        for setup in setups {
            for condition in setup.conditions { wanted[condition.identifier] = setup.name }
        }
        for identifier in identifiers {
            guard let condition = conditionPlaces[identifier] else { continue }
            let monitor = monitors[Int(matches[Int(condition)].monitor)].name
            if wanted[identifier] != monitor { try remove(identifier, at: time, into: &actions) }
        }
        for setup in setups {
            for condition in setup.conditions {
                try add(
                    condition.condition, identifier: condition.identifier, monitor: setup.name,
                    assuming: condition.assuming, settings: condition.settings, at: time, into: &actions)
            }
        }
    }

    /// Takes over what survived. What is out of bounds, in a file that somebody wrote by hand, is left out.
    private mutating func restore(
        _ snapshot: MonitorSnapshot, _ setups: [MonitorSetup], into actions: inout ActionBuffer
    ) {
        var configured: [Identifier: ConditionSettings] = [:]
        for setup in setups {
            for condition in setup.conditions { configured[condition.identifier] = condition.settings }
        }
        restoreAdapters(snapshot)
        var restored: [(saved: MonitorSnapshot.Condition, condition: Int32)] = []
        for saved in snapshot.conditions {
            guard let identifier = try? Identifier(saved.identifier), conditionPlaces[identifier] == nil,
                let monitor = monitorPlace(saved.monitor, snapshot),
                let settings = [saved.settings, configured[identifier], ConditionSettings()].lazy
                    .compactMap(\.self).first(where: { isPossible($0, monitor: monitor) })
            else { continue }
            let condition = makeCondition(
                saved.condition, identifier, monitor: monitor, settings, takesPlace: false)
            restored.append((saved, condition))
        }
        // Rule C4: who had a place keeps it, and the first of the others take what is left.
        for hadPlace in [true, false] {
            for (saved, condition) in restored where (saved.own.state != .unmonitored) == hadPlace {
                conditions[Int(condition)].isLimited = takePlace(condition)
            }
        }
        for (_, condition) in restored where isMonitoredCircle(condition) { link(condition) }
        for (saved, condition) in restored { restore(saved, condition, into: &actions) }
    }

    private func isMonitoredCircle(_ condition: Int32) -> Bool {
        conditions[Int(condition)].condition.isCircle && isSupported(condition) && !conditions[Int(condition)].isLimited
    }

    private func isPossible(_ settings: ConditionSettings, monitor: Int) -> Bool {
        (try? settings.validate()) != nil && settings.enterWindow.nanoseconds <= monitors[monitor].outageTimeout
    }

    /// The place of a monitor; one that is no longer wanted is made known all the same, for its conditions to be removed.
    private mutating func monitorPlace(_ name: String, _ snapshot: MonitorSnapshot) -> Int? {
        if let place = monitors.firstIndex(where: { $0.name.text.utf8.elementsEqual(name.utf8) }) { return place }
        let settings = snapshot.monitors.first { $0.name.utf8.elementsEqual(name.utf8) }?.settings
        guard let identifier = try? Identifier(name),
            (try? addMonitor(identifier, settings: settings ?? MonitorSettings())) != nil
        else { return nil }
        return monitors.count - 1
    }

    /// The adapter that heard a last refresh: where nobody knows it, its name alone is kept.
    private mutating func rememberedAdapter(_ name: String) -> AdapterID? {
        if let place = place(called: name) { return AdapterID(index: place) }
        return restoreAdapter(name, nil).map { AdapterID(index: $0) }
    }

    /// Makes an adapter known that is no more than remembered: it may come back, and is not missed.
    private mutating func restoreAdapter(_ name: String, _ address: DeviceAddress?) -> Int? {
        guard let entry = directory.restore(name, address) else { return nil }
        var state = AdapterState(name: name, start: present)
        state.address = directory.entries[entry].address
        state.isGone = true
        state.isRemembered = true
        adapters.append(state)
        return place(ofEntry: entry)
    }

    /// Makes the adapters known, all of them stopped. Those that hold something are there and do not listen; of the others
    /// who they are is remembered, until they are forgotten (rule L7).
    private mutating func restoreAdapters(_ snapshot: MonitorSnapshot) {
        var holders: Set<String> = []
        for condition in snapshot.conditions {
            for subject in [condition.own] + condition.beacons { holders.formUnion(subject.holders) }
        }
        for saved in snapshot.adapters where !isLocationSource(saved.name) {
            let stopped = saved.stopped.map { min(Self.nanoseconds(of: $0, offset: clockOffset.nanoseconds), present) }
            let isHolder = holders.contains(saved.name)
            guard isHolder || !isLongGone(stopped), let place = restoreAdapter(saved.name, saved.address) else {
                continue
            }
            adapters[place].hasListened = true
            adapters[place].stoppedAt = present
            adapters[place].silentSince = stopped ?? present
            guard isHolder else { continue }
            adapters[place].isRemembered = false
            adapters[place].isGone = false
            silentCount += 1
        }
    }

    // What it holds, it holds by no name (rule G3).
    private func isLocationSource(_ name: String) -> Bool { locationPlace > 0 && adapters[locationPlace].name == name }

    private func isLongGone(_ stopped: Int64?) -> Bool {
        guard let stopped, let longest = forgettings.last?.timeout else { return false }
        return stopped + longest <= present
    }

    /// A moment on the timeline, before its beginning where it was.
    private static func nanoseconds(of moment: PastMoment, offset: Int64) -> Int64 {
        switch moment {
        case .timeline(let instant): return instant.nanoseconds
        case .date(let date):
            let (nanoseconds, overflow) = date.microseconds.multipliedReportingOverflow(by: 1000)
            let (place, overflowed) = nanoseconds.subtractingReportingOverflow(offset)
            // Far from the ends of what counts, so that a timeout can be added.
            return overflow || overflowed
                ? .max : min(max(place, -4_000_000_000_000_000_000), 9_000_000_000_000_000_000)
        }
    }

    private mutating func restore(
        _ saved: MonitorSnapshot.Condition, _ condition: Int32, into actions: inout ActionBuffer
    ) {
        let own = makeSubject(Subject(condition: condition, state: saved.own.state, beacon: nil))
        matches[Int(condition)].subject = Int32(own)
        applySettings(condition)
        restorePast(saved.own, own)
        guard isSupported(condition), !conditions[Int(condition)].isLimited else {
            return stopMonitoring(saved, condition, into: &actions)
        }
        // The circles are there from the first event on, which may say that they have no fix.
        if !conditions[Int(condition)].condition.isCircle { link(condition) }
        if subjects[own].state == .unmonitored {
            // Rule C4: there is a place now.
            become(.unknown, own, isOutage: false, into: &actions)
            holdByAll(own)
            return
        }
        restorePresent(saved.own, own)
        guard matches[Int(condition)].perBeacon else { return }
        for beacon in saved.beacons { restoreBeacon(beacon, under: condition) }
    }

    /// A condition for which there is no place any more (rule C4): what is open under it ends.
    private mutating func stopMonitoring(
        _ saved: MonitorSnapshot.Condition, _ condition: Int32, into actions: inout ActionBuffer
    ) {
        let own = Int(matches[Int(condition)].subject)
        guard subjects[own].state != .unmonitored else { return }
        restorePresent(saved.own, own)
        for beacon in saved.beacons { restoreBeacon(beacon, under: condition) }
        endVisits(of: condition, reason: .removed, into: &actions)
        for beacon in beacons(of: condition) { forgetBeacon(beacon) }
        dropAllHolds(of: own)
        become(.unmonitored, own, isOutage: false, into: &actions)
    }

    private mutating func restoreBeacon(_ saved: MonitorSnapshot.Subject, under condition: Int32) {
        guard let beacon = saved.beacon, saved.state == .satisfied || saved.state == .unknown,
            beacon.uuid == uuid(of: Int(condition)), !isTracked(beacon, under: condition)
        else { return }
        let subject = makeSubject(Subject(condition: condition, state: saved.state, beacon: beacon))
        track(subject, beacon, under: condition)
        restorePast(saved, subject)
        restorePresent(saved, subject)
    }

    /// What a subject was.
    private mutating func restorePast(_ saved: MonitorSnapshot.Subject, _ subject: Int) {
        if let previous = saved.previous {
            subjects[subject].hasPrevious = true
            details[subject].previous = previous
        }
        let condition = Int(subjects[subject].condition)
        if conditions[condition].condition.isCircle, let seen = saved.lastSeen {
            subjects[subject].last.time = kept(seen)
            subjects[subject].isRefreshed = true
        }
        guard !conditions[condition].condition.isCircle, let refresh = saved.lastRefresh,
            refresh.beacon.uuid == uuid(of: condition),
            let adapter = rememberedAdapter(refresh.adapter)
        else { return }
        var sighting = Sighting(
            time: now, adapter: adapter, beacon: refresh.beacon, measuredPower: refresh.measuredPower,
            rssi: refresh.rssi)
        sighting.address = refresh.address
        subjects[subject].last = Refresh(sighting, at: kept(refresh.time))
        subjects[subject].isRefreshed = true
    }

    /// What a subject is: who holds it, and its visit.
    private mutating func restorePresent(_ saved: MonitorSnapshot.Subject, _ subject: Int) {
        subjects[subject].wasSatisfied = saved.wasSatisfied && saved.state == .unknown
        if let visit = saved.visit, subjects[subject].canLeave {
            subjects[subject].openVisit()
            subjects[subject].refreshes = max(visit.refreshes, 0)
            subjects[subject].refreshesWithoutStrength = subjects[subject].refreshes
            details[subject].arrival = visit.arrival.map { kept($0) } ?? SubjectDetails.assumed
            if let strength = visit.strength, strength.count > 0 {
                subjects[subject].strengthMinimum = strength.minimum
                subjects[subject].strengthMaximum = strength.maximum
                subjects[subject].strengthSum = strength.sum
                subjects[subject].refreshesWithoutStrength -= min(strength.count, subjects[subject].refreshes)
            }
        }
        guard subjects[subject].canLeave, !isCircle(subject) else { return }
        var holders: [Int] = []
        for name in saved.holders {
            guard let place = place(called: name), adapters[place].hasListened, !holders.contains(place) else {
                continue
            }
            holders.append(place)
        }
        for place in holders.suffix(Self.holdersMax) { addHold(on: subject, by: place) }
        if holders.isEmpty { addHold(on: subject, by: 0) }
    }
}
