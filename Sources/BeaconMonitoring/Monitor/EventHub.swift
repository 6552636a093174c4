import Synchronization

/// Delivers the events of a monitor to its subscribers, and updates its records when events have been handled (rule
/// N3).
final class EventHub: Sendable {
    struct Entry: Sendable {
        let event: BeaconMonitor.Event
        /// Whether the event is an entry or an exit.
        let crossing: BeaconMonitor.Event.Crossing?
        /// The generation of its record. If the record has another one, it has been replaced or removed since.
        let generation: Int
        /// The number of the event in the record store; 0 without a store.
        let number: Int
    }

    let log: Broadcast<Entry>
    /// The record store, if there is one.
    let store: SharedStore?
    private let records: RecordTable

    init(store: SharedStore? = nil, _ runState: RunState? = nil) {
        let records = RecordTable()
        self.records = records
        self.store = store
        log = Broadcast(runState) { entry, wasTaken in
            if let store {
                store.note(entry.number, wasTaken: wasTaken)
                // The next process delivers it again.
                if !wasTaken { return }
            }
            records.handled(entry)
        } pass: {
            store?.pass()
        }
    }

    /// Starts with the content of a store: the records, and the events that were not handled.
    ///
    /// If there are more than 65,536 such events, the oldest are dropped and counted.
    func restore(_ records: [Identifier: StoredEvent], _ unhandled: [StoredEvent]) {
        self.records.restore(records)
        if unhandled.count > backlogMax {
            store?.forget(unhandled.dropLast(backlogMax).map(\.number))
            store?.pass()
        }
        log.leave(
            unhandled.suffix(backlogMax).map { stored in
                Entry(
                    event: stored.event, crossing: stored.crossing,
                    generation: self.records.generation(of: Identifier(lookup: stored.event.identifier)),
                    number: stored.number)
            })
    }

    func finish(_ failure: MonitorError? = nil) { log.finish(failure) }

    /// Delivers an event. ``SharedStore/pass()`` must follow.
    func publish(_ event: BeaconMonitor.Event, _ crossing: BeaconMonitor.Event.Crossing?, number: Int = 0) {
        let generation = records.generation(of: Identifier(lookup: event.identifier))
        log.publish(Entry(event: event, crossing: crossing, generation: generation, number: number))
    }

    func apply(_ change: ConditionChange) { records.apply(change) }

    func record(for identifier: Identifier) -> BeaconMonitor.Record? { records.record(for: identifier) }

    /// The number of subscribers that were ended because they were too slow.
    var slowSubscribers: Int { log.slowSubscribers }
    /// The number of subscriptions.
    var subscribers: Int { log.subscribers }
    /// The number of events that a subscriber has not handled yet.
    var unhandled: Int { log.unhandled }
}

/// The conditions, each with its last handled event.
private final class RecordTable: Sendable {
    private struct Entry {
        var record: BeaconMonitor.Record
        let generation: Int
        /// The number of its event in the store, if there is one.
        var number = 0
    }

    private struct State {
        var records: [Identifier: Entry] = [:]
        var generations = 0
    }

    private let state = Mutex(State())

    func generation(of identifier: Identifier) -> Int { state.withLock { $0.records[identifier]?.generation ?? 0 } }

    func record(for identifier: Identifier) -> BeaconMonitor.Record? {
        state.withLock { $0.records[identifier]?.record }
    }

    func handled(_ entry: EventHub.Entry) {
        guard entry.event.scope == .condition else { return }
        let identifier = Identifier(lookup: entry.event.identifier)
        state.withLock {
            // An event of the earlier process can be handled after later events.
            guard let record = $0.records[identifier], record.generation == entry.generation,
                record.number <= entry.number
            else { return }
            $0.records[identifier]?.record.lastEvent = entry.event
            $0.records[identifier]?.number = entry.number
        }
    }

    func restore(_ records: [Identifier: StoredEvent]) {
        state.withLock { state in
            for (identifier, stored) in records {
                state.generations += 1
                state.records[identifier] = Entry(
                    record: BeaconMonitor.Record(condition: stored.event.condition, lastEvent: stored.event),
                    generation: state.generations, number: stored.number)
            }
        }
    }

    func apply(_ change: ConditionChange) {
        let identifier = Identifier(lookup: change.identifier)
        state.withLock {
            switch change.kind {
            case .added, .replaced:
                $0.generations += 1
                $0.records[identifier] = Entry(
                    record: BeaconMonitor.Record(beginning: change), generation: $0.generations)
            case .changed:
                // The condition's identity and its last event stay (rule C2).
                return
            case .removed:
                $0.records[identifier] = nil
            }
        }
    }
}
