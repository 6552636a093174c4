public import BaseTypes
public import BluetoothLE
import Synchronization

/// A monitor of beacons with the interface of Core Location's `CLMonitor`.
///
/// It runs a ``MonitorEngine``, which makes all decisions. Sightings come from a ``SightingSource`` or from the
/// program, and the owner of the monitor must await ``run()``:
///
///     let monitor = try BeaconMonitor("office", source: source)
///     try await monitor.add(.beacon(uuid: uuid), identifier: "lobby")
///     let events = monitor.subscribe()
///     async let scanning: Void = monitor.run()
///     for try await event in events {
///         print(event.identifier, event.state)
///     }
///     try await scanning
///
/// The monitor ends at ``end()`` or when it is discarded, and its name can be used again immediately (rule N1). It
/// starts no task, so only its owner and the tasks that use it keep it alive. A cancelled task can hold it for a short
/// time, so call ``end()`` before you create another monitor with the same name. After a cancelled ``run()``, the next
/// monitor that asks for the name gets it, unless the monitor has a ``RecordStore``, whose files are open.
public actor BeaconMonitor {
    /// The name of the monitor. A process can have only one monitor with the same name at a time.
    public nonisolated let name: String
    package nonisolated let clock: any MonitorClock
    package nonisolated let service: ServiceRegistry
    nonisolated let hub: EventHub
    nonisolated let rangingHub: RangingHub
    nonisolated let visitLog: Broadcast<VisitUpdate>
    private nonisolated let runState: RunState
    private nonisolated let remarks: Remarks

    /// The source of sightings, or `nil` if the program passes them in.
    private let source: (any SightingSource)?
    /// The source of fixes, or `nil` if the program passes them in.
    private let locating: Locating?
    private let lease: NameLease
    /// The service session of monitoring itself.
    private let session: ImplicitSession
    /// The limit of conditions that the monitors of ``service`` share.
    private let limit: SharedConditionLimit.Member
    private let signal: Signal
    private var engine: MonitorEngine
    private var records: RecordKeeper
    private var actions = ActionBuffer()
    private var presence: Presence
    private var inputCheck: InputCheck
    /// The diagnostics that the owner of the monitor sets.
    private var ambient: Diagnostics = []
    private var isRunning = false
    /// The time until which ``run()`` sleeps, or `nil` if it does not sleep or was woken.
    private var alarm: Instant?
    private var hasEnded = false
    /// The error with which the monitor ended.
    private var failure: MonitorError?
    /// Whether another monitor has taken the name after a cancelled ``run()``.
    private nonisolated let successor = Atomic<Bool>(false)

    /// Creates a monitor to which the program passes sightings.
    ///
    /// With a store, the conditions and records of an earlier monitor with that name exist again without being added
    /// (rule N4). An event becomes the `lastEvent` of its record when it has been handled (rule N3). The first
    /// subscription starts with the events that the earlier process stored and that were not handled, in order. Events
    /// that this initializer itself makes, such as `unknown` after a long pause, count as handled: the records have
    /// them.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - clock: the timeline of all inputs, and the wall clock.
    ///   - settings: the times after which stopped adapters make states unknown and are forgotten.
    ///   - engineSettings: the other settings; by default ``EngineSettings/live`` if the clock is live, otherwise
    ///     `EngineSettings()`.
    ///   - ranging: the settings for the estimated distances of ``ranging(for:)``.
    ///   - service: the registry for the monitor's service session and for the state of the machine. Monitors with the
    ///     same registry share the places for conditions (``EngineSettings/conditionLimit``).
    ///   - named: the beacons with names (rule P4).
    ///   - locating: the source of fixes for circles.
    ///   - store: the store of conditions and records, for this monitor alone; `nil` if they end with the monitor.
    /// - Throws: ``MonitorError/nameTaken(_:)`` if a monitor with that name has not ended (rule N1),
    ///   ``MonitorError/recordsUnavailable(_:)`` if the store cannot be opened, and ``MonitorError`` if a setting is
    ///   out of bounds.
    public init(
        _ name: String, clock: any MonitorClock, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending (any RecordStore)? = nil
    ) throws(MonitorError) {
        try self.init(
            name, clock: clock, source: nil, settings: settings, engineSettings: engineSettings, ranging: ranging,
            service: service, named: named, locating: locating, anyStore: store, remarks: Remarks())
    }

    /// Creates a monitor that receives sightings from a source while it runs, and uses the clock of the source.
    ///
    /// The other parameters are those of ``init(_:clock:settings:engine:ranging:service:named:locating:store:)``.
    ///
    /// - Throws: the errors of the initializer without a source. ``run()`` throws the errors of the source.
    public init(
        _ name: String, source: any SightingSource, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending (any RecordStore)? = nil
    ) throws(MonitorError) {
        try self.init(
            name, clock: source.clock, source: source, settings: settings, engineSettings: engineSettings,
            ranging: ranging, service: service, named: named, locating: locating, anyStore: store, remarks: Remarks())
    }

    // The same, with a handler of remarks that is used until the program calls ``onRemark(_:)``, and with a clock that
    // moves also if the monitor does not run.
    package init(
        _ name: String, source: any SightingSource, settings: MonitorSettings, engine engineSettings: EngineSettings?,
        ranging: RangingSettings, service: ServiceRegistry, named: Set<BeaconIdentity>, locating: Locating?,
        store: sending (any RecordStore)?, remarked: @escaping @Sendable (MonitorRemark) -> Void,
        on remarkClock: any MonitorClock
    ) throws(MonitorError) {
        try self.init(
            name, clock: source.clock, source: source, settings: settings, engineSettings: engineSettings,
            ranging: ranging, service: service, named: named, locating: locating, anyStore: store,
            remarks: Remarks(standard: remarked), on: remarkClock)
    }

    private init(
        _ name: String, clock: any MonitorClock, source: (any SightingSource)?, settings: MonitorSettings,
        engineSettings: EngineSettings?, ranging: RangingSettings, service: ServiceRegistry,
        named: Set<BeaconIdentity>, locating: Locating?, anyStore store: sending (any RecordStore)?, remarks: Remarks,
        on remarkClock: (any MonitorClock)? = nil
    ) throws(MonitorError) {
        var engineSettings = engineSettings ?? (clock.isLive ? .live : EngineSettings())
        // A name in the settings has priority over the name of the source.
        engineSettings.locationSource = engineSettings.locationSource ?? locating?.source.name
        let identifier = try Identifier(name)
        let lease = try NameLease(identifier)
        let signal = Signal()
        let runState = RunState(
            isNeeded: source != nil || locating != nil || clock.isLive, on: remarkClock ?? clock, remarks)
        let store = if let store { SharedStore(store, signal) } else { nil as SharedStore? }
        let hub = EventHub(store: store, runState)
        self.signal = signal
        self.hub = hub
        self.remarks = remarks
        self.runState = runState
        visitLog = Broadcast(runState)
        limit = service.conditionLimit.join(engineSettings.conditionLimit, waking: signal)
        engine = MonitorEngine(
            settings: engineSettings, start: clock.now, clockOffset: clock.offset, sharing: limit)
        if let store {
            records = try RecordKeeper(
                store, hub, MonitorSetup(name: identifier, settings: settings), naming: named, restoring: &engine)
        } else {
            records = RecordKeeper()
            try engine.addMonitor(identifier, settings: settings)
            engine.setNames(named)
        }
        rangingHub = RangingHub(settings: ranging, runState)
        self.service = service
        session = ImplicitSession(service)
        presence = Presence(engine.snapshot)
        self.source = source
        self.lease = lease
        self.name = name
        self.clock = clock
        self.locating = locating
        inputCheck = InputCheck(owner: lease.number)
    }

    deinit {
        if !hasEnded, !successor.load(ordering: .acquiring) { records.close(engine, at: clock.now) }
        endSubscriptions(because: nil)
    }

    /// The events of the monitor. Each iteration is a subscription of its own (rule N2).
    public nonisolated var events: Events { Events(hub: hub) }

    /// Whether the monitor has ended: by ``end()``, or because another one took its name after a cancelled ``run()``.
    var isEnded: Bool { hasEnded || successor.load(ordering: .acquiring) }

    /// Ends the monitor: its name can be used again, and subscribers receive the waiting events and then the end.
    ///
    /// ``run()`` returns, and its conditions release their places (rule C4). Later inputs have no effect, and records
    /// only become those of the waiting events. With a store, an event that a subscriber handles after the call is not
    /// delivered again, unless another monitor has opened the store before (rule N3).
    public func end() { end(because: nil) }

    private func end(because failure: MonitorError?) {
        if !isEnded { records.close(engine, at: clock.now) }
        if !hasEnded { self.failure = failure }
        hasEnded = true
        endSubscriptions(because: failure)
    }

    /// Releases the places and the name, and then ends the subscriptions, so that a program whose loop has ended can
    /// use the name, and its next monitor gets the places.
    private nonisolated func endSubscriptions(because failure: MonitorError?) {
        limit.end()
        lease.release()
        runState.end()
        hub.finish(failure)
        rangingHub.finish()
        visitLog.finish(failure)
        session.end()
        signal.raise()
    }
}

