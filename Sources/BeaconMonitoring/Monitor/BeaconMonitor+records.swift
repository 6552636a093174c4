public import BluetoothLE

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
