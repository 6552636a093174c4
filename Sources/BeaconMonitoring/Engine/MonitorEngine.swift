public import BaseTypes
public import BluetoothLE

/// The monitor as a value: its inputs are sightings and time, its outputs are actions.
///
/// It holds the conditions of all monitors of a gateway, and follows the rules of `docs/monitor.md`. It has no clock,
/// task or file. Each input carries its time. Everything that is due before the input is handled first (rule T3), so
/// the result does not depend on how often the engine is advanced (rule T4).
///
///     var engine = MonitorEngine(start: start)
///     var actions = ActionBuffer()
///     let (site, lobby) = (try Identifier("site"), try Identifier("lobby"))
///     try engine.addMonitor(site)
///     try engine.add(.beacon(uuid: uuid), identifier: lobby, monitor: site, at: start, into: &actions)
///     let adapter = try engine.adapter(named: "hci0", at: start, into: &actions)
///     engine.sighted(
///         Sighting(time: start, adapter: adapter, beacon: badge, measuredPower: -59, rssi: nil), into: &actions)
///     #expect(engine.state(of: lobby) == .satisfied)
public struct MonitorEngine: Sendable {
    /// The maximum number of adapters.
    public static let adaptersMax = 255
    /// The maximum number of adapters that hold one subject.
    public static let holdersMax = 8

    private var evaluator: SubjectEvaluator
    private var places: EnginePlaces

    /// Creates an engine without monitors, adapters or conditions.
    ///
    /// - Parameters:
    ///   - settings: the settings for all monitors.
    ///   - start: the current time on the timeline. If no adapter ever scans, outages count from it (rule L2).
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    public init(settings: EngineSettings = EngineSettings(), start: Instant, clockOffset: ClockOffset = .zero) {
        self.init(settings: settings, start: start, clockOffset: clockOffset, sharing: nil)
    }

    // The same, with a limit of conditions that other engines share.
    init(
        settings: EngineSettings, start: Instant, clockOffset: ClockOffset,
        sharing limit: SharedConditionLimit.Member?
    ) {
        evaluator = SubjectEvaluator(settings, start: start.nanoseconds, clockOffset: clockOffset)
        places = EnginePlaces(settings.conditionLimit, sharing: limit)
    }

    // MARK: State

    /// The settings for all monitors.
    public var settings: EngineSettings { evaluator.settings }

    /// How far the wall clock is ahead of the timeline. The dates of later actions use it.
    public var clockOffset: ClockOffset {
        get { evaluator.clockOffset }
        set { evaluator.clockOffset = newValue }
    }

    /// The diagnostics from outside the engine. Later events have them.
    public var ambientDiagnostics: Diagnostics {
        get { evaluator.ambientDiagnostics }
        set { evaluator.ambientDiagnostics = newValue }
    }

    /// Whether an adapter without reports counts as not scanning (rule L5), if ``EngineSettings/deafAfter`` is set.
    public var silenceMeansNotScanning: Bool {
        get { evaluator.held.adapters.silenceMeansNotScanning }
        set {
            evaluator.held.adapters.silenceMeansNotScanning = newValue
            // The next deadline can be earlier now.
            evaluator.held.timeline.expect(evaluator.present)
        }
    }

    /// The beacons with names (rule P4).
    public var namedBeacons: Set<BeaconIdentity> { evaluator.names }
    /// The number of beacons under conditions that exceeded the limit (rule P2).
    public var untrackedBeacons: Int { evaluator.untrackedBeacons }
    /// The number of beacons under conditions that lost their place to a beacon with a name (rule P4).
    public var displacedBeacons: Int { evaluator.displacedBeacons }
    /// The number of times that a beacon without a name had enough sightings to enter, but no token was left (rule P5).
    public var refusedBeacons: Int { evaluator.refusedBeacons }

    /// The time of the latest input, or of the latest deadline that was handled.
    public var now: Instant { evaluator.now }

    /// The next time at which ``advance(to:into:)`` must be called; `nil` if nothing can become due. It can be earlier
    /// than the next deadline, but is never later.
    public var nextDeadline: Instant? {
        let wake = evaluator.held.timeline.wake
        return wake == .max ? nil : Instant(nanoseconds: max(wake, evaluator.present))
    }

    /// The number of inputs whose time was before the engine's now (rule T2).
    public var lateInputs: Int { evaluator.held.timeline.lateInputs }

