import BeaconMonitoring

/// A model like that of Apple's sample for `CLMonitor`. For each condition, it has the last event and the one before.
///
/// Conditions are added and removed while its loop runs. Both the loop and the methods for a view change the rows.
actor ObservableMonitorModel {
    /// The data of a condition that a table would show.
    struct Row {
        var last: BeaconMonitor.Event
        var prior: BeaconMonitor.Event?
    }

    private(set) var rows: [String: Row] = [:]
    private let monitor: BeaconMonitor
    private let ledger: Ledger
    /// The number of events that were the `lastEvent` of their record before they were handled. It must stay 0 (rule
    /// N3).
    private(set) var recordsAhead = 0

    init(monitor: BeaconMonitor, ledger: Ledger) {
        self.monitor = monitor
        self.ledger = ledger
    }

    /// Fills the rows from the records of all conditions.
    func showRecords() async {
        for identifier in await monitor.identifiers {
            guard let last = await monitor.record(for: identifier)?.lastEvent else { continue }
            rows[identifier] = Row(last: last)
        }
    }

    /// Handles events until the monitor ends.
    func follow(_ events: BeaconMonitor.Events.Iterator) async throws {
        var events = events
        while let event = try await events.next() {
            // Until the event is handled, the record has the event before it (rule N3), unless the condition was
            // removed or replaced in the meantime.
            if let record = await monitor.record(for: event.identifier), record.condition == event.condition {
                if record.lastEvent == event { recordsAhead += 1 }
                rows[event.identifier] = Row(last: event, prior: record.lastEvent)
            } else {
                rows[event.identifier] = nil
            }
            ledger.deliver(.event(event.identifier, event.state, event.time))
        }
    }

    /// Handles visits until the monitor ends.
    func follow(_ visits: BeaconMonitor.Visits.Iterator) async throws {
        var visits = visits
        while let visit = try await visits.next() {
            ledger.deliver(.visit(visit.identifier, arrival: visit.arrival, departure: visit.departure))
        }
    }

    // MARK: Methods that a view would call

    func add(_ condition: Condition, identifier: String) async throws {
        try await monitor.add(condition, identifier: identifier)
        await showRecords(of: identifier)
    }

    func remove(_ identifier: String) async {
        await monitor.remove(identifier)
        rows[identifier] = nil
    }

    func show(_ conditions: [MonitorSetup.Condition]) async throws {
        for change in try await monitor.setConditions(conditions) where change.kind == .removed {
            rows[change.identifier] = nil
        }
    }

    private func showRecords(of identifier: String) async {
        guard rows[identifier] == nil, let last = await monitor.record(for: identifier)?.lastEvent else { return }
        rows[identifier] = Row(last: last)
    }
}