// MARK: - Conditions

extension BeaconMonitor {
    /// Adds a condition on beacons, or changes or replaces the condition with that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: the beacons to monitor.
    ///   - identifier: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - state: the initial state, until an observation overrides it.
    ///   - settings: the thresholds and timeouts of entries and exits.
    /// - Throws: ``MonitorError`` if the identifier or a setting is out of bounds, or the monitor has ended. Nothing
    ///   has changed then.
    public func add(
        _ condition: BeaconIdentityCondition, identifier: String, assuming state: Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        try add(.beacon(condition), identifier: identifier, assuming: state, settings: settings)
    }

    /// Adds a condition on a circle, or changes or replaces the condition with that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: the circle to monitor.
    ///   - identifier: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - state: the initial state, until an observation overrides it.
    ///   - settings: the thresholds and timeouts of entries and exits.
    /// - Throws: ``MonitorError`` if the identifier or a setting is out of bounds, or the monitor has ended. Nothing
    ///   has changed then.
    public func add(
        _ condition: CircularGeographicCondition, identifier: String, assuming state: Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        try add(.circle(condition), identifier: identifier, assuming: state, settings: settings)
    }

    /// Replaces all conditions by the given ones, with as few changes as possible.
    ///
    /// An unchanged condition keeps its state, its record and its place. If only its settings change, only deadlines
    /// move. If its beacons, its circle or ``ConditionSettings/perBeacon`` change, it starts again (rule C2).
    /// Conditions that are not given are removed before others are added, and those beyond the limit first, so that
    /// none becomes monitored only to be removed (rule C4). If conditions of other monitors wait, they get the places
    /// of the removed ones before those that are added. All changes happen at one moment, without a sighting in
    /// between.
    ///
    /// - Parameter wanted: the conditions. New ones are added in this order.
    /// - Returns: the changes in their order.
    /// - Throws: ``MonitorError`` if a setting is out of bounds, two conditions have one identifier, or the monitor has
    ///   ended. Nothing has changed then.
    @discardableResult
    public func setConditions(_ wanted: [MonitorSetup.Condition]) throws(MonitorError) -> [ConditionChange] {
        var remaining: Set<Identifier> = []
        for condition in wanted {
            guard remaining.insert(condition.identifier).inserted else {
                throw .identifierRepeated(condition.identifier.text)
            }
        }
        return try exchange(removing: identifiersInOrder.filter { !remaining.contains($0) }, adding: wanted)
    }