    /// The number of beacons without names that can enter now; `nil` if there is no limit (rule P5).
    public var newBeaconsLeft: Int? { evaluator.newBeaconsLeft }

    /// The conditions whose UUID has the bytes of a received beacon's UUID in reverse order, if the beacon matches no
    /// condition: at most 16, since conditions changed last.
    package var reversedUUIDs: [ReversedUUID] { conditions.reversed.found }

    /// The current diagnostics: ``ambientDiagnostics``, and `trackingLimitExceeded` while beacons exceed a limit (rules
    /// P2, P4, P5).
    public var presentDiagnostics: Diagnostics { evaluator.presentDiagnostics }

    /// The present beacons under conditions with `per_beacon`, sorted, by the identifier of the condition. A condition
    /// without one is not a key. The time is proportional to the number of subjects.
    package var presentBeacons: [Identifier: [BeaconIdentity]] {
        let held = evaluator.held
        var present: [Identifier: [BeaconIdentity]] = [:]
        for subject in held.subjects.indices(where: { $0.exists && $0.isBeacon && $0.state == .satisfied }) {
            present[conditions[held[subject].condition].identifier, default: []].append(held.beacon(of: subject))
        }
        return present.mapValues { $0.sorted() }
    }

    /// The current state that survives a restart (rule N4).
    public var snapshot: MonitorSnapshot { MonitorSnapshot(evaluator.held, clockOffset: clockOffset) }

    private var conditions: ConditionTable { evaluator.held.conditions }

    private func isCircle(_ condition: ConditionIndex) -> Bool { conditions[condition].condition.isCircle }

    // MARK: Inputs

    /// Handles everything that is due at or before an input, and then monitors the conditions that got places which
    /// other engines released. So the input counts for them, and is not late because of them.
    private mutating func enter(_ time: Instant, into actions: inout ActionBuffer) {
        evaluator.enter(time, into: &actions)
        if hasPlacesToTake { promote(into: &actions) }
    }

    /// Handles everything that is due at or before `time`.
    public mutating func advance(to time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
    }

    /// Handles a report of any kind. It shows that the adapter scans (rules L4, L5).
    public mutating func received(by adapter: AdapterID, at time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
        evaluator.noteReport(AdapterIndex(adapter), into: &actions)
    }

    /// Handles a report of an adapter that has an iBeacon.
    public mutating func sighted(_ sighting: Sighting, into actions: inout ActionBuffer) {
        received(by: sighting.adapter, at: sighting.time, into: &actions)
        let last = Refresh(sighting, at: evaluator.present)
        evaluator.match(sighting.beacon.uuid, last, sighting.strength, into: &actions)
    }

    /// Handles the iBeacon of the last report that was passed to ``received(by:at:into:)``. Both calls together are the
    /// same as ``sighted(_:into:)``.
    package mutating func sighted(_ frame: BeaconFrame, by adapter: AdapterID, into actions: inout ActionBuffer) {
        let last = Refresh(frame, by: AdapterIndex(adapter), at: evaluator.present)
        evaluator.match(frame.uuid, last, frame.strength, into: &actions)
    }

    /// Handles many reports: the same as ``advance(to:into:)``, ``received(by:at:into:)`` and ``sighted(_:into:)`` of
    /// each.
    ///
    /// - Parameters:
    ///   - batch: the reports, in the order of their times.
    ///   - ids: the IDs of the adapters; a batch has their positions. A report of an adapter without an ID only
    ///     advances the time.
    ///   - actions: receives the actions.
    public mutating func received(_ batch: borrowing FrameBatch, of ids: [AdapterID?], into actions: inout ActionBuffer)
    {
        if hasPlacesToTake, batch.counts.entries > 0 { enter(max(batch.entries[0].time, now), into: &actions) }
        evaluator.received(batch, of: ids.map { $0.map { AdapterIndex($0) } ?? .together }, into: &actions)
    }

    /// Handles a change of an adapter: it starts or stops scanning, or is removed.
    public mutating func listening(_ change: ListeningChange, at time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
        evaluator.apply(change, into: &actions)
        evaluator.handleDueNow(into: &actions)
    }

    /// Handles a fix of the location source: the source works, and each circle is compared with the fix, in the order
    /// of identifiers (rules E4, G2). Without a location source, the fix only advances the time.
    public mutating func located(_ fix: LocationFix, into actions: inout ActionBuffer) {
        enter(fix.time, into: &actions)
        guard let source = evaluator.held.adapters.locationSource else { return }
        evaluator.noteReport(source, into: &actions)
        for circle in evaluator.held.conditions.sortedCircles() { evaluator.consider(circle, by: fix, into: &actions) }
    }

