import BaseTypes
public import BluetoothLE
import Synchronization

/// A monitor of beacons with the face of Core Location's `CLMonitor`.
///
/// It drives a ``MonitorEngine``, which decides everything, and performs what that wants done. What hears is a
/// ``SightingSource``, or whoever hands over what it heard; whoever owns the monitor awaits ``run()``:
///
///     let monitor = try BeaconMonitor("site", source: source)
///     try await monitor.add(.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)), identifier: "lobby")
///     async let hearing: Void = monitor.run()
///     for try await event in monitor.events { … }
///     try await hearing
///
/// It ends at ``end()`` or when it is discarded, and its name is free at once (rule N1). It starts no task of its own:
/// nothing but its owner and the tasks that are in a call to it keep it alive. A task that was cancelled is in its call until
/// it has been scheduled once more: who makes a monitor of the same name again says ``end()`` before. A loop that was
/// cancelled leaves the name to whoever asks for it next; a monitor with a ``RecordStore`` does not, whose files are open.
public actor BeaconMonitor {
    /// The monitor's name: one at a time in this process.
    public nonisolated let name: String
    /// Its events; each iteration is a subscription of its own (rule N2).
    public nonisolated var events: Events { Events(hub: hub) }

    package nonisolated let clock: any MonitorClock
    /// What hears; absent where somebody else hands over what is heard.
    let source: (any SightingSource)?
    /// What knows where this gateway is; absent where somebody else hands fixes over, or nobody.
    let locating: Locating?
    let lease: NameLease
    nonisolated let hub: EventHub
    nonisolated let rangingHub: RangingHub
    package nonisolated let service: ServiceRegistry
    /// What monitoring holds by itself.
    let session: ImplicitSession
    /// The flags that whoever owns the monitor raises.
    var ambient: Diagnostics = []
    nonisolated let visitLog = Broadcast<VisitUpdate>()
    let signal: Signal
    let store: (any RecordStore)?
    var engine: MonitorEngine
    /// The number of the last event that the store was given.
    var eventsGiven: Int
    var actions = ActionBuffer()
    var presence: Presence
    private var hasEnded = false
    /// Whether it has ended: by ``end()``, or because another took its name after its loop had been cancelled.
    var isEnded: Bool { hasEnded || successor.load(ordering: .acquiring) }
    /// Whether another has taken its name.
    nonisolated let successor = Atomic<Bool>(false)
    /// What becomes of inputs that can't be taken as they are.
    var inputCheck: InputCheck
    // Whoever makes a monitor adds its own; bounded by the program's text.
    var remarkHandlers: [@Sendable (MonitorRemark) -> Void] = []
    var isRunning = false
    /// What ``run()`` sleeps until; nothing where it does not sleep, or until it is woken.
    var alarm: Instant?

    /// Makes a monitor to which somebody hands over what is heard.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - clock: the timeline that everything is dated by, and the wall clock beside it.
    ///   - settings: when adapters that stopped make states unknown, and when they are forgotten.
    ///   - engineSettings: what holds beside that; ``EngineSettings/live`` on a clock that is, else the defaults.
    ///   - ranging: how ``ranging(for:)`` guesses distances.
    ///   - service: where the monitor holds a service session, and learns how the machine stands.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: how the monitor knows where this gateway is, for circles.
    /// - Throws: ``MonitorError/nameTaken(_:)`` where a monitor of that name has not ended (rule N1), and what says which
    ///   setting is out of bounds.
    public init(
        _ name: String, clock: any MonitorClock, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil
    ) throws(MonitorError) {
        try self.init(
            name, clock: clock, source: nil, settings: settings, engineSettings: engineSettings, ranging: ranging,
            service: service, named: named, locating: locating, anyStore: nil)
    }

    init(
        _ name: String, clock: any MonitorClock, source: (any SightingSource)?, settings: MonitorSettings,
        engineSettings: EngineSettings?, ranging: RangingSettings, service: ServiceRegistry,
        named: Set<BeaconIdentity>, locating: Locating?, anyStore store: sending (any RecordStore)?
    ) throws(MonitorError) {
        var engineSettings = engineSettings ?? (clock.isLive ? .live : EngineSettings())
        // Lines name the source; whoever names another means that one.
        engineSettings.locationSource = engineSettings.locationSource ?? locating?.source.name
        let identifier = try Identifier(name)
        let lease = try NameLease(identifier)
        let signal = Signal()
        let hub = EventHub(notes: store == nil ? nil : DeliveryNotes(signal))
        self.signal = signal
        self.hub = hub
        if let store {
            (engine, eventsGiven) = try Self.restored(store, hub, identifier, settings, engineSettings, named, clock)
        } else {
            var engine = MonitorEngine(settings: engineSettings, start: clock.now, clockOffset: clock.offset)
            try engine.addMonitor(identifier, settings: settings)
            engine.setNames(named)
            self.engine = engine
            eventsGiven = 0
        }
        rangingHub = RangingHub(settings: ranging)
        self.service = service
        session = ImplicitSession(service)
        presence = Presence(engine.snapshot)
        self.store = store
        self.source = source
        self.lease = lease
        self.name = name
        self.clock = clock
        self.locating = locating
        inputCheck = InputCheck(owner: lease.number)
    }

    deinit {
        hub.finish()
        rangingHub.finish()
        visitLog.finish()
    }

    /// Ends the monitor: its name is free, its subscribers get what still waits for them and then the end.
    ///
    /// ``run()`` returns. What is handed over from now on has no effect; records stay as they are.
    public func end() { end(because: nil) }

    /// Ends the monitor; its subscribers are told why, where there is a reason.
    func end(because failure: MonitorError?) {
        tellHandled()
        if !isEnded { store?.close(engine.snapshot, at: max(clock.now, engine.now)) }
        hasEnded = true
        hub.finish(failure)
        rangingHub.finish()
        session.end()
        visitLog.finish(failure)
        lease.release()
        signal.raise()
    }

    // MARK: Conditions

    /// Adds a condition, or changes or replaces the one of that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: what is monitored.
    ///   - identifier: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - state: the state that it starts from; what is observed overrides it.
    ///   - settings: how it is entered and left.
    /// - Throws: ``MonitorError`` where the identifier or a setting is out of bounds, or the monitor has ended; nothing has
    ///   changed then.
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

    /// Ends the monitoring of a condition and forgets its record, without an event (rule C3).
    ///
    /// - Returns: whether there was one.
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

    /// The identifiers of the conditions, in the order in which they were added.
    public var identifiers: [String] { engine.identifiers.map(\.text) }

    /// A condition with its last event that has been handled: every subscription that received it has asked for the next
    /// one, or ended, or there was none (rule N3); `nil` where none has the identifier.
    public func record(for identifier: String) -> Record? { hub.record(for: Identifier(lookup: identifier)) }
}