    /// Adds a condition, or changes or replaces the one with that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: the beacons or the circle to monitor.
    ///   - identifier: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - state: the initial state, until an observation overrides it.
    ///   - settings: the thresholds and timeouts of entries and exits.
    /// - Throws: ``MonitorError`` if the identifier or a setting is out of bounds, or the monitor has ended. Nothing
    ///   has changed then.
    public func add(
        _ condition: Condition, identifier: String, assuming state: Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        let identifier = try Identifier(identifier)
        let monitor = lease.name
        try input { engine, time, actions throws(MonitorError) in
            try engine.add(
                condition, identifier: identifier, monitor: monitor, assuming: state, settings: settings, at: time,
                into: &actions)
        }
    }

    /// Ends the monitoring of a condition and deletes its record, without an event (rule C3).
    ///
    /// - Returns: whether there was such a condition.
    @discardableResult public func remove(_ identifier: String) -> Bool {
        do {
            try input { engine, time, actions throws(MonitorError) in
                try engine.remove(Identifier(lookup: identifier), at: time, into: &actions)
            }
            return true
        } catch {
            return false
        }
    }

    /// Changes conditions at one moment, without an input in between.
    ///
    /// - Returns: the changes, in order.
    func exchange(
        removing: [Identifier], adding: [MonitorSetup.Condition]
    ) throws(MonitorError) -> [ConditionChange] {
        let monitor = lease.name
        for condition in adding {
            try engine.validate(
                condition.settings, assuming: condition.assuming, identifier: condition.identifier, monitor: monitor)
        }
        var changes: [ConditionChange] = []
        try input { engine, time, actions throws(MonitorError) in
            engine.advance(to: time, into: &actions)
            // Within each half the conditions are removed in the order in which they were added.
            let removing =
                removing.filter { engine.state(of: $0) == .unmonitored }
                + removing.filter { engine.state(of: $0) != .unmonitored }
            for identifier in removing { try engine.remove(identifier, at: time, into: &actions) }
            for condition in adding {
                try engine.add(
                    condition.condition, identifier: condition.identifier, monitor: monitor,
                    assuming: condition.assuming, settings: condition.settings, at: time, into: &actions)
            }
            for action in actions.actions {
                if case .condition(let change) = action { changes.append(change) }
            }
        }
        return changes
    }