    /// Sets which beacons have names (rule P4). The engine does not use the names themselves.
    ///
    /// A beacon without a name loses its subject under each condition whose settings ignore or refuse it. Its visit
    /// ends (`removed`).
    ///
    /// - Parameters:
    ///   - beacons: All beacons that have a name.
    ///   - time: The time on the timeline.
    ///   - actions: Receives the visits that end.
    public mutating func name(_ beacons: Set<BeaconIdentity>, at time: Instant, into actions: inout ActionBuffer) {
        enter(time, into: &actions)
        setNames(beacons)
        evaluator.removeUnnamed(into: &actions)
        evaluator.handleDueNow(into: &actions)
    }

    /// Sets which beacons have names. Unless the engine is new, the caller must remove those that are not tracked any
    /// more.
    mutating func setNames(_ beacons: Set<BeaconIdentity>) { evaluator.setNames(beacons) }

    // MARK: Adapters (rule L7)

    /// The location source, which is the adapter of all circles, for ``listening(_:at:into:)``;
    /// ``EngineSettings/locationSource`` is its name. `nil` if there is none.
    public var locationSource: AdapterID? { evaluator.held.adapters.locationSource?.id }

    /// Identifies the adapter that has this name from a time on, and adds it if it is new. It does not count as
    /// scanning before an input says so or it reports.
    ///
    /// An adapter is a controller (rule L7): its address identifies it if it is known and no other controller has it;
    /// otherwise its name does. Call this again when a controller appears and when its name or address changes. Its
    /// name in lines can change then: an ``Action/adapterNamed(_:name:)`` reports that before the first action with the
    /// new name.
    ///
    /// - Parameters:
    ///   - name: the name of the adapter, such as the kernel's `hci0`. With several gateways, the name of the gateway
    ///     and a slash must precede it, because an address counts within one gateway.
    ///   - address: the address of the controller; zero means none.
    ///   - time: the time at which the controller gets the name. Everything due by then is handled first (rule T3). A
    ///     time before the engine's now counts as now.
    ///   - actions: receives the actions of everything that became due.
    /// - Returns: the ID of the adapter, valid for this engine only.
    /// - Throws: ``MonitorError/adaptersTooMany(_:)`` if ``adaptersMax`` adapters are known.
    public mutating func adapter(
        named name: String, address: DeviceAddress? = nil, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) -> AdapterID {
        evaluator.enter(max(time, now), into: &actions)
        let adapter = evaluator.held.adapters.identify(
            name, address, forgetAfter: evaluator.held.monitors.longestForgetting, at: evaluator.present)
        guard let adapter else { throw .adaptersTooMany(Self.adaptersMax) }
        return adapter.id
    }

    /// Returns the adapter that already has this name and address, so that ``adapter(named:address:at:into:)`` would
    /// change nothing.
    func knownAdapter(named name: String, address: DeviceAddress?) -> AdapterID? {
        evaluator.held.adapters.known(name, address)?.id
    }

    /// Records that no controller has that name any more: it was removed, or stopped scanning. Its address can then
    /// appear with another name without counting as shared (rule L7).
    public mutating func adapterLeft(named name: String) { evaluator.held.adapters.leave(name) }

    /// The adapters that the engine knows, in the order in which they became known, including restored ones (rule N4).
    public var knownAdapters: [AdapterID] { evaluator.held.adapters.indices.dropFirst().map(\.id) }

    /// Returns the name of an adapter in lines; empty if the ID is unknown.
    public func name(of adapter: AdapterID) -> String { state(of: adapter)?.name ?? "" }

    /// Returns the address of an adapter; `nil` if it has none, or shares it with another controller.
    public func address(of adapter: AdapterID) -> DeviceAddress? { state(of: adapter)?.address }

    private func state(of adapter: AdapterID) -> AdapterState? {
        let adapter = AdapterIndex(adapter)
        return evaluator.held.adapters.contains(adapter) ? evaluator.held.adapters[adapter] : nil
    }

