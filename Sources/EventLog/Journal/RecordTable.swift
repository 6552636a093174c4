import BaseTypes
import BeaconMonitoring

/// The last event of each condition whose line is durable (rule N3).
///
/// What lines said that had to be dropped stands apart: it becomes a record with the next snapshot that says so.
struct RecordTable {
    /// What a line makes of a record.
    enum Update {
        /// An event of the condition itself.
        case event(BeaconMonitor.Event, adapter: String)
        /// A condition was added, or put in place of another.
        case begun(ConditionChange)
        /// The condition with this identifier was removed.
        case removed(String)
    }

    // The last event of each record is enough: beyond so many they are looked through.
    private static let droppedMax = 4096

    private var records: [Identifier: RecordBuilder.StoredRecord]
    private var dropped: [Update] = []

    /// What was found when a journal was opened.
    init(_ records: [Identifier: RecordBuilder.StoredRecord]) { self.records = records }

    /// Makes records of lines that are durable now.
    mutating func apply(_ updates: [Update]) {
        for update in updates { Self.apply(update, to: &records) }
    }

    /// Remembers what lines said that were dropped.
    mutating func drop(_ updates: [Update]) {
        dropped += updates
        guard dropped.count > Self.droppedMax else { return }
        var last: [Identifier: Int] = [:]
        for (index, update) in dropped.enumerated() { last[Identifier(lookup: update.identifier)] = index }
        dropped = last.values.sorted().map { dropped[$0] }
    }

    /// What a snapshot has to say of records: what was dropped included.
    var forSnapshot: [Identifier: RecordBuilder.StoredRecord] {
        var records = records
        for update in dropped { Self.apply(update, to: &records) }
        return records
    }

    /// Takes a beacon out of what last events tell.
    ///
    /// - Parameters:
    ///   - request: the beacon, and how much of it.
    ///   - refreshed: the conditions that it was the last to refresh.
    ///   - now: the present.
    mutating func forget(_ request: ErasureRequest, refreshed: Set<Identifier>, at now: Instant) {
        records = forSnapshot
        dropped = []
        for identifier in Array(records.keys) {
            records[identifier]?.forget(request, isRefreshed: refreshed.contains(identifier), at: now)
        }
    }

    /// A snapshot says ``forSnapshot``.
    mutating func snapshotIsKept() {
        records = forSnapshot
        dropped = []
    }

    /// A condition with its last durable event.
    ///
    /// - Parameters:
    ///   - identifier: The condition's identifier.
    ///   - adapter: Returns the engine's adapter that has a name; absent if none has it.
    /// - Returns: The record; `nil` if no event of that condition is durable.
    func record(for identifier: Identifier, adapter: (String) -> AdapterID?) -> BeaconMonitor.Record? {
        guard let stored = records[identifier] else { return nil }
        var event = stored.event
        if event.sighting != nil, let adapter = adapter(stored.adapter) { event.sighting?.adapter = adapter }
        return BeaconMonitor.Record(condition: event.condition, lastEvent: event)
    }

    /// The identifiers for which there is a record, in their order.
    var identifiers: [Identifier] { records.keys.sorted() }

    private static func apply(_ update: Update, to records: inout [Identifier: RecordBuilder.StoredRecord]) {
        switch update {
        case .event(let event, let adapter):
            records[Identifier(lookup: event.identifier)] = RecordBuilder.StoredRecord(
                event: event, adapter: adapter, isPlaceholder: false)
        case .begun(let change):
            records[Identifier(lookup: change.identifier)] = RecordBuilder.StoredRecord(
                event: BeaconMonitor.Record(beginning: change).lastEvent, adapter: "", isPlaceholder: true)
        case .removed(let identifier): records[Identifier(lookup: identifier)] = nil
        }
    }
}

extension RecordTable.Update {
    fileprivate var identifier: String {
        switch self {
        case .event(let event, _): event.identifier
        case .begun(let change): change.identifier
        case .removed(let identifier): identifier
        }
    }
}
