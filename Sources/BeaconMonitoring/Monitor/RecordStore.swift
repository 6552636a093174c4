public import BluetoothLE

/// Where a monitor's conditions and records outlive it (rule N4): the seam to files, or to whatever keeps them.
///
/// A monitor owns its store and calls it from within itself, one call after the other: ``open(_:at:offset:)``, then
/// ``name(_:_:)`` for each adapter, ``lastHandled(of:)`` for each condition and ``unhandledEvents`` once; then whatever happens.
/// No call but the first fails: what can't be kept waits, and ``isKeeping`` says so (rule N5).
public protocol RecordStore: AnyObject {
    /// Makes the store that of a monitor; called once, before anything else.
    ///
    /// - Parameters:
    ///   - monitor: the monitor's name.
    ///   - now: the timeline's present.
    ///   - offset: how far the wall clock is ahead of it.
    /// - Returns: what survived; `nil` where there was no monitor of that name before.
    /// - Throws: where another has it (rule N1), or what is there can't be read.
    func open(_ monitor: Identifier, at now: Instant, offset: ClockOffset) throws -> MonitorSnapshot?
    /// Says what an adapter is called, before the first action that names it.
    func name(_ adapter: AdapterID, _ name: String)
    /// Keeps what an input led to, before anybody hears of it.
    ///
    /// - Parameters:
    ///   - actions: what is to be kept.
    ///   - events: the events among the actions, in their order, none of which has been handled yet: those that
    ///     ``handled(_:)`` never names come again in the next process (``unhandledEvents``). Between them stands what
    ///     conditions began with, which is their record at once (``KeptEvent/isPlaceholder``).
    ///   - now: the timeline's present.
    ///   - snapshot: what the engine holds now, for a store that wants it.
    func keep(
        _ actions: ActionBuffer, events: [KeptEvent], at now: Instant, snapshot: () -> MonitorSnapshot)
    /// Takes note that events were handled: each once, in any order. The last of a condition's own becomes its record's.
    ///
    /// It need not be durable: an event whose mark is lost comes once more.
    /// - Parameter numbers: the numbers of the events.
    func handled(_ numbers: [Int])
    /// Lets go of events that nobody has handled: there are more than 65,536, and these are the oldest.
    /// - Parameter numbers: the numbers of the events.
    func forget(_ numbers: [Int])
    /// What was kept and not handled when the store was opened, in order.
    var unhandledEvents: [KeptEvent] { get }
    /// When the store next wants ``advance(to:snapshot:)``.
    var nextDeadline: Instant? { get }
    /// Does what is due.
    func advance(to now: Instant, snapshot: () -> MonitorSnapshot)
    /// A condition's last event that was handled before the store was opened (rule N3), or what it began with where there
    /// is none; `nil` where it knows neither.
    func lastHandled(of identifier: Identifier) -> KeptEvent?
    /// Whether records can be kept at present (rule N5).
    var isKeeping: Bool { get }
    /// Ends the store: what waits is kept, and the name is free.
    func close(_ snapshot: MonitorSnapshot, at now: Instant)
}

extension BeaconMonitor {
    /// Makes a monitor whose conditions and records outlive it: what one of that name left is there again, without being
    /// added again (rule N4).
    ///
    /// An event becomes its record's `lastEvent` once it has been handled (rule N3). What the process before kept and did
    /// not handle is delivered first, in order, to the first subscription.
    /// - Parameters:
    ///   - name: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - clock: the timeline that everything is dated by, and the wall clock beside it.
    ///   - settings: when adapters that stopped make states unknown, and when they are forgotten.
    ///   - engineSettings: what holds beside that; ``EngineSettings/live`` on a clock that is, else the defaults.
    ///   - ranging: how ``ranging(for:)`` guesses distances.
    ///   - service: where the monitor holds a service session, and learns how the machine stands.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: how the monitor knows where this gateway is, for circles.
    ///   - store: where records are kept; this monitor's alone.
    /// - Throws: as the initializer without a store, and ``MonitorError/recordsUnavailable(_:)``.
    public init(
        _ name: String, clock: any MonitorClock, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending any RecordStore
    ) throws(MonitorError) {
        try self.init(
            name, clock: clock, source: nil, settings: settings, engineSettings: engineSettings, ranging: ranging,
            service: service, named: named, locating: locating, anyStore: store)
    }

    /// An engine that goes on from what a store has kept, with the number of the last event that the store was given; the
    /// hub has the records and what waits for the first subscription.
    static func restored(
        _ store: any RecordStore, _ hub: EventHub, _ identifier: Identifier, _ settings: MonitorSettings,
        _ engineSettings: EngineSettings, _ names: Set<BeaconIdentity>, _ clock: any MonitorClock
    ) throws(MonitorError) -> (MonitorEngine, eventsGiven: Int) {
        let (now, offset) = (clock.now, clock.offset)
        var snapshot: MonitorSnapshot?
        do {
            snapshot = try store.open(identifier, at: now, offset: offset)
        } catch {
            throw .recordsUnavailable("\(error)")
        }
        snapshot?.conditions.removeAll { $0.monitor != identifier.text }
        // What it monitored, it goes on to monitor.
        var setup = MonitorSetup(name: identifier, settings: settings)
        for saved in snapshot?.conditions ?? [] {
            guard let identifier = try? Identifier(saved.identifier) else { continue }
            setup.conditions.append(
                MonitorSetup.Condition(
                    identifier: identifier, condition: saved.condition, settings: saved.settings ?? ConditionSettings())
            )
        }
        var engine = MonitorEngine(settings: engineSettings, start: now, clockOffset: offset)
        var actions = ActionBuffer()
        try engine.begin([setup], naming: names, from: snapshot, at: now, into: &actions)
        for adapter in engine.knownAdapters { store.name(adapter, engine.name(of: adapter)) }
        let records = engine.identifiers.compactMap { identifier in
            store.lastHandled(of: identifier).map { (identifier, $0) }
        }
        let unhandled = store.unhandledEvents
        hub.restore(Dictionary(uniqueKeysWithValues: records), unhandled)
        var eventsGiven = (records.map(\.1) + unhandled).map(\.number).max() ?? 0
        guard !actions.isEmpty else { return (engine, eventsGiven) }
        let events = numbered(actions, crossings: [], after: &eventsGiven)
        store.keep(actions, events: events, at: now) { engine.snapshot }
        for case .condition(let change) in actions.actions { hub.apply(change) }
        // Nobody can have subscribed yet: they are handled at once.
        for kept in events where !kept.isPlaceholder { hub.publish(kept.event, nil, number: kept.number) }
        return (engine, eventsGiven)
    }
}
