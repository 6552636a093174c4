public import BaseTypes

// What is monitored, and how that changes (rules C1–C6).
extension MonitorEngine {
    /// Makes a monitor known, whose conditions can then be added.
    ///
    /// - Throws: ``MonitorError/nameTaken(_:)``, and ``MonitorError/settingInvalid(_:_:)`` where the settings are out of
    ///   the bounds of rule C7.
    public mutating func addMonitor(
        _ name: Identifier, settings monitor: MonitorSettings = MonitorSettings()
    ) throws(MonitorError) {
        try monitors.add(name, monitor, deafAfter: settings.deafAfter)
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
        let monitor = try validate(settings, assuming: assumed, identifier: identifier, monitor: monitor)
        enter(time, into: &actions)
        if let existing = conditions.index(of: identifier) {
            let old = conditions[existing]
            if old.condition == condition, old.settings.perBeacon == settings.perBeacon {
                change(existing, to: settings, into: &actions)
            } else {
                replace(existing, by: condition, settings, assuming: assumed, into: &actions)
            }
        } else {
            let new = conditions.add(condition, identifier, in: monitor, settings)
            enterLimit(new)
            report(.added, new, assumed: assumed, into: &actions)
            begin(new, assuming: assumed, into: &actions)
        }
        // A new subject may be the first that an outage under way concerns.
        handleDueNow(into: &actions)
    }

    /// Whether a condition may be added, and to which of the monitors.
    /// - Throws: what ``add(_:identifier:monitor:assuming:settings:at:into:)`` does.
    @discardableResult
    func validate(
        _ settings: ConditionSettings, assuming assumed: BeaconMonitor.Event.State, identifier: Identifier,
        monitor name: Identifier
    ) throws(MonitorError) -> MonitorIndex {
        guard let monitor = monitors.index(named: name) else { throw .nameUnknown(name.text) }
        try settings.validate()
        guard assumed != .unmonitored else {
            throw .settingInvalid("assuming is unmonitored", "expected unknown, satisfied or unsatisfied")
        }
        guard settings.enterWindow.nanoseconds <= monitors[monitor].outageTimeout else {
            throw .settingInvalid("enter_window is \(settings.enterWindow)", "expected at most outage_timeout")
        }
        if let existing = conditions.index(of: identifier), conditions.match(existing).monitor != monitor {
            throw .identifierTaken(identifier.text, monitor: self.monitor(of: existing).name.text)
        }
        return monitor
    }

    /// Ends the monitoring of a condition and forgets it (rule C3).
    ///
    /// - Throws: ``MonitorError/identifierUnknown(_:)``; nothing has changed then.
    public mutating func remove(
        _ identifier: Identifier, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        guard let condition = conditions.index(of: identifier) else { throw .identifierUnknown(identifier.text) }
        enter(time, into: &actions)
        endVisits(of: condition, reason: .removed, into: &actions)
        report(.removed, condition, assumed: nil, into: &actions)
        let freesPlace = end(condition)
        conditions.remove(condition)
        if freesPlace { promote(into: &actions) }
    }

    /// The identifiers of the conditions, in the order in which they were added (rule C4).
    public var identifiers: [Identifier] { conditions.inOrder.map { conditions[$0].identifier } }

    /// A condition's present state; `nil` where no condition has the identifier.
    public func state(of identifier: Identifier) -> BeaconMonitor.Event.State? {
        conditions.index(of: identifier).map { subjects[conditions.match($0).subject].state }
    }

    // MARK: The limit (rules C4, C5)

    /// Counts a condition against the limit; one that can't be evaluated is not counted.
    mutating func enterLimit(_ condition: ConditionIndex) {
        conditions[condition].isLimited = isSupported(condition) && !limit.enter()
    }

    /// Whether sightings or fixes concern a condition.
    func isMonitored(_ condition: ConditionIndex) -> Bool {
        isSupported(condition) && !conditions[condition].isLimited
    }

    /// Monitors the first condition past the limit, now that a place is free (rule C4).
    private mutating func promote(into actions: inout ActionBuffer) {
        guard limit.waiting > 0, let first = conditions.firstLimited else { return }
        conditions[first].isLimited = false
        limit.promote()
        conditions.link(first)
        let subject = conditions.match(first).subject
        become(.unknown, subject, isOutage: false, into: &actions)
        holdByAll(subject)
    }

    // MARK: Beginning, change and end

    /// Starts a condition afresh: as assumed, or `unmonitored` (rules C1, C4, C5).
    private mutating func begin(
        _ condition: ConditionIndex, assuming assumed: BeaconMonitor.Event.State, into actions: inout ActionBuffer
    ) {
        let subject = addSubject(of: condition, as: assumed)
        guard isMonitored(condition) else {
            return become(.unmonitored, subject, isOutage: false, into: &actions)
        }
        conditions.link(condition)
        if assumed == .satisfied { subjects[subject].openVisit() }
        holdByAll(subject)
        resolve(subject, into: &actions)
    }

    /// Makes a condition's own subject.
    mutating func addSubject(of condition: ConditionIndex, as state: BeaconMonitor.Event.State) -> SubjectIndex {
        let subject = subjects.add(Subject(condition: condition, state: state, beacon: nil))
        conditions.begin(condition, as: subject)
        subjects[subject].exitRSSI = conditions.match(condition).exitRSSI
        return subject
    }

    /// Other settings for the same condition: the state stays, deadlines move (rule C2).
    private mutating func change(
        _ condition: ConditionIndex, to settings: ConditionSettings, into actions: inout ActionBuffer
    ) {
        let old = conditions[condition].settings
        guard old != settings else { return }
        let own = conditions.match(condition).subject
        conditions.set(condition, settings)
        subjects[own].exitRSSI = conditions.match(condition).exitRSSI
        if settings.strangers != old.strangers { removeStrangers(from: condition, into: &actions) }
        report(.changed, condition, assumed: nil, into: &actions)
        if old.enterCount != settings.enterCount || old.enterWindow != settings.enterWindow
            || old.enterRSSI != settings.enterRSSI
        {
            restartEntering(condition)
        }
        requeueHolds(of: own)
        for subject in beacons(of: condition) { requeueHolds(of: subject) }
        handleDueNow(into: &actions)
    }

    private mutating func replace(
        _ condition: ConditionIndex, by new: Condition, _ settings: ConditionSettings,
        assuming assumed: BeaconMonitor.Event.State, into actions: inout ActionBuffer
    ) {
        endVisits(of: condition, reason: .replaced, into: &actions)
        let wasLimited = conditions[condition].isLimited
        let freesPlace = end(condition)
        conditions.replace(condition, by: new, settings)
        // It keeps its place, and its being past the limit, unless what it takes changed.
        if isSupported(condition), freesPlace || wasLimited {
            limit.add(hasPlace: freesPlace)
            conditions[condition].isLimited = !freesPlace
        } else {
            enterLimit(condition)
        }
        report(.replaced, condition, assumed: assumed, into: &actions)
        begin(condition, assuming: assumed, into: &actions)
        if freesPlace, !isSupported(condition) { promote(into: &actions) }
    }

    /// Takes a condition's subjects out; whether that frees a place among the monitored.
    private mutating func end(_ condition: ConditionIndex) -> Bool {
        for subject in beacons(of: condition) { forgetBeacon(subject) }
        let wasMonitored = isMonitored(condition)
        if isSupported(condition) { limit.remove(hadPlace: wasMonitored) }
        if wasMonitored { conditions.unlink(condition) }
        episodes.forget(condition)
        let own = conditions.match(condition).subject
        endHolds(on: own)
        subjects.remove(own)
        return wasMonitored
    }
}
