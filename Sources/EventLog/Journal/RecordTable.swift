import BaseTypes
import BeaconMonitoring

/// The last event of each condition whose line is durable (rule N3).
///
/// Events whose lines were dropped are stored separately. They become records with the next stored snapshot.
struct RecordTable {
    /// A change of a record by a line.
    enum Update {
        /// An event of the condition itself.
        case event(BeaconMonitor.Event, adapter: String)
        /// A condition was added or replaced.
        case begun(ConditionChange)
        /// The condition with this identifier was removed.
        case removed(String)
    }

    // Only the last event of each record is needed. If there are more changes than this, the others are removed.
    private static let droppedMax = 4096

    private var records: [Identifier: RecordBuilder.StoredRecord]
    private var dropped: [Update] = []

    /// Creates a table with the records that were found when a journal was opened.
    init(_ records: [Identifier: RecordBuilder.StoredRecord]) { self.records = records }

    /// Updates records with lines that are durable now.
    mutating func apply(_ updates: [Update]) {
        for update in updates { Self.apply(update, to: &records) }
    }

    /// Stores the changes of lines that were dropped.
    mutating func drop(_ updates: [Update]) {
        dropped += updates
        guard dropped.count > Self.droppedMax else { return }
        var last: [Identifier: Int] = [:]
        for (index, update) in dropped.enumerated() { last[Identifier(lookup: update.identifier)] = index }
        dropped = last.values.sorted().map { dropped[$0] }
    }

    /// The records for a snapshot, including those of dropped lines.
    var forSnapshot: [Identifier: RecordBuilder.StoredRecord] {
        var records = records
        for update in dropped { Self.apply(update, to: &records) }
        return records
    }

    /// Removes a beacon from the last events.
    ///
    /// - Parameters:
    ///   - request: the beacon and the date limit.
    ///   - refreshed: the conditions whose last refresh was of the beacon.
    ///   - now: the current time.
    mutating func forget(_ request: ErasureRequest, refreshed: Set<Identifier>, at now: Instant) {
        records = forSnapshot
        dropped = []
        for identifier in Array(records.keys) {
            records[identifier]?.forget(request, isRefreshed: refreshed.contains(identifier), at: now)
        }
    }

    /// Records that a snapshot with ``forSnapshot`` was stored.
    mutating func noteSnapshotStored() {
        records = forSnapshot
        dropped = []
    }

    /// Returns a condition with its last durable event.
    ///
    /// - Parameters:
    ///   - identifier: the identifier of the condition.
    ///   - adapter: returns the engine's adapter with a name; `nil` if there is none.
    /// - Returns: the record; `nil` if no event of the condition is durable.
    func record(for identifier: Identifier, adapter: (String) -> AdapterID?) -> BeaconMonitor.Record? {
        guard let stored = records[identifier] else { return nil }
        var event = stored.event
        if event.sighting != nil, let adapter = adapter(stored.adapter) { event.sighting?.adapter = adapter }
        return BeaconMonitor.Record(condition: event.condition, lastEvent: event)
    }

    /// The identifiers of the conditions with a record, in order.
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