    /// Sets the beacons with names (rule P4). They never lose their place to others, and enter without a token.
    ///
    /// ``ConditionSettings/unnamed`` applies to all other beacons immediately: unless it is `track`, the visits of
    /// those that are present end.
    ///
    /// - Throws: ``MonitorError/ended(_:)``.
    public func setNamedBeacons(_ beacons: Set<BeaconIdentity>) throws(MonitorError) {
        try input { engine, time, actions in engine.name(beacons, at: time, into: &actions) }
    }

    /// The identifiers of the conditions, in the order in which they were added.
    public var identifiers: [String] { engine.identifiers.map(\.text) }

    /// The identifiers of the conditions, in the order in which they were added.
    var identifiersInOrder: [Identifier] { engine.identifiers }

    /// Whether a condition is satisfied, or was before an outage.
    func isPresent(_ identifier: Identifier) -> Bool { presence.contains(identifier) }

    /// Returns a condition with its last handled event, or `nil` if there is no such condition.
    ///
    /// An event is handled when every subscription that received it has asked for the next one or ended, or if there
    /// was no subscription (rule N3).
    ///
    /// While the monitor does not run although it needs to, the event has ``Diagnosed/monitorNotRunning``.
    public func record(for identifier: String) -> Record? {
        runState.ask()
        guard var record = hub.record(for: Identifier(lookup: identifier)) else { return nil }
        if runState.isMissing {
            record.lastEvent.diagnostics.insert(.monitorNotRunning)
        } else {
            // The event can be one that was made before the monitor ran.
            record.lastEvent.diagnostics.remove(.monitorNotRunning)
        }
        return record
    }

    /// Returns the current state of a condition, including `unknown` (Apple: `CLLocationManager.requestState(for:)`).
    ///
    /// It is the state of the latest event, even if subscribers have not handled it, so it can be ahead of
    /// ``record(for:)``. Every later change is an event after this call. The call causes no event and handles none:
    /// deadlines that are due wait for the sightings that the scanners have received (rule T5).
    ///
    /// - Throws: ``MonitorError/identifierUnknown(_:)``, and ``MonitorError/ended(_:)``.
    public func requestState(for identifier: String) throws(MonitorError) -> Event.State {
        guard !isEnded else { throw .ended(name) }
        runState.ask()
        guard let state = engine.state(of: Identifier(lookup: identifier)) else { throw .identifierUnknown(identifier) }
        return state
    }
}