    /// Returns whether an adapter does not scan because of an input, or has not scanned yet. False if only reports are
    /// missing (rule L5).
    package func isOff(_ adapter: AdapterID) -> Bool {
        let adapter = AdapterIndex(adapter)
        let adapters = evaluator.held.adapters
        return !adapters.clock(of: adapter).isListening && adapters[adapter].reported != .deaf
    }

    // MARK: Monitors and conditions (rules C1–C6)

    /// Adds a monitor without conditions.
    ///
    /// - Throws: ``MonitorError/nameTaken(_:)``, and ``MonitorError/settingInvalid(_:_:)`` if the settings exceed the
    ///   bounds of rule C7.
    public mutating func addMonitor(
        _ name: Identifier, settings monitor: MonitorSettings = MonitorSettings()
    ) throws(MonitorError) {
        try evaluator.held.monitors.add(name, monitor, deafAfter: settings.deafAfter)
    }

    /// The identifiers of the conditions, in the order in which they were added (rule C4).
    public var identifiers: [Identifier] { conditions.inOrder.map { conditions[$0].identifier } }

    /// Returns the current state of a condition; `nil` if no condition has the identifier.
    public func state(of identifier: Identifier) -> BeaconMonitor.Event.State? {
        conditions.index(of: identifier).map { evaluator.held[conditions.match($0).subject].state }
    }

