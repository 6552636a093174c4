import BaseTypes
import BeaconMonitoring
import Synchronization

/// The data that outlives a monitor, in memory instead of on a disk.
final class StoredData: Sendable {
    struct Contents {
        var snapshot: MonitorSnapshot?
        /// The events that are not handled yet, by number.
        var unhandled: [Int: StoredEvent] = [:]
        /// The last handled event of each condition, or the state in which it started.
        var last: [String: StoredEvent] = [:]
    }

    let contents = Mutex(Contents())
}

/// The smallest record store: it stores everything immediately, and loses it when the process ends.
///
/// Programs should use `FileRecordStore` of `EventLog`, which survives power failures.
final class MemoryStore: RecordStore {
    private let data: StoredData

    init(_ data: StoredData) { self.data = data }

    func open(_ monitor: Identifier, at now: Instant, offset: ClockOffset) throws -> MonitorSnapshot? {
        data.contents.withLock { $0.snapshot }
    }

    func name(_ adapter: AdapterID, _ name: String) {}

    func lastHandled(of identifier: Identifier) -> StoredEvent? { data.contents.withLock { $0.last[identifier.text] } }

    var unhandledEvents: [StoredEvent] {
        data.contents.withLock { $0.unhandled.values.sorted { $0.number < $1.number } }
    }

    func keep(_ actions: ActionBuffer, events: [StoredEvent], at now: Instant, snapshot: () -> MonitorSnapshot) {
        let snapshot = snapshot()
        data.contents.withLock { contents in
            contents.snapshot = snapshot
            for case .condition(let change) in actions.actions where change.kind == .removed {
                contents.last[change.identifier] = nil
            }
            for kept in events {
                if kept.isPlaceholder {
                    contents.last[kept.event.identifier] = kept
                } else {
                    contents.unhandled[kept.number] = kept
                }
            }
        }
    }

    func handled(_ numbers: [Int]) {
        data.contents.withLock { contents in
            for number in numbers {
                guard let kept = contents.unhandled.removeValue(forKey: number), kept.event.scope == .condition,
                    let last = contents.last[kept.event.identifier], last.number <= number
                else { continue }
                contents.last[kept.event.identifier] = kept
            }
        }
    }

    func forget(_ numbers: [Int]) {
        data.contents.withLock { contents in for number in numbers { contents.unhandled[number] = nil } }
    }

    var nextDeadline: Instant? { nil }

    func advance(to now: Instant, snapshot: () -> MonitorSnapshot) {}

    var isStoring: Bool { true }

    func close(_ snapshot: MonitorSnapshot, at now: Instant) { data.contents.withLock { $0.snapshot = snapshot } }
}