// MARK: - Inputs of scanners

// Each call is one input of the engine at its own time (rules T2, T3).
extension BeaconMonitor {
    /// Identifies the adapter that has this name, and adds it if it is new. It does not count as scanning before an
    /// input says so or it reports.
    ///
    /// An adapter is a controller (rule L7): its address identifies it if it is known and no other controller has it;
    /// otherwise its name does. Call this again when a controller appears and when its name or address changes.
    ///
    /// - Parameters:
    ///   - name: the name of the adapter, such as the kernel's `hci0`.
    ///   - address: the address of the controller; zero means none.
    ///   - time: the time at which the controller gets the name. Everything due by then is handled first (rule T3).
    ///     `nil` means the time of the latest input; a time after the clock's counts as now.
    /// - Returns: the ID of the adapter, valid for this monitor only.
    /// - Throws: ``MonitorError/adaptersTooMany(_:)``, and ``MonitorError/ended(_:)``.
    public func adapter(
        named name: String, address: DeviceAddress? = nil, at time: Instant? = nil
    ) throws(MonitorError) -> AdapterID {
        guard !isEnded else { throw .ended(self.name) }
        let time = time.map { inputCheck.time($0, clock) }
        var result: Result<AdapterID, MonitorError> = .failure(.adaptersTooMany(MonitorEngine.adaptersMax))
        give { engine, actions in
            result = Result { () throws(MonitorError) in
                try engine.adapter(named: name, address: address, at: time ?? engine.now, into: &actions)
            }
        }
        var adapter = try result.get()
        adapter.owner = inputCheck.owner
        return adapter
    }

    /// Reports that no controller has that name any more: it was removed or stopped. Its address can then appear with
    /// another name without counting as shared (rule L7).
    public func adapterLeft(named name: String) { engine.adapterLeft(named: name) }

    /// Takes a sighting.
    ///
    /// A sighting with a time after the monitor's clock counts as now, and one of an adapter of another monitor is
    /// dropped. Both are counted (``Counters``) and reported (``onRemark(_:)``). The same applies to all inputs.
    public func sighted(_ sighting: Sighting) {
        guard let sighting = check(sighting) else { return reportRemarks() }
        take(CollectionOfOne(sighting))
    }

    /// Takes sightings in this order. A batch costs one call.
    public func sighted(_ sightings: some Sequence<Sighting>) { take(sightings.compactMap { check($0) }) }

    private func take(_ sightings: some Collection<Sighting>) {
        if rangingHub.isWanted, !isEnded { range(sightings) }
        give { engine, actions in
            for sighting in sightings { engine.sighted(sighting, into: &actions) }
        }
    }

    /// Takes the time of a report of any kind. It shows that the adapter scans (rules L4, L5).
    public func received(by adapter: AdapterID, at time: Instant) {
        guard inputCheck.isOwn(adapter) else { return reportRemarks() }
        let time = inputCheck.time(time, clock)
        give { engine, actions in engine.received(by: adapter, at: time, into: &actions) }
    }

    /// Takes the information that an adapter started or stopped scanning, or was removed.
    public func listening(_ change: ListeningChange, at time: Instant) {
        guard inputCheck.isOwn(change.adapter) else { return reportRemarks() }
        let time = inputCheck.time(time, clock)
        give { engine, actions in engine.listening(change, at: time, into: &actions) }
    }

    /// Takes a fix of the location source. Without a location source in the settings of the engine, it only advances
    /// the time (rule G3).
    ///
    /// If the monitor has a ``SightingSource`` and a deadline is due, the fix counts as just before the deadline,
    /// because the sightings that were received by then must still be passed in (rule T5).
    public func located(_ fix: LocationFix) {
        var fix = fix
        fix.time = beforeUndrained(inputCheck.time(fix.time, clock))
        give { engine, actions in engine.located(fix, into: &actions) }
    }

