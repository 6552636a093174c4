import Synchronization

/// Where a monitor's events wait for its subscribers, and its records for the events to have been handled (rule N3).
final class EventHub: Sendable {
    struct Entry: Sendable {
        let event: BeaconMonitor.Event
        /// Whether somebody came or left by it.
        let crossing: BeaconMonitor.Event.Crossing?
        /// The record that it is for: one of another generation has been replaced or removed since.
        let generation: Int
        /// Its number in the record store; 0 where there is none.
        let number: Int
    }

    let log: Broadcast<Entry>
    /// What became of events that a store keeps; absent where there is none.
    let notes: DeliveryNotes?
    private let records: RecordTable

    init(notes: DeliveryNotes? = nil) {
        let records = RecordTable()
        self.records = records
        self.notes = notes
        log = Broadcast { entry, wasTaken in
            if let notes {
                notes.note(entry.number, wasTaken: wasTaken)
                // It will come again, in the next process.
                if !wasTaken { return }
            }
            records.handled(entry)
        }
    }

    /// Begins with what a store has kept: the records as they were handled last, and the events that were not handled.
    ///
    /// Of more than 65,536 of these the oldest go, counted.
    func restore(_ records: [Identifier: KeptEvent], _ unhandled: [KeptEvent]) {
        self.records.restore(records)
        if unhandled.count > backlogMax {
            notes?.forget(unhandled.dropLast(backlogMax).map(\.number))
        }
        log.leave(
            unhandled.suffix(backlogMax).map { kept in
                Entry(
                    event: kept.event, crossing: kept.crossing,
                    generation: self.records.generation(of: Identifier(lookup: kept.event.identifier)),
                    number: kept.number)
            })
    }

    func finish(_ failure: MonitorError? = nil) { log.finish(failure) }

    func publish(_ event: BeaconMonitor.Event, _ crossing: BeaconMonitor.Event.Crossing?, number: Int = 0) {
        let generation = records.generation(of: Identifier(lookup: event.identifier))
        log.publish(Entry(event: event, crossing: crossing, generation: generation, number: number))
    }

    func apply(_ change: ConditionChange) { records.apply(change) }

    func record(for identifier: Identifier) -> BeaconMonitor.Record? { records.record(for: identifier) }

    /// How many subscribers were ended because they were too slow.
    var slowSubscribers: Int { log.slowSubscribers }
    /// How many subscriptions there are.
    var subscribers: Int { log.subscribers }
    /// How many events somebody is still to handle.
    var unhandled: Int { log.unhandled }
}

/// The conditions with the last event of each that has been handled.
private final class RecordTable: Sendable {
    private struct Entry {
        var record: BeaconMonitor.Record
        let generation: Int
        /// The number of its event, where a store gave one.
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
            // One that was left by the process before may be handled after what has happened since.
            guard let record = $0.records[identifier], record.generation == entry.generation,
                record.number <= entry.number
            else { return }
            $0.records[identifier]?.record.lastEvent = entry.event
            $0.records[identifier]?.number = entry.number
        }
    }

    func restore(_ records: [Identifier: KeptEvent]) {
        state.withLock { state in
            for (identifier, kept) in records {
                state.generations += 1
                state.records[identifier] = Entry(
                    record: BeaconMonitor.Record(condition: kept.event.condition, lastEvent: kept.event),
                    generation: state.generations, number: kept.number)
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
