public import BeaconMonitoring
public import BluetoothLE
public import SystemPackage

/// A monitor's records in a folder: event files and a snapshot, as a gateway has them.
///
///     let store = FileRecordStore(directory: "/var/lib/my-app/beacons")
///     let monitor = try BeaconMonitor("site", clock: clock, store: store)
public final class FileRecordStore: RecordStore {
    private let directory: FilePath
    private var locks: [StateLock] = []
    private var journal: Journal?

    /// A store in a folder, which is made where it is not there. Several monitors may share one.
    public init(directory: FilePath) { self.directory = directory }

    /// Locks the monitor's name in the folder and reads what is there.
    ///
    /// - Throws: ``EventLogError``, and `Errno` where `/proc` can't be read.
    public func open(
        _ monitor: Identifier, at now: Instant, offset: ClockOffset
    ) throws -> MonitorSnapshot? {
        let folder = directory.appending(monitor.text)
        let events = folder.appending("events")
        locks = [
            try StateLock(monitor, in: folder, program: "a monitor"),
            try StateLock(events: events, program: "a monitor"),
        ]
        let options = JournalOptions(directory: events, stateDirectory: folder, gateway: monitor)
        let journal = try Journal(
            options, boot: try BootID.current(), now: now, clockOffset: offset, isClockSynchronized: true)
        self.journal = journal
        return journal.recovery.snapshot
    }

    /// Says what lines call an adapter.
    public func name(_ adapter: AdapterID, _ name: String) { journal?.name(adapter, name) }

    /// Appends the lines of `actions` and puts them on the disk; keeps a snapshot where it is time.
    public func keep(_ actions: ActionBuffer, at now: Instant, snapshot: () -> MonitorSnapshot) {
        journal?.append(actions)
        journal?.commit(at: now)
        keepSnapshot(at: now, snapshot)
    }

    /// When the files want ``advance(to:snapshot:)``.
    public var nextDeadline: Instant? { journal?.nextDeadline }

    /// Tries again what could not be kept, rotates and deletes what is old.
    public func advance(to now: Instant, snapshot: () -> MonitorSnapshot) {
        journal?.advance(to: now)
        keepSnapshot(at: now, snapshot)
    }

    private func keepSnapshot(at now: Instant, _ snapshot: () -> MonitorSnapshot) {
        guard let journal, journal.wantsSnapshot else { return }
        journal.keep(snapshot(), at: now)
    }

    /// A condition with its last event that is on the disk.
    public func record(for identifier: Identifier) -> BeaconMonitor.Record? { journal?.record(for: identifier) }

    /// Whether the disk takes what is written.
    public var isKeeping: Bool { journal?.isKeeping ?? false }

    /// Keeps the last snapshot, closes the files and gives the name back.
    public func close(_ snapshot: MonitorSnapshot, at now: Instant) {
        journal?.close(snapshot, at: now)
        for lock in locks { lock.release() }
    }
}
