public import BaseTypes
public import BeaconMonitoring
import JSON
public import SystemPackage

/// Stores the records of a monitor in a folder: event files and a snapshot, as the gateway does.
///
///     let store = FileRecordStore(directory: "/var/lib/my-app/beacons")
///     let monitor = try BeaconMonitor("site", clock: clock, store: store)
///
/// Next to the event files is `deliveries.jsonl`, with the events that the subscribers have not handled (rule N3). An
/// event is on the disk in both before any subscriber receives it, so each event costs two synchronizations.
public final class FileRecordStore: RecordStore {
    private let directory: FilePath
    private var locks: [StateLock] = []
    private var journal: Journal?
    private var deliveries: DeliveryFile?
    private var adapters: [String: AdapterID] = [:]
    private var names: [AdapterID: String] = [:]
    private var retryAt: Instant?

    /// Creates a store in a folder, which is created when needed. Several monitors can share a folder.
    public init(directory: FilePath) { self.directory = directory }

    /// Locks the name of the monitor in the folder, and reads its stored state.
    ///
    /// - Throws: ``EventLogError``; `Errno` if `/proc` cannot be read.
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
        noteFailure(at: now)
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

    /// Appends the lines of `actions` and synchronizes them. Stores a snapshot if one is due.
    public func keep(
        _ actions: ActionBuffer, events: [StoredEvent], at now: Instant, snapshot: () -> MonitorSnapshot
    ) {
        for case .adapterNamed(let adapter, let name) in actions.actions { note(adapter, name) }
        // The deliveries come first: after a power failure between the two, an event is delivered again, but none is
        // lost.
        deliveries?.keep(actions, events: events) { names[$0] ?? "" }
        noteFailure(at: now)
        journal?.append(actions)
        journal?.commit(at: now)
        keepSnapshot(at: now, snapshot)
    }

    /// Stores that events were handled.
    public func handled(_ numbers: [Int]) {
        deliveries?.handled(numbers)
        retrySoon()
    }

    /// Discards events that no subscriber has handled.
    public func forget(_ numbers: [Int]) {
        deliveries?.forget(numbers)
        retrySoon()
    }

    /// Lets the monitor call ``advance(to:snapshot:)`` if the last write failed.
    private func retrySoon() { if deliveries?.failure != nil, retryAt == nil { retryAt = .earliest } }

    /// The events that were not handled when the earlier process ended.
    public var unhandledEvents: [StoredEvent] { deliveries?.unhandledEvents(adapters) ?? [] }

    /// The next time at which ``advance(to:snapshot:)`` must be called; `nil` if there is none.
    public var nextDeadline: Instant? {
        guard let next = journal?.nextDeadline, let retryAt else { return journal?.nextDeadline ?? retryAt }
        return min(next, retryAt)
    }

    /// Tries again to write, closes the event file if it is old enough, and deletes old ones.
    public func advance(to now: Instant, snapshot: () -> MonitorSnapshot) {
        journal?.advance(to: now)
        if let retryAt, retryAt <= now {
            deliveries?.retry()
            noteFailure(at: now)
        }
        keepSnapshot(at: now, snapshot)
    }

    private func noteFailure(at now: Instant) {
        retryAt = deliveries?.failure == nil ? nil : now + Journal.retryLast
    }

    private func keepSnapshot(at now: Instant, _ snapshot: () -> MonitorSnapshot) {
        guard let journal, journal.wantsSnapshot else { return }
        journal.keep(snapshot(), at: now)
    }

    /// Returns the last event of a condition that was handled before this start.
    public func lastHandled(of identifier: Identifier) -> StoredEvent? {
        deliveries?.lastHandled(of: identifier, adapters)
    }

    /// Whether the disk can be written.
    public var isStoring: Bool { journal?.isStoring ?? false && deliveries?.failure == nil }

    /// Stores the last snapshot, closes the event files and releases the locks. The file of deliveries stays open for
    /// the events that subscribers handle later.
    public func close(_ snapshot: MonitorSnapshot, at now: Instant) {
        deliveries?.seal()
        journal?.close(snapshot, at: now)
        for lock in locks { lock.release() }
    }
}