    /// Reports that the location source has no fix. Its circles become `unknown` if that lasts long enough (rules L2,
    /// G3).
    ///
    /// - Parameters:
    ///   - since: the time at which fixes stopped.
    ///   - reason: the reason, for operators.
    public func lostLocation(since: Instant, reason: String) {
        let now = max(beforeUndrained(clock.now), engine.now)
        give { engine, actions in
            guard let source = engine.locationSource else { return }
            engine.listening(
                ListeningChange(.stopped(since: min(since, now)), adapter: source, reason: reason), at: now,
                into: &actions)
        }
    }

    /// Passes sightings to the subscribers that range. ``give(_:)`` must follow, because it sets the alarm.
    func range(_ sightings: some Sequence<Sighting>) { rangingHub.sighted(sightings, clockOffset: clock.offset) }

    private func check(_ sighting: Sighting) -> Sighting? {
        guard inputCheck.isOwn(sighting.adapter) else { return nil }
        var sighting = sighting
        sighting.time = inputCheck.time(sighting.time, clock)
        return sighting
    }

    /// An input of the program, dated now, or just before a deadline that waits for the source (rule T5).
    private func input(
        _ body: (inout MonitorEngine, Instant, inout ActionBuffer) throws(MonitorError) -> Void
    ) throws(MonitorError) {
        guard !isEnded else { throw .ended(name) }
        engine.clockOffset = clock.offset
        updateDiagnostics()
        // A report can have a later time than the clock's; this input must not be out of order because of it.
        let time = max(beforeUndrained(clock.now), engine.now)
        try body(&engine, time, &actions)
        perform()
    }

    /// Passes inputs with their own times to the engine.
    package func give(_ body: (inout MonitorEngine, inout ActionBuffer) -> Void) {
        reportRemarks()
        guard !isEnded else { return }
        engine.clockOffset = clock.offset
        updateDiagnostics()
        body(&engine, &actions)
        perform()
    }

    /// The time for an input that is not a sighting (rule T5): if a deadline is due and the source has not been drained
    /// yet, just before the deadline. Otherwise the input would overtake the sighting that prevents an exit.
    private func beforeUndrained(_ time: Instant) -> Instant {
        guard isRunning, source != nil, let deadline = engine.nextDeadline, deadline <= time else { return time }
        return max(deadline - .nanoseconds(1), engine.now)
    }
}

// MARK: - Diagnostics

extension BeaconMonitor {
    /// Calls `body` when the program uses the monitor incorrectly.
    ///
    /// - If the monitor needs ``run()`` and it is not called within 5 s of the first request for an event, a visit, a
    ///   ranging, a record or a state: once. This is then if the program waits, otherwise at the next request, or when
    ///   a handler is added.
    /// - If an input is invalid: the first time, the tenth, the hundredth, and so on.
    ///
    ///     await monitor.onRemark { remark in print("site: \(remark)") }
    ///
    /// - Parameter body: called on any thread, also by several at the same time; it must not wait.
    public func onRemark(_ body: @escaping @Sendable (MonitorRemark) -> Void) {
        remarks.add(body)
        runState.check()
    }

    private func reportRemarks() { remarks.make(inputCheck.takeRemarks()) }

    /// Sets diagnostics for every later event, in addition to those of the monitor's ``ServiceRegistry``.
    public func setAmbientDiagnostics(_ diagnostics: Diagnostics) {
        ambient = diagnostics
        updateDiagnostics()
    }

    /// Combines the diagnostics of the owner, the machine, the sessions and the store (rule N5).
    private func updateDiagnostics() {
        var flags = ambient.union(service.diagnostics)
        if !records.isStoring { flags.insert(.persistenceUnavailable) }
        if flags != engine.ambientDiagnostics { engine.ambientDiagnostics = flags }
    }

    /// The counters of a monitor since its creation.
    public struct Counters: Sendable, Hashable {
        /// The number of inputs with a time before that of an earlier input (rule T2).
        public var lateInputs: Int
        /// The number of beacons under conditions that exceeded the limit (rule P2).
        public var untrackedBeacons: Int
        /// The number of beacons under conditions that lost their place to a beacon with a name (rule P4).
        public var displacedBeacons: Int
        /// The number of times that a beacon without a name could not enter (rule P5).
        public var refusedBeacons: Int
        /// The number of subscribers that were ended because 65,536 events or visits waited for them (rule N2).
        public var slowSubscribers: Int
        /// The number of stored events that no subscriber handled and that newer ones replaced (rule N3).
        public var forgottenEvents: Int
        /// The number of inputs with a time after the clock, which counted as now.
        public var futureInputs: Int
        /// The number of inputs with an adapter of another monitor, or of one that has ended, which were dropped.
        public var foreignInputs: Int
    }

