public import BaseTypes
public import BluetoothLE

// What scanners hand over. Each call is one input of the engine at the time that it is stamped with (rules T2, T3).
extension BeaconMonitor {
    /// Identifies the adapter that has this name, and makes it known if it is new. It does not listen until an input says so
    /// or it reports.
    ///
    /// An adapter is a controller (rule L7): its address identifies it if it is known and no other controller has it;
    /// otherwise its name does. Call this again when a controller appears and when its name or address changes.
    ///
    /// - Parameters:
    ///   - name: The adapter's name, such as the kernel's `hci0`.
    ///   - address: The controller's address; zero is none.
    ///   - time: When the controller gets the name. Everything due by then is handled first (rule T3). If it is absent, this
    ///     is the time of the latest input; a time later than the clock's counts as now.
    /// - Returns: The adapter's identifier, for this monitor only.
    /// - Throws: ``MonitorError/adaptersTooMany(_:)``, and ``MonitorError/ended(_:)``.
    public func adapter(
        named name: String, address: DeviceAddress? = nil, at time: Instant? = nil
    ) throws(MonitorError) -> AdapterID {
        guard !isEnded else { throw .ended(self.name) }
        let time = time.map { inputCheck.time($0, clock) }
        var adapter: Result<AdapterID, MonitorError> = .failure(.adaptersTooMany(MonitorEngine.adaptersMax))
        give { engine, actions in
            adapter = Result { () throws(MonitorError) in
                try engine.adapter(named: name, address: address, at: time ?? engine.now, into: &actions)
            }
        }
        return owned(try adapter.get())
    }

    /// No controller goes by that name any more: it was taken out, or stopped listening, so that its address may appear
    /// under another name without two having it at once (rule L7).
    public func adapterLeft(named name: String) { engine.adapterLeft(named: name) }

    /// An adapter gave a report with an iBeacon in it.
    ///
    /// One that is stamped later than the monitor's clock shows is taken as of now, and one by an adapter of another monitor
    /// dropped; both are counted (``Counters``) and said (``onRemark(_:)``). So with all inputs.
    public func sighted(_ sighting: Sighting) {
        guard let sighting = check(sighting) else { return tellRemarks() }
        take(CollectionOfOne(sighting))
    }

    /// Adapters gave reports with iBeacons in them, in this order: a batch costs one call.
    public func sighted(_ sightings: some Sequence<Sighting>) { take(sightings.compactMap { check($0) }) }

    private func take(_ sightings: some Collection<Sighting>) {
        if rangingHub.isWanted, !isEnded { range(sightings) }
        give { engine, actions in
            for sighting in sightings { engine.sighted(sighting, into: &actions) }
        }
    }

    /// An adapter gave a report, of whatever kind: it listens (rules L4, L5).
    public func heard(_ adapter: AdapterID, at time: Instant) {
        guard inputCheck.isOwn(adapter) else { return tellRemarks() }
        let time = inputCheck.time(time, clock)
        give { engine, actions in engine.heard(adapter, at: time, into: &actions) }
    }

    /// An adapter began or ceased to listen, or was taken out.
    public func listening(_ change: ListeningChange, at time: Instant) {
        guard inputCheck.isOwn(change.adapter) else { return tellRemarks() }
        let time = inputCheck.time(time, clock)
        give { engine, actions in engine.listening(change, at: time, into: &actions) }
    }

    /// The location source gave a fix; without one in the engine's settings nothing but time comes of it (rule G3).
    ///
    /// Where the monitor hears by a ``SightingSource``, a fix that comes when something is due is taken as of just before
    /// that: what was received by then is still to be handed over (rule T5).
    public func located(_ fix: LocationFix) {
        var fix = fix
        fix.time = beforeUndrained(inputCheck.time(fix.time, clock))
        give { engine, actions in engine.located(fix, into: &actions) }
    }

    /// A sighting as it is taken; nothing where its adapter is another monitor's.
    private func check(_ sighting: Sighting) -> Sighting? {
        guard inputCheck.isOwn(sighting.adapter) else { return nil }
        var sighting = sighting
        sighting.time = inputCheck.time(sighting.time, clock)
        return sighting
    }

    /// An adapter as this monitor gives it to others.
    func owned(_ adapter: AdapterID) -> AdapterID {
        var adapter = adapter
        adapter.owner = inputCheck.owner
        return adapter
    }

    /// Has `body` told what is wrong with what is handed over: the first time, the tenth, the hundredth, and so on.
    ///
    /// - Parameter body: called from within the monitor, one call after the other; it must not wait.
    public func onRemark(_ body: @escaping @Sendable (MonitorRemark) -> Void) { remarkHandlers.append(body) }

    func tellRemarks() {
        for remark in inputCheck.takeRemarks() {
            for handler in remarkHandlers { handler(remark) }
        }
    }

    /// Says which flags the world outside raises, on every event from now on, beside those that the monitor's
    /// ``ServiceRegistry`` knows of.
    public func setAmbientDiagnostics(_ diagnostics: Diagnostics) {
        ambient = diagnostics
        noteKeeping()
    }

    /// Puts together the flags that the owner, the machine, the sessions and the store raise (rule N5).
    func noteKeeping() {
        var flags = ambient.union(service.diagnostics)
        if let store, !store.isKeeping { flags.insert(.persistenceUnavailable) }
        if flags != engine.ambientDiagnostics { engine.ambientDiagnostics = flags }
    }

