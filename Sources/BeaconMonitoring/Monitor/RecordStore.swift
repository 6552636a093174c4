public import BluetoothLE

/// Where a monitor's conditions and records outlive it (rule N4): the seam to files, or to whatever keeps them.
///
/// A monitor owns its store and calls it from within itself, one call after the other. No call but ``open(_:at:offset:)``
/// fails: what can't be kept waits, and ``isKeeping`` says so (rule N5).
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
    /// Keeps what an input led to; it counts once it is durable, which may be when the call returns or later.
    ///
    /// - Parameters:
    ///   - actions: what is to be kept.
    ///   - now: the timeline's present.
    ///   - snapshot: what the engine holds now, for a store that wants it.
    func keep(_ actions: ActionBuffer, at now: Instant, snapshot: () -> MonitorSnapshot)
    /// When the store next wants ``advance(to:snapshot:)``.
    var nextDeadline: Instant? { get }
    /// Does what is due.
    func advance(to now: Instant, snapshot: () -> MonitorSnapshot)
    /// A condition with its last durable event (rule N3).
    func record(for identifier: Identifier) -> BeaconMonitor.Record?
    /// Whether records can be kept at present (rule N5).
    var isKeeping: Bool { get }
    /// Ends the store: what waits is kept, and the name is free.
    func close(_ snapshot: MonitorSnapshot, at now: Instant)
}

extension BeaconMonitor {
    /// Makes a monitor whose conditions and records outlive it: what one of that name left is there again, without being
    /// added again (rule N4).
    ///
    /// An event becomes its record's `lastEvent` once the store has made it durable (rule N3).
    /// - Parameters:
    ///   - name: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - clock: the timeline that everything is dated by, and the wall clock beside it.
    ///   - settings: when adapters that stopped make states unknown, and when they are forgotten.
    ///   - engineSettings: what holds beside that.
    ///   - ranging: how ``ranging(for:)`` guesses distances.
    ///   - service: where the monitor holds a service session, and learns how the machine stands.
    ///   - named: the beacons that have a name (rule P4).
    ///   - store: where records are kept; this monitor's alone.
    /// - Throws: as the initializer without a store, and ``MonitorError/recordsUnavailable(_:)``.
    public init(
        _ name: String, clock: any MonitorClock, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings = EngineSettings(), ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], store: sending any RecordStore
    ) throws(MonitorError) {
        try self.init(
            name, clock: clock, settings: settings, engineSettings: engineSettings, ranging: ranging, service: service,
            named: named, anyStore: store)
    }

    /// An engine that goes on from what a store has kept, and what that led to.
    static func restored(
        _ store: any RecordStore, _ identifier: Identifier, _ settings: MonitorSettings,
        _ engineSettings: EngineSettings, _ names: Set<BeaconIdentity>, _ clock: any MonitorClock
    ) throws(MonitorError) -> MonitorEngine {
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
        store.keep(actions, at: now) { engine.snapshot }
        return engine
    }
}
