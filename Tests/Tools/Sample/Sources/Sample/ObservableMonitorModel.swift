import BeaconMonitoring

/// A model as Apple's sample for `CLMonitor` has it: for each condition the last event, and the one before it.
///
/// Conditions come and go while its loop runs: from outside, and from the loop itself.
actor ObservableMonitorModel {
    /// What a table would show of a condition.
    struct Row {
        var last: BeaconMonitor.Event
        var prior: BeaconMonitor.Event?
    }

    private(set) var rows: [String: Row] = [:]
    private let monitor: BeaconMonitor
    private let ledger: Ledger
    /// Events that were their record's last before they were handled.
    private(set) var recordsAhead = 0

    init(monitor: BeaconMonitor, ledger: Ledger) {
        self.monitor = monitor
        self.ledger = ledger
    }

    /// Shows what there is.
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
            // The record still has the event before this one, unless the condition has gone or been replaced meanwhile.
            if let record = await monitor.record(for: event.identifier), record.condition == event.condition {
                if record.lastEvent == event { recordsAhead += 1 }
                rows[event.identifier] = Row(last: event, prior: record.lastEvent)
            } else {
                rows[event.identifier] = nil
            }
            ledger.deliver(.event(event.identifier, event.state, event.time))
        }
    }

    /// The same for stays.
    func follow(_ visits: BeaconMonitor.Visits.Iterator) async throws {
        var visits = visits
        while let visit = try await visits.next() {
            ledger.deliver(.visit(visit.identifier, arrival: visit.arrival, departure: visit.departure))
        }
    }

    // MARK: What a view would call

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