    /// What a monitor has counted since it was made.
    public struct Counters: Sendable, Hashable {
        /// Inputs stamped earlier than one before them (rule T2).
        public var lateInputs: Int
        /// Beacons under conditions that did not fit (rule P2).
        public var untrackedBeacons: Int
        /// Beacons under conditions that lost their place to a named one (rule P4).
        public var displacedBeacons: Int
        /// Times that a beacon without a name was kept from entering (rule P5).
        public var refusedBeacons: Int
        /// Subscribers that were ended because 65,536 events or visits waited for them (rule N2).
        public var slowSubscribers: Int
        /// Events that a store kept, that nobody ever handled, and that gave way to newer ones (rule N3).
        public var forgottenEvents: Int
        /// Inputs that were stamped later than the clock showed, and taken as of now.
        public var futureInputs: Int
        /// Inputs that named an adapter of another monitor, or of one that has ended, and were dropped.
        public var foreignInputs: Int
    }

    /// What the monitor has counted.
    public var counters: Counters {
        Counters(
            lateInputs: engine.lateInputs, untrackedBeacons: engine.untrackedBeacons,
            displacedBeacons: engine.displacedBeacons, refusedBeacons: engine.refusedBeacons,
            slowSubscribers: hub.slowSubscribers + visitLog.slowSubscribers,
            forgottenEvents: hub.notes?.forgotten ?? 0, futureInputs: inputCheck.future,
            foreignInputs: inputCheck.foreign)
    }

    /// An input of the user's own, dated now, or just before what is due and waits for the source (rule T5).
    func input(
        _ body: (inout MonitorEngine, Instant, inout ActionBuffer) throws(MonitorError) -> Void
    ) throws(MonitorError) {
        guard !isEnded else { throw .ended(name) }
        engine.clockOffset = clock.offset
        noteKeeping()
        // A scanner may have stamped a report that came in the meantime; that is no input out of order.
        let time = max(beforeUndrained(clock.now), engine.now)
        try body(&engine, time, &actions)
        perform()
    }

    /// An input that carries its time, or none: what a source of ours hands over in one go, too.
    package func give(_ body: (inout MonitorEngine, inout ActionBuffer) -> Void) {
        tellRemarks()
        guard !isEnded else { return }
        engine.clockOffset = clock.offset
        noteKeeping()
        body(&engine, &actions)
        perform()
    }

    /// Does what the engine wants done, and has the alarm set anew where that is needed earlier than it stands.
    private func perform() {
        if !actions.isEmpty {
            let crossings = presence.crossings(of: actions)
            deliver(crossings, keep(crossings))
            actions.removeAll()
        }
        guard isRunning, let deadline = nextDeadline else { return }
        if alarm.map({ deadline < $0 }) ?? true { signal.raise() }
    }

    /// Has the store keep what is to be done: nobody hears of an event that a crash could take back.
    ///
    /// - Returns: what it keeps; nothing where there is none.
    private func keep(_ crossings: [Event.Crossing?]) -> [KeptEvent] {
        guard let store else { return [] }
        tellHandled()
        let events = Self.numbered(actions, crossings: crossings, after: &eventsGiven)
        let engine = engine
        store.keep(actions, events: events, at: engine.now) { engine.snapshot }
        noteKeeping()
        return events
    }

    /// Tells the store what has been handled since.
    func tellHandled() {
        guard let store, !isEnded, let notes = hub.notes?.take() else { return }
        if !notes.handled.isEmpty { store.handled(notes.handled) }
        if !notes.forgotten.isEmpty { store.forget(notes.forgotten) }
    }

    /// The events among actions, and what conditions begin with, with numbers.
    static func numbered(
        _ actions: ActionBuffer, crossings: [Event.Crossing?], after last: inout Int
    ) -> [KeptEvent] {
        var events: [KeptEvent] = []
        var crossings = crossings.makeIterator()
        for action in actions.actions {
            switch action {
            case .event(let event):
                last += 1
                events.append(KeptEvent(number: last, event: event, crossing: crossings.next() ?? nil))
            case .condition(let change) where change.kind == .added || change.kind == .replaced:
                last += 1
                let beginning = Record(beginning: change).lastEvent
                events.append(KeptEvent(number: last, event: beginning, isPlaceholder: true))
            case .condition, .visit, .adapter, .adapterNamed, .trackingLimitExceeded: break
            }
        }
        return events
    }

    /// Hands what has happened to whoever subscribed.
    private func deliver(_ crossings: [Event.Crossing?], _ kept: [KeptEvent]) {
        var crossings = crossings.makeIterator()
        var numbers = kept.lazy.filter { !$0.isPlaceholder }.map(\.number).makeIterator()
        for action in actions.actions {
            switch action {
            case .event(var event):
                event.sighting?.adapter.owner = inputCheck.owner
                let crossing = crossings.next() ?? nil
                hub.publish(event, crossing, number: numbers.next() ?? 0)
                if crossing == .entry { visitLog.publish(VisitUpdate(arrival: event)) }
            case .visit(let visit): visitLog.publish(VisitUpdate(ended: visit))
            case .condition(let change): hub.apply(change)
            // For sinks, of which a monitor without a gateway has none.
            case .adapter, .adapterNamed, .trackingLimitExceeded: break
            }
        }
    }
}
