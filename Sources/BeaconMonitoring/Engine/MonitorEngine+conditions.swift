public import BluetoothLE

// What is monitored, and how that changes (rules C1–C6).
extension MonitorEngine {
    /// Makes a monitor known, whose conditions can then be added.
    ///
    /// - Throws: ``MonitorError/nameTaken(_:)``, and ``MonitorError/settingInvalid(_:_:)`` where the settings are out of
    ///   the bounds of rule C7.
    public mutating func addMonitor(
        _ name: Identifier, settings monitor: MonitorSettings = MonitorSettings()
    ) throws(MonitorError) {
        guard !monitors.contains(where: { $0.name == name }) else { throw .nameTaken(name.text) }
        for (setting, duration) in [("outage_timeout", monitor.outageTimeout), ("forget_after", monitor.forgetAfter)]
        where !SettingBounds.duration.contains(duration) {
            throw .settingInvalid("\(setting) is \(duration)", "expected 1ms…30d")
        }
        if let deafAfter = settings.deafAfter, monitor.outageTimeout <= deafAfter {
            throw .settingInvalid(
                "outage_timeout is \(monitor.outageTimeout)", "expected above deaf_after, \(deafAfter)")
        }
        guard monitor.forgetAfter > monitor.outageTimeout else {
            throw .settingInvalid(
                "forget_after is \(monitor.forgetAfter)", "expected above outage_timeout, \(monitor.outageTimeout)")
        }
        let place = UInt16(truncatingIfNeeded: monitors.count)
        let outage = monitor.outageTimeout.nanoseconds
        let forgetting = monitor.forgetAfter.nanoseconds
        monitors.append(MonitorState(name: name, outageTimeout: outage, forgetAfter: forgetting))
        outages.insert((outage, place), at: outages.firstIndex { $0.timeout > outage } ?? outages.count)
        forgettings.insert(
            (forgetting, place), at: forgettings.firstIndex { $0.timeout > forgetting } ?? forgettings.count)
    }

    /// Adds a condition, or changes or replaces the one of that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: what is monitored.
    ///   - identifier: unique over all monitors (rule C6).
    ///   - monitor: the name of one that ``addMonitor(_:settings:)`` made known.
    ///   - assumed: the state that it starts from; what is observed overrides it.
    ///   - settings: how it is entered and left.
    ///   - time: when, on the timeline.
    ///   - actions: where the `condition` action and the events that follow from it go.
    /// - Throws: ``MonitorError`` where the monitor is unknown, the identifier belongs to another monitor, or a setting is
    ///   out of bounds; nothing has changed then.
    public mutating func add(
        _ condition: Condition, identifier: Identifier, monitor: Identifier,
        assuming assumed: BeaconMonitor.Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings(), at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        let place = try validate(settings, assuming: assumed, identifier: identifier, monitor: monitor)
        let existing = conditionPlaces[identifier]
        enter(time, into: &actions)
        if let existing {
            let old = conditions[Int(existing)]
            if old.condition == condition, old.settings.perBeacon == settings.perBeacon {
                change(existing, to: settings, into: &actions)
            } else {
                replace(existing, by: condition, settings, assuming: assumed, into: &actions)
            }
        } else {
            let new = makeCondition(condition, identifier, monitor: place, settings)
            act(.added, new, assumed: assumed, into: &actions)
            begin(new, assuming: assumed, into: &actions)
        }
        // A new subject may be the first that an outage under way concerns.
        settleNow(into: &actions)
    }

    /// Whether a condition may be added, and to which place among the monitors.
    /// - Throws: what ``add(_:identifier:monitor:assuming:settings:at:into:)`` does.
    @discardableResult
    func validate(
        _ settings: ConditionSettings, assuming assumed: BeaconMonitor.Event.State, identifier: Identifier,
        monitor: Identifier
    ) throws(MonitorError) -> Int {
        guard let place = monitors.firstIndex(where: { $0.name == monitor }) else { throw .nameUnknown(monitor.text) }
        try settings.validate()
        guard assumed != .unmonitored else {
            throw .settingInvalid("assuming is unmonitored", "expected unknown, satisfied or unsatisfied")
        }
        guard settings.enterWindow.nanoseconds <= monitors[place].outageTimeout else {
            throw .settingInvalid("enter_window is \(settings.enterWindow)", "expected at most outage_timeout")
        }
        if let existing = conditionPlaces[identifier], Int(matches[Int(existing)].monitor) != place {
            throw .identifierTaken(identifier.text, monitor: monitors[Int(matches[Int(existing)].monitor)].name.text)
        }
        return place
    }

