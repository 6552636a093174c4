import BeaconMonitoring
import BluetoothLE
import Synchronization

/// What outlives a monitor, in place of a disk.
final class Shelf: Sendable {
    let snapshot = Mutex<MonitorSnapshot?>(nil)
}

/// The least that a record store can do: the last snapshot, kept at once.
///
/// `EventLog`'s `FileRecordStore` is the one for earnest: it survives power cuts.
final class MemoryStore: RecordStore {
    private let shelf: Shelf
    private var records: [Identifier: BeaconMonitor.Record] = [:]

    init(_ shelf: Shelf) { self.shelf = shelf }

    func open(_ monitor: Identifier, at now: Instant, offset: ClockOffset) throws -> MonitorSnapshot? {
        shelf.snapshot.withLock { $0 }
    }

    func name(_ adapter: AdapterID, _ name: String) {}

    func keep(_ actions: ActionBuffer, at now: Instant, snapshot: () -> MonitorSnapshot) { put(snapshot()) }

    var nextDeadline: Instant? { nil }

    func advance(to now: Instant, snapshot: () -> MonitorSnapshot) {}

    func record(for identifier: Identifier) -> BeaconMonitor.Record? { records[identifier] }

    var isKeeping: Bool { true }

    func close(_ snapshot: MonitorSnapshot, at now: Instant) { put(snapshot) }

    private func put(_ snapshot: MonitorSnapshot) { shelf.snapshot.withLock { $0 = snapshot } }
}