    /// The current values of the counters.
    public var counters: Counters {
        Counters(
            lateInputs: engine.lateInputs, untrackedBeacons: engine.untrackedBeacons,
            displacedBeacons: engine.displacedBeacons, refusedBeacons: engine.refusedBeacons,
            slowSubscribers: hub.slowSubscribers + visitLog.slowSubscribers,
            forgottenEvents: hub.store?.forgotten ?? 0, futureInputs: inputCheck.future,
            foreignInputs: inputCheck.foreign)
    }

    /// The silence after which an adapter counts as not scanning (rule L5); `nil` if that is disabled.
    package var deafAfter: Duration? { engine.settings.deafAfter }
}

// MARK: - Output

extension BeaconMonitor {
    /// Stores and delivers the engine's actions, and wakes ``run()`` if a deadline is earlier than its alarm.
    private func perform() {
        if !actions.isEmpty {
            let crossings = presence.crossings(of: actions)
            let kept = records.keep(actions, crossings, engine)
            updateDiagnostics()
            deliver(crossings, kept)
            // Without a subscription, the events have been handled now (rule N3).
            hub.store?.pass()
            actions.removeAll()
        }
        guard isRunning, let deadline = nextDeadline else { return }
        if alarm.map({ deadline < $0 }) ?? true { signal.raise() }
    }

    private func deliver(_ crossings: [Event.Crossing?], _ kept: [StoredEvent]) {
        var crossings = crossings.makeIterator()
        var numbers = kept.lazy.filter { !$0.isPlaceholder }.map(\.number).makeIterator()
        for action in actions.actions {
            switch action {
            case .event(var event):
                event.sighting?.adapter.owner = inputCheck.owner
                if runState.isMissing { event.diagnostics.insert(.monitorNotRunning) }
                let crossing = crossings.next() ?? nil
                hub.publish(event, crossing, number: numbers.next() ?? 0)
                if crossing == .entry { visitLog.publish(VisitUpdate(arrival: event)) }
            case .visit(let visit): visitLog.publish(VisitUpdate(ended: visit))
            case .condition(let change): hub.apply(change)
            // Only a gateway writes these.
            case .adapter, .adapterNamed, .trackingLimitExceeded: break
            }
        }
    }
}

// MARK: - Running

extension BeaconMonitor {
    /// Runs the ``SightingSource``, if there is one, and handles deadlines on time, until the monitor is ended or the
    /// task is cancelled.
    ///
    /// Unless it runs, the source does not scan, and an exit waits for the next input: records, and events that are made
    /// then, have ``Diagnosed/monitorNotRunning``, and a program that waits for events gets a remark after 5 s
    /// (``onRemark(_:)``). Run it in a task group or an `async let` of the monitor's owner, so that every task is awaited
    /// and a discarded monitor ends.
    ///
    /// If the source ends, the monitor ends: ``events``, ``visits`` and rangings deliver the waiting elements and then
    /// the end, with ``MonitorError/sourceFailed(_:)`` if there was an error. A monitor without a source can run again
    /// after its task was cancelled.
    ///
    /// - Throws: ``MonitorError/running(_:)`` if it runs already, `CancellationError`, and the errors of the source of
    ///   sightings, of the source of fixes, and of the clock. After an error of the source, each further call throws
    ///   ``MonitorError/sourceFailed(_:)``.
    public func run() async throws {
        #if ServiceLifecycle
            try await runAsService()
        #else
            try await runUntilCancelled()
        #endif
    }

