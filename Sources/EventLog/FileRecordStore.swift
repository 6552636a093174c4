public import BeaconMonitoring
public import BluetoothLE
public import SystemPackage

/// A monitor's records in a folder: event files and a snapshot, as a gateway has them.
///
///     let store = FileRecordStore(directory: "/var/lib/my-app/beacons")
///     let monitor = try BeaconMonitor("site", clock: clock, store: store)
public final class FileRecordStore: RecordStore {
    private let directory: FilePath
    private var lock: StateLock?
    private var journal: Journal?

    /// A store in a folder, which is made where it is not there. Several monitors may share one.
    public init(directory: FilePath) { self.directory = directory }

    public func open(
        _ monitor: Identifier, at now: Instant, offset: ClockOffset
    ) throws -> MonitorSnapshot? {
        let folder = directory.appending(monitor.text)
        lock = try StateLock(monitor, in: folder, program: "a monitor")
        let options = JournalOptions(
            directory: folder.appending("events"), stateDirectory: folder, gateway: monitor)
        let journal = try Journal(
            options, boot: try BootID.current(), now: now, clockOffset: offset, isClockSynchronized: true)
        self.journal = journal
        return journal.recovery.snapshot
    }

    public func name(_ adapter: AdapterID, _ name: String) { journal?.name(adapter, name) }

    public func keep(_ actions: ActionBuffer, at now: Instant, snapshot: () -> MonitorSnapshot) {
        journal?.append(actions)
        journal?.commit(at: now)
        keepSnapshot(at: now, snapshot)
    }

    public var nextDeadline: Instant? { journal?.nextDeadline }

    public func advance(to now: Instant, snapshot: () -> MonitorSnapshot) {
        journal?.advance(to: now)
        keepSnapshot(at: now, snapshot)
    }

    private func keepSnapshot(at now: Instant, _ snapshot: () -> MonitorSnapshot) {
        guard let journal, journal.wantsSnapshot else { return }
        journal.keep(snapshot(), at: now)
    }

    public func record(for identifier: Identifier) -> Record? { journal?.record(for: identifier) }

    public var isKeeping: Bool { journal?.isKeeping ?? false }

    public func close(_ snapshot: MonitorSnapshot, at now: Instant) {
        journal?.close(snapshot, at: now)
        lock?.release()
    }
}