    /// Ends the monitoring of a condition and forgets it (rule C3).
    ///
    /// - Throws: ``MonitorError/identifierUnknown(_:)``; nothing has changed then.
    public mutating func remove(
        _ identifier: Identifier, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        guard let condition = conditionPlaces[identifier] else { throw .identifierUnknown(identifier.text) }
        enter(time, into: &actions)
        endVisits(of: condition, reason: .removed, into: &actions)
        act(.removed, condition, assumed: nil, into: &actions)
        let freesPlace = end(condition)
        conditionPlaces[identifier] = nil
        matches[Int(condition)].subject = -1
        freeConditions.append(condition)
        ranksValid = false
        if freesPlace { promote(into: &actions) }
    }

    /// The identifiers of the conditions, in the order in which they were added (rule C4).
    public var identifiers: [Identifier] {
        conditionPlaces.values.sorted { conditions[Int($0)].place < conditions[Int($1)].place }
            .map { conditions[Int($0)].identifier }
    }

    /// A condition's present state; `nil` where no condition has the identifier.
    public func state(of identifier: Identifier) -> BeaconMonitor.Event.State? {
        conditionPlaces[identifier].map { subjects[Int(matches[Int($0)].subject)].state }
    }

    mutating func makeCondition(
        _ condition: Condition, _ identifier: Identifier, monitor: Int, _ settings: ConditionSettings,
        takesPlace: Bool = true
    ) -> Int32 {
        placesGiven += 1
        let state = ConditionState(
            identifier: identifier, condition: condition, settings: settings, place: placesGiven)
        let match = ConditionMatch(
            subject: -1, monitor: UInt16(monitor), exitRSSI: 0, perBeacon: false, exitTimeout: 0)
        ranksValid = false
        let index: Int32
        if let free = freeConditions.popLast() {
            conditions[Int(free)] = state
            matches[Int(free)] = match
            index = free
        } else {
            conditions.append(state)
            matches.append(match)
            index = Int32(conditions.count - 1)
        }
        conditionPlaces[identifier] = index
        if takesPlace { conditions[Int(index)].isLimited = takePlace(index) }
        return index
    }

    /// Counts a condition among the monitored; whether it is past the limit (rule C4). One that can't be evaluated
    /// takes no place.
    mutating func takePlace(_ condition: Int32) -> Bool {
        guard isSupported(condition) else { return false }
        if settings.conditionLimit > 0, monitoredCount >= settings.conditionLimit {
            limitedCount += 1
            return true
        }
        monitoredCount += 1
        return false
    }

    /// Copies the settings to where the path of a sighting reads them.
    mutating func applySettings(_ condition: Int32) {
        memo.removeAll()
        let settings = conditions[Int(condition)].settings
        matches[Int(condition)].exitRSSI = settings.exitRSSI.map { Int16($0.dBm) } ?? ConditionMatch.anyRSSI
        matches[Int(condition)].perBeacon = settings.perBeacon
        matches[Int(condition)].refusesStrangers = settings.perBeacon && settings.strangers == .refuse
        matches[Int(condition)].exitTimeout = settings.exitTimeout.nanoseconds
        let subject = Int(matches[Int(condition)].subject)
        if subject >= 0 { subjects[subject].exitRSSI = matches[Int(condition)].exitRSSI }
    }

    /// Starts a condition afresh: as assumed, or `unmonitored` (rules C1, C4, C5).
    private mutating func begin(
        _ condition: Int32, assuming assumed: BeaconMonitor.Event.State, into actions: inout ActionBuffer
    ) {
        let subject = makeSubject(Subject(condition: condition, state: assumed, beacon: nil))
        matches[Int(condition)].subject = Int32(subject)
        applySettings(condition)
        guard isSupported(condition), !conditions[Int(condition)].isLimited else {
            return become(.unmonitored, subject, isOutage: false, into: &actions)
        }
        link(condition)
        if assumed == .satisfied { subjects[subject].openVisit() }
        holdByAll(subject)
        settle(subject, into: &actions)
    }

    /// Other settings for the same condition: the state stays, deadlines move (rule C2).
    private mutating func change(
        _ condition: Int32, to settings: ConditionSettings, into actions: inout ActionBuffer
    ) {
        let old = conditions[Int(condition)].settings
        guard old != settings else { return }
        conditions[Int(condition)].settings = settings
        applySettings(condition)
        if settings.strangers != old.strangers { removeStrangers(from: condition, into: &actions) }
        act(.changed, condition, assumed: nil, into: &actions)
        if old.enterCount != settings.enterCount || old.enterWindow != settings.enterWindow
            || old.enterRSSI != settings.enterRSSI
        {
            restartEntering(condition)
        }
        requeueHolds(of: Int(matches[Int(condition)].subject))
        for subject in beacons(of: condition) { requeueHolds(of: subject) }
        settleNow(into: &actions)
    }

