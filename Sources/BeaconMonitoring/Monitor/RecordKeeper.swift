import BaseTypes
import BluetoothLE

/// The record store of a monitor, if it has one: numbers the events (rule N3).
struct RecordKeeper {
    private let store: SharedStore?
    /// The number of the last event that was passed to the store.
    private var lastNumber = 0

    /// Creates a keeper without a store.
    init() { store = nil }

    /// Opens the store of a hub and restores a new engine from it. The hub gets the records, and the events for the
    /// first subscription.
    ///
    /// - Parameters:
    ///   - store: the store of the hub.
    ///   - hub: the events and records of the monitor.
    ///   - setup: the name and settings of the monitor; the conditions come from the store.
    ///   - names: the beacons that have a name (rule P4).
    ///   - engine: the engine, without monitors.
    /// - Throws: ``MonitorError/recordsUnavailable(_:)``, and ``MonitorError`` if a setting is out of bounds.
    init(
        _ store: SharedStore, _ hub: EventHub, _ setup: MonitorSetup, naming names: Set<BeaconIdentity>,
        restoring engine: inout MonitorEngine
    ) throws(MonitorError) {
        self.store = store
        let (now, offset) = (engine.now, engine.clockOffset)
        var snapshot = try store.use { store throws(MonitorError) in
            do {
                return try store.open(setup.name, at: now, offset: offset)
            } catch {
                throw .recordsUnavailable("\(error)")
            }
        }
        snapshot?.conditions.removeAll { $0.monitor != setup.name.text }
        var setup = setup
        for saved in snapshot?.conditions ?? [] {
            guard let identifier = try? Identifier(saved.identifier) else { continue }
            setup.conditions.append(
                MonitorSetup.Condition(
                    identifier: identifier, condition: saved.condition, settings: saved.settings ?? ConditionSettings())
            )
        }
        var actions = ActionBuffer()
        try engine.begin([setup], naming: names, from: snapshot, at: now, into: &actions)
        let restored = engine
        let (records, unhandled) = store.use { [restored] store in
            for adapter in restored.knownAdapters { store.name(adapter, restored.name(of: adapter)) }
            let records = restored.identifiers.compactMap { identifier in
                store.lastHandled(of: identifier).map { (identifier, $0) }
            }
            return (records, store.unhandledEvents)
        }
        hub.restore(Dictionary(uniqueKeysWithValues: records), unhandled)
        lastNumber = (records.map(\.1) + unhandled).map(\.number).max() ?? 0
        guard !actions.isEmpty else { return }
        let events = numbered(actions, [])
        store.use { [restored, actions] store in
            store.keep(actions, events: events, at: now) { restored.snapshot }
        }
        for case .condition(let change) in actions.actions { hub.apply(change) }
        // There is no subscription yet, so these events are handled at once.
        for stored in events where !stored.isPlaceholder { hub.publish(stored.event, nil, number: stored.number) }
        store.pass()
    }

    /// Whether records can be stored at present (rule N5); `true` without a store.
    var isStoring: Bool { store?.use { $0.isStoring } ?? true }

    /// The time at which the store next has work to do; `nil` if there is none.
    var nextDeadline: Instant? { store?.use { $0.nextDeadline } ?? nil }

    /// Stores actions before any subscriber receives them, so that a crash cannot lose a delivered event.
    ///
    /// - Parameters:
    ///   - actions: the actions of one input.
    ///   - crossings: for each of their events, whether it is an entry or an exit.
    ///   - engine: the engine after the input.
    /// - Returns: the stored events; empty without a store.
    mutating func keep(
        _ actions: ActionBuffer, _ crossings: [BeaconMonitor.Event.Crossing?], _ engine: MonitorEngine
    ) -> [StoredEvent] {
        guard let store else { return [] }
        let events = numbered(actions, crossings)
        store.use { $0.keep(actions, events: events, at: engine.now) { engine.snapshot } }
        return events
    }

    /// Does the work of the store that is due.
    func advance(to time: Instant, _ engine: MonitorEngine) {
        store?.use { $0.advance(to: max(time, engine.now)) { engine.snapshot } }
    }

    /// Stores the last state and closes the store.
    func close(_ engine: MonitorEngine, at time: Instant) {
        store?.close(engine.snapshot, at: max(time, engine.now))
    }

    /// Numbers the events among actions, and the first records of conditions.
    private mutating func numbered(
        _ actions: ActionBuffer, _ crossings: [BeaconMonitor.Event.Crossing?]
    ) -> [StoredEvent] {
        var events: [StoredEvent] = []
        var crossings = crossings.makeIterator()
        for action in actions.actions {
            switch action {
            case .event(let event):
                lastNumber += 1
                events.append(StoredEvent(number: lastNumber, event: event, crossing: crossings.next() ?? nil))
            case .condition(let change) where change.kind == .added || change.kind == .replaced:
                lastNumber += 1
                let first = BeaconMonitor.Record(beginning: change).lastEvent
                events.append(StoredEvent(number: lastNumber, event: first, isPlaceholder: true))
            case .condition, .visit, .adapter, .adapterNamed, .trackingLimitExceeded: break
            }
        }
        return events
    }
}