    /// Adds a condition, or changes or replaces the condition with that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: The condition.
    ///   - identifier: Its identifier, unique in all monitors (rule C6).
    ///   - monitor: The name of a monitor that ``addMonitor(_:settings:)`` added.
    ///   - assumed: The state that it starts from; observations override it.
    ///   - settings: How it is entered and left.
    ///   - time: The time on the timeline.
    ///   - actions: Receives the `condition` action and the events that follow from it.
    /// - Throws: ``MonitorError`` if the monitor is unknown, the identifier belongs to another monitor, or a setting is
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
            let new = evaluator.held.conditions.add(
                condition, identifier, in: monitor, settings, ordinal: places.next())
            enterLimit(new)
            evaluator.report(.added, new, assumed: assumed, into: &actions)
            evaluator.begin(new, assuming: assumed, into: &actions)
        }
        // A new subject can be the first one that a present outage affects.
        evaluator.handleDueNow(into: &actions)
    }

    /// Checks whether a condition can be added.
    ///
    /// - Returns: The monitor.
    /// - Throws: The errors of ``add(_:identifier:monitor:assuming:settings:at:into:)``.
    @discardableResult
    func validate(
        _ settings: ConditionSettings, assuming assumed: BeaconMonitor.Event.State, identifier: Identifier,
        monitor name: Identifier
    ) throws(MonitorError) -> MonitorIndex {
        let monitors = evaluator.held.monitors
        guard let monitor = monitors.index(named: name) else { throw .nameUnknown(name.text) }
        try settings.validate()
        guard assumed != .unmonitored else {
            throw .settingInvalid("assuming is unmonitored", "expected unknown, satisfied or unsatisfied")
        }
        guard settings.enterWindow.nanoseconds <= monitors[monitor].outageTimeout else {
            throw .settingInvalid("enter_window is \(settings.enterWindow)", "expected at most outage_timeout")
        }
        if let existing = conditions.index(of: identifier), conditions.match(existing).monitor != monitor {
            throw .identifierTaken(identifier.text, monitor: monitors[conditions.match(existing).monitor].name.text)
        }
        return monitor
    }

    /// Ends the monitoring of a condition and removes it (rule C3).
    ///
    /// - Throws: ``MonitorError/identifierUnknown(_:)``; nothing has changed then.
    public mutating func remove(
        _ identifier: Identifier, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        guard let condition = conditions.index(of: identifier) else { throw .identifierUnknown(identifier.text) }
        enter(time, into: &actions)
        evaluator.endVisits(of: condition, reason: .removed, into: &actions)
        evaluator.report(.removed, condition, assumed: nil, into: &actions)
        leaveLimit(condition)
        evaluator.end(condition)
        evaluator.held.conditions.remove(condition)
        promote(into: &actions)
    }

    /// Changes the settings of a condition: the state stays, deadlines move (rule C2).
    private mutating func change(
        _ condition: ConditionIndex, to settings: ConditionSettings, into actions: inout ActionBuffer
    ) {
        let old = conditions[condition].settings
        guard old != settings else { return }
        evaluator.held.set(condition, settings)
        if settings.unnamed != old.unnamed { evaluator.removeUnnamed(from: condition, into: &actions) }
        evaluator.report(.changed, condition, assumed: nil, into: &actions)
        if old.enterCount != settings.enterCount || old.enterWindow != settings.enterWindow
            || old.enterRSSI != settings.enterRSSI
        {
            evaluator.restartEntering(condition)
        }
        evaluator.held.requeueHolds(of: condition)
        evaluator.handleDueNow(into: &actions)
    }

    private mutating func replace(
        _ condition: ConditionIndex, by new: Condition, _ settings: ConditionSettings,
        assuming assumed: BeaconMonitor.Event.State, into actions: inout ActionBuffer
    ) {
        evaluator.endVisits(of: condition, reason: .replaced, into: &actions)
        // It keeps its place, or continues to wait for one, unless only one of the two conditions needs a place.
        let needsOther = evaluator.held.isSupported(condition) != evaluator.held.isSupported(new)
        if needsOther { leaveLimit(condition) }
        evaluator.end(condition)
        evaluator.held.conditions.replace(condition, by: new, settings)
        if needsOther { enterLimit(condition) }
        evaluator.report(.replaced, condition, assumed: assumed, into: &actions)
        evaluator.begin(condition, assuming: assumed, into: &actions)
        promote(into: &actions)
    }

    // MARK: The limit of conditions (rules C4, C5)

    /// Counts a condition for the limit. A condition that cannot be evaluated is not counted.
    private mutating func enterLimit(_ condition: ConditionIndex) {
        evaluator.held.conditions[condition].isLimited =
            evaluator.held.isSupported(condition) && !places.enter(conditions[condition].ordinal)
    }

    /// Counts a condition for the limit no more. The first condition that waits gets its place.
    private mutating func leaveLimit(_ condition: ConditionIndex) {
        guard evaluator.held.isSupported(condition) else { return }
        places.remove(conditions[condition].ordinal, isMonitored: evaluator.held.isMonitored(condition))
    }

    /// Monitors the conditions beyond the limit that got a place (rule C4).
    private mutating func promote(into actions: inout ActionBuffer) {
        let granted = places.take()
        guard !granted.isEmpty else { return }
        for condition in conditions.indices(ofOrdinals: granted) {
            evaluator.held.conditions[condition].isLimited = false
            evaluator.held.conditions.link(condition)
            evaluator.becomeMonitored(conditions.match(condition).subject, into: &actions)
        }
    }

    /// Whether conditions got places that other engines released. The next input that calls ``enter(_:into:)`` monitors
    /// them.
    var hasPlacesToTake: Bool { places.hasGrant }

    // MARK: Start and reload (rules C2, C3, N4)

    /// Starts a new engine: restores a snapshot, compares it with the setups as rule C2 does, adds the conditions that
    /// are new, and removes those that are not in the setups.
    ///
    /// The adapters that held a subject hold it again, each from the time at which it starts to scan. They count as
    /// stopped now; for `forget_after`, they count as stopped when they actually stopped. Therefore a restart alone
    /// causes no event, but a changed configuration can.
    ///
    /// - Parameters:
    ///   - setups: the monitors, in their order.
    ///   - names: the beacons with names (rule P4). A present beacon without a name is removed if its condition does
    ///     not track it any more, or if it exceeds the limit.
    ///   - snapshot: the snapshot; `nil` at a first start. An invalid part of it is ignored.
    ///   - time: the start, on the timeline.
    ///   - actions: receives the actions of all changes.
    /// - Throws: ``MonitorError`` if a setup is out of bounds, or if two have the same name. The engine must be
    ///   discarded then.
    public mutating func begin(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity> = [], from snapshot: MonitorSnapshot?,
        at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        evaluator.enter(time, into: &actions)
        for setup in setups { try addMonitor(setup.name, settings: setup.settings) }
        setNames(names)
        if let snapshot { restore(snapshot, setups, into: &actions) }
        try apply(setups, at: time, into: &actions)
        evaluator.removeUnnamed(into: &actions)
        evaluator.shedBeacons(into: &actions)
        // Restored subjects can be due even if no condition was added.
        evaluator.handleDueNow(into: &actions)
    }

    /// Changes the conditions to those of `setups`: removes those that are gone, then adds and changes the others in
    /// their order (rules C2, C3).
    ///
    /// - Throws: ``MonitorError`` at the first change that is not possible; the changes before it stay.
    public mutating func apply(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity>, at time: Instant,
        into actions: inout ActionBuffer
    ) throws(MonitorError) {
        evaluator.enter(time, into: &actions)
        // First the names, then the settings, then the effect of both. So a beacon stays if it gets a name at the
        // moment at which beacons without names are no longer tracked, and if it loses its name when they start to be
        // tracked.
        setNames(names)
        defer { evaluator.removeUnnamed(into: &actions) }
        try apply(setups, at: time, into: &actions)
    }

    /// Changes the conditions to those of `setups` without changing the names.
    ///
    /// - Throws: ``MonitorError`` at the first change that is not possible; the changes before it stay.
    public mutating func apply(
        _ setups: [MonitorSetup], at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        var wanted: [Identifier: Identifier] = [:]
        for setup in setups {
            for condition in setup.conditions { wanted[condition.identifier] = setup.name }
        }
        for identifier in identifiers {
            guard let condition = conditions.index(of: identifier) else { continue }
            let monitor = evaluator.held.monitor(of: condition).name
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

    /// Restores a snapshot. A file written by hand can have parts that are out of bounds; they are ignored.
    private mutating func restore(
        _ snapshot: MonitorSnapshot, _ setups: [MonitorSetup], into actions: inout ActionBuffer
    ) {
        var configured: [Identifier: ConditionSettings] = [:]
        for setup in setups {
            for condition in setup.conditions { configured[condition.identifier] = condition.settings }
        }
        evaluator.held.restoreAdapters(of: snapshot, offset: clockOffset)
        var restored: [(saved: MonitorSnapshot.Condition, condition: ConditionIndex)] = []
        for saved in snapshot.conditions {
            guard let identifier = try? Identifier(saved.identifier), conditions.index(of: identifier) == nil,
                let monitor = restoreMonitor(saved.monitor, snapshot),
                var settings = [saved.settings, configured[identifier], ConditionSettings()].lazy
                    .compactMap(\.self).first(where: { (try? $0.validate()) != nil })
            else { continue }
            // If the line with the settings was lost, the beacons show that the condition had `perBeacon`.
            if !saved.beacons.isEmpty { settings.perBeacon = true }
            let condition = evaluator.held.conditions.add(
                saved.condition, identifier, in: monitor, settings, ordinal: places.next())
            restored.append((saved, condition))
        }
        // Rule C4: a condition that had a place keeps it, and the first of the others get the places that are left.
        for hadPlace in [true, false] {
            for (saved, condition) in restored where (saved.own.state != .unmonitored) == hadPlace {
                enterLimit(condition)
            }
        }
        // Circles must be linked before the first event, because its diagnostics depend on them.
        for (_, condition) in restored where isCircle(condition) && evaluator.held.isMonitored(condition) {
            evaluator.held.conditions.link(condition)
        }
        for (saved, condition) in restored { restore(saved, condition, into: &actions) }
    }

    /// The monitor of a restored condition. A monitor that is not in the setups is added, so that its conditions can be
    /// removed.
    private mutating func restoreMonitor(_ name: String, _ snapshot: MonitorSnapshot) -> MonitorIndex? {
        guard let identifier = try? Identifier(name) else { return nil }
        if let monitor = evaluator.held.monitors.index(named: identifier) { return monitor }
        let settings = snapshot.monitors.first { $0.name.isSpelt(as: name) }?.settings
        return try? evaluator.held.monitors.add(
            identifier, settings ?? MonitorSettings(), deafAfter: self.settings.deafAfter)
    }

    private mutating func restore(
        _ saved: MonitorSnapshot.Condition, _ condition: ConditionIndex, into actions: inout ActionBuffer
    ) {
        let own = evaluator.held.addSubject(of: condition, as: saved.own.state)
        evaluator.held.restorePast(of: own, saved.own)
        let isMonitored = evaluator.held.isMonitored(condition)
        if isMonitored, !isCircle(condition) { evaluator.held.conditions.link(condition) }
        guard saved.own.state != .unmonitored else {
            // Rule C4: there is a place now.
            if isMonitored { evaluator.becomeMonitored(own, into: &actions) }
            return
        }
        evaluator.held.restorePresent(of: own, saved.own)
        if !isMonitored || conditions.match(condition).perBeacon {
            for beacon in saved.beacons { evaluator.restoreBeacon(beacon, under: condition) }
        }
        // Rule C4: there is no place any more.
        if !isMonitored { evaluator.becomeUnmonitored(condition, into: &actions) }
    }
}