    func runUntilCancelled() async throws {
        guard !isRunning else { throw MonitorError.running(name) }
        // Otherwise a program that tries again would not notice that nothing runs.
        if let failure { throw failure }
        isRunning = true
        defer { isRunning = false }
        if !isEnded, !lease.hold() { throw MonitorError.nameTaken(name) }
        runState.run()
        defer { runState.stop() }
        try await withTaskCancellationHandler {
            try await runSources()
        } onCancel: {
            leaveName()
        }
    }

    /// Gives the monitor's name to the next monitor that asks for it, which ends this one.
    private nonisolated func leaveName() {
        // A store keeps its files open until the monitor is ended.
        guard hub.store == nil else { return }
        lease.loosen { [weak self] in
            guard let self else { return }
            successor.store(true, ordering: .releasing)
            endSubscriptions(because: nil)
        }
    }

    private func runSources() async throws {
        guard let source else {
            return try await runLocating { try await self.keepTime { await self.drainLocating() } }
        }
        guard !isEnded else { return }
        do {
            try await runLocating { try await self.run(source) }
            end()
        } catch {
            // If the program ended the monitor, an error of the source is a consequence.
            if isEnded, !(error is CancellationError) { return }
            // Subscribers get every error except a cancellation.
            end(because: error is CancellationError ? nil : .sourceFailed("\(error)"))
            throw error
        }
    }

    /// Runs the source and the deadlines until one of the two ends; then the other is cancelled and awaited.
    private func run(_ source: any SightingSource) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await source.run(into: self) }
            group.addTask {
                try await self.keepTime {
                    await source.drain()
                    await self.drainLocating()
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        // A source can return when it is cancelled.
        if !isEnded { try Task.checkCancellation() }
    }

    /// Runs the location source while `body` runs. If the location source ends, the monitor continues.
    private func runLocating(beside body: @escaping @Sendable () async throws -> Void) async throws {
        guard let locating else { return try await body() }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await locating.source.run(into: self)
                return false
            }
            group.addTask {
                try await body()
                return true
            }
            defer { group.cancelAll() }
            while let isBody = try await group.next(), !isBody {}
        }
    }

    /// Passes in the fixes that the location source has received.
    private func drainLocating() async { await locating?.source.drain(into: self) }

    /// Handles deadlines, and places that other monitors released, until the monitor is ended or the task is cancelled.
    ///
    /// - Parameter drain: called before each of them is handled; returns when every report that was received before the
    ///   call has been passed in (rule T5).
    /// - Throws: `CancellationError`, and the errors of the clock.
    private func keepTime(draining drain: @Sendable () async -> Void) async throws {
        while !isEnded {
            try Task.checkCancellation()
            let now = clock.now
            let isDue = nextDeadline.map { $0 <= now } ?? false
            guard isDue || engine.hasPlacesToTake else {
                try await sleep(until: nextDeadline)
                continue
            }
            await drain()
            advance(to: now)
        }
    }

    /// Handles the deadlines at or before `time`.
    private func advance(to time: Instant) {
        guard !isEnded else { return }
        // The drained reports may have advanced the engine further.
        give { engine, actions in engine.advance(to: max(time, engine.now), into: &actions) }
        records.advance(to: time, engine)
        updateDiagnostics()
        rangingHub.advance(to: time, clockOffset: clock.offset)
    }

    /// Handles the deadlines at or before the current time of the clock, for sources that set a clock themselves.
    package func catchUp() async {
        let now = clock.now
        await drainLocating()
        advance(to: now)
    }

    /// The next deadline of the engine, the store or the subscribers that range.
    private var nextDeadline: Instant? {
        let others = [records.nextDeadline, rangingHub.isWanted ? rangingHub.nextDeadline : nil]
        return others.reduce(engine.nextDeadline) { next, other in
            guard let next, let other else { return next ?? other }
            return min(next, other)
        }
    }

    /// Sleeps until `deadline`, or until an input has an earlier one.
    private func sleep(until deadline: Instant?) async throws {
        alarm = deadline
        defer { alarm = nil }
        try await withThrowingTaskGroup(of: Void.self) { [clock, signal] group in
            if let deadline { group.addTask { try await clock.sleep(until: deadline) } }
            group.addTask { await signal.wait() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
