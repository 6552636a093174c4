import BluetoothLE
import Synchronization

/// Where a monitor's events wait for its subscribers, and its records for the events to have been handled (rule N3).
final class EventHub: Sendable {
    struct Entry: Sendable {
        let event: BeaconMonitor.Event
        /// Whether somebody came or left by it.
        let crossing: Crossing?
        /// The record that it is for: one of another generation has been replaced or removed since.
        let generation: Int
    }

    let log: Broadcast<Entry>
    private let records: RecordTable

    init() {
        let records = RecordTable()
        self.records = records
        log = Broadcast { records.handled($0) }
    }

    func finish() { log.finish() }

    func publish(_ event: BeaconMonitor.Event, _ crossing: Crossing?) {
        let generation = records.generation(of: Identifier(lookup: event.identifier))
        log.publish(Entry(event: event, crossing: crossing, generation: generation))
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
    private struct State {
        var records: [Identifier: (record: BeaconMonitor.Record, generation: Int)] = [:]
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
            guard $0.records[identifier]?.generation == entry.generation else { return }
            $0.records[identifier]?.record.lastEvent = entry.event
        }
    }

    func apply(_ change: ConditionChange) {
        let identifier = Identifier(lookup: change.identifier)
        state.withLock {
            switch change.kind {
            case .added, .replaced:
                $0.generations += 1
                $0.records[identifier] = (BeaconMonitor.Record(beginning: change), $0.generations)
            case .changed:
                // The condition's identity and its last event stay (rule C2).
                return
            case .removed:
                $0.records[identifier] = nil
            }
        }
    }
}
