public import BaseTypes
public import BeaconMonitoring
import JSON
public import SystemPackage

/// A monitor's records in a folder: event files and a snapshot, as a gateway has them.
///
///     let store = FileRecordStore(directory: "/var/lib/my-app/beacons")
///     let monitor = try BeaconMonitor("site", clock: clock, store: store)
///
/// Beside the event files stands `deliveries.jsonl`: which events the monitor's subscribers have still to handle (rule N3).
/// An event is on the disk in both before anybody hears of it, at the price of two synchronisations.
public final class FileRecordStore: RecordStore {
    private let directory: FilePath
    private var locks: [StateLock] = []
    private var journal: Journal?
    private var deliveries: DeliveryFile?
    private var adapters: [String: AdapterID] = [:]
    private var names: [AdapterID: String] = [:]
    private var retryAt: Instant?

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
        deliveries = try DeliveryFile(
            folder.appending(DeliveryFile.fileName), of: monitor, boot: journal.boot, clockOffset: offset,
            records: journal.storedRecords)
        self.journal = journal
        noteTrouble(at: now)
        return journal.recovery.snapshot
    }

    /// Sets the name that lines have for an adapter.
    public func name(_ adapter: AdapterID, _ name: String) {
        note(adapter, name)
        journal?.name(adapter, name)
    }

    private func note(_ adapter: AdapterID, _ name: String) {
        if let former = names[adapter], adapters[former] == adapter { adapters[former] = nil }
        adapters[name] = adapter
        names[adapter] = name
    }

    /// Appends the lines of `actions` and puts them on the disk; keeps a snapshot where it is time.
    public func keep(
        _ actions: ActionBuffer, events: [KeptEvent], at now: Instant, snapshot: () -> MonitorSnapshot
    ) {
        for case .adapterNamed(let adapter, let name) in actions.actions { note(adapter, name) }
        // First what is delivered: where the power fails between the two, an event comes once more, and none is lost.
        deliveries?.keep(actions, events: events) { names[$0] ?? "" }
        noteTrouble(at: now)
        journal?.append(actions)
        journal?.commit(at: now)
        keepSnapshot(at: now, snapshot)
    }

    /// Writes which events were handled.
    public func handled(_ numbers: [Int]) { deliveries?.handled(numbers) }

    /// Lets go of events that nobody has handled.
    public func forget(_ numbers: [Int]) { deliveries?.forget(numbers) }

    /// The events that nobody had handled when the process before ended.
    public var unhandledEvents: [KeptEvent] { deliveries?.unhandledEvents(adapters) ?? [] }

    /// When the files want ``advance(to:snapshot:)``.
    public var nextDeadline: Instant? {
        guard let next = journal?.nextDeadline, let retryAt else { return journal?.nextDeadline ?? retryAt }
        return min(next, retryAt)
    }

    /// Tries again what could not be kept, rotates and deletes what is old.
    public func advance(to now: Instant, snapshot: () -> MonitorSnapshot) {
        journal?.advance(to: now)
        if let retryAt, retryAt <= now {
            deliveries?.retry()
            noteTrouble(at: now)
        }
        keepSnapshot(at: now, snapshot)
    }

    private func noteTrouble(at now: Instant) {
        retryAt = deliveries?.trouble == nil ? nil : now + Journal.retryLast
    }

    private func keepSnapshot(at now: Instant, _ snapshot: () -> MonitorSnapshot) {
        guard let journal, journal.wantsSnapshot else { return }
        journal.keep(snapshot(), at: now)
    }

    /// A condition's last event that was handled before this start.
    public func lastHandled(of identifier: Identifier) -> KeptEvent? {
        deliveries?.lastHandled(of: identifier, adapters)
    }

    /// Whether the disk takes what is written.
    public var isKeeping: Bool { journal?.isKeeping ?? false && deliveries?.trouble == nil }

    /// Keeps the last snapshot, closes the files and gives the name back.
    public func close(_ snapshot: MonitorSnapshot, at now: Instant) {
        deliveries?.close()
        journal?.close(snapshot, at: now)
        for lock in locks { lock.release() }
    }
}