    private mutating func replace(
        _ condition: Int32, by new: Condition, _ settings: ConditionSettings,
        assuming assumed: BeaconMonitor.Event.State,
        into actions: inout ActionBuffer
    ) {
        endVisits(of: condition, reason: .replaced, into: &actions)
        let wasLimited = conditions[Int(condition)].isLimited
        let freesPlace = end(condition)
        conditions[Int(condition)].condition = new
        conditions[Int(condition)].settings = settings
        // It keeps its place, and its being past the limit, unless what it takes changed.
        if isSupported(condition), freesPlace {
            monitoredCount += 1
            conditions[Int(condition)].isLimited = false
        } else if wasLimited, isSupported(condition) {
            limitedCount += 1
            conditions[Int(condition)].isLimited = true
        } else {
            conditions[Int(condition)].isLimited = takePlace(condition)
        }
        act(.replaced, condition, assumed: assumed, into: &actions)
        begin(condition, assuming: assumed, into: &actions)
        if freesPlace, !isSupported(condition) { promote(into: &actions) }
    }

    /// Takes a condition's subjects out; whether that frees a place among the monitored.
    private mutating func end(_ condition: Int32) -> Bool {
        for subject in beacons(of: condition) { forgetBeacon(subject) }
        let isMonitored = isSupported(condition) && !conditions[Int(condition)].isLimited
        if isMonitored {
            unlink(condition)
            monitoredCount -= 1
        } else if conditions[Int(condition)].isLimited {
            limitedCount -= 1
        }
        if conditions[Int(condition)].isOverflowing {
            conditions[Int(condition)].isOverflowing = false
            overflowingCount -= 1
        }
        if conditions[Int(condition)].isRefusing {
            conditions[Int(condition)].isRefusing = false
            refusingCount -= 1
        }
        freeSubject(Int(matches[Int(condition)].subject))
        return isMonitored
    }

    /// Monitors the first condition past the limit, now that a place is free (rule C4).
    private mutating func promote(into actions: inout ActionBuffer) {
        guard limitedCount > 0 else { return }
        let limited = conditionPlaces.values.filter { conditions[Int($0)].isLimited }
        guard let first = limited.min(by: { conditions[Int($0)].place < conditions[Int($1)].place }) else { return }
        conditions[Int(first)].isLimited = false
        limitedCount -= 1
        monitoredCount += 1
        link(first)
        let subject = Int(matches[Int(first)].subject)
        become(.unknown, subject, isOutage: false, into: &actions)
        holdByAll(subject)
    }

    /// What no adapter has held yet is held by all together; a circle needs no holds (rule G2).
    mutating func holdByAll(_ subject: Int) {
        if subjects[subject].canLeave, !isCircle(subject) { addHold(on: subject, by: 0) }
    }

    /// Puts a condition where sightings find it.
    mutating func link(_ condition: Int32) {
        memo.removeAll()
        guard case .beacon(let identity) = conditions[Int(condition)].condition else {
            circles.append(condition)
            circlesSorted = false
            return
        }
        var place = conditionTable.find(identity.uuid, extra: 0)
        if place < 0 {
            if let free = freeUUIDs.popLast() {
                uuids[Int(free)] = UUIDEntry()
                place = free
            } else {
                uuids.append(UUIDEntry())
                place = Int32(uuids.count - 1)
            }
            conditionTable.set(identity.uuid, extra: 0, to: place)
        }
        let extra = identity.extra
        uuids[Int(place)].counts[Int(extra >> 32)] += 1
        if extra == 0 {
            matches[Int(condition)].next = uuids[Int(place)].first
            uuids[Int(place)].first = condition
        } else {
            matches[Int(condition)].next = conditionTable.find(identity.uuid, extra: extra)
            conditionTable.set(identity.uuid, extra: extra, to: condition)
        }
    }

    /// Takes a condition away from where sightings find it.
    private mutating func unlink(_ condition: Int32) {
        memo.removeAll()
        guard case .beacon(let identity) = conditions[Int(condition)].condition else {
            circles.removeAll { $0 == condition }
            return
        }
        let place = conditionTable.find(identity.uuid, extra: 0)
        guard place >= 0 else { return }
        let extra = identity.extra
        let next = matches[Int(condition)].next
        let first = extra == 0 ? uuids[Int(place)].first : conditionTable.find(identity.uuid, extra: extra)
        if first == condition {
            if extra == 0 {
                uuids[Int(place)].first = next
            } else if next >= 0 {
                conditionTable.set(identity.uuid, extra: extra, to: next)
            } else {
                conditionTable.remove(identity.uuid, extra: extra)
            }
        } else {
            var previous = first
            while previous >= 0, matches[Int(previous)].next != condition { previous = matches[Int(previous)].next }
            if previous >= 0 { matches[Int(previous)].next = next }
        }
        uuids[Int(place)].counts[Int(extra >> 32)] -= 1
        if uuids[Int(place)].counts[0] + uuids[Int(place)].counts[1] + uuids[Int(place)].counts[2] == 0 {
            conditionTable.remove(identity.uuid, extra: 0)
            freeUUIDs.append(place)
        }
    }
}
