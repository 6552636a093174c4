import BluetoothLE

/// The subjects that are present: `satisfied`, or `unknown` after `satisfied`. An outage does not end a visit (rule
/// P3).
///
/// Its size is limited by the conditions and tracked beacons of the engine (rule P2).
struct Presence: Sendable {
    private var conditions: Set<Identifier> = []
    private var beacons: [Identifier: Set<BeaconIdentity>] = [:]

    /// Creates the presence of an engine that was restored from a snapshot.
    init(_ snapshot: MonitorSnapshot) {
        for condition in snapshot.conditions {
            let identifier = Identifier(lookup: condition.identifier)
            if condition.own.isPresent { conditions.insert(identifier) }
            let present = condition.beacons.filter(\.isPresent).compactMap(\.beacon)
            if !present.isEmpty { beacons[identifier] = Set(present) }
        }
    }

    /// Returns whether a condition is present.
    func contains(_ identifier: Identifier) -> Bool { conditions.contains(identifier) }

    /// Updates the presence after an input.
    ///
    /// - Returns: for each event in the actions, in order, whether it is an entry or an exit.
    mutating func crossings(of actions: ActionBuffer) -> [BeaconMonitor.Event.Crossing?] {
        var crossings: [BeaconMonitor.Event.Crossing?] = []
        for action in actions.actions {
            switch action {
            case .event(let event): crossings.append(cross(event))
            case .visit(let visit): apply(visit)
            case .condition(let change): apply(change)
            case .adapter, .adapterNamed, .trackingLimitExceeded: break
            }
        }
        return crossings
    }

    /// Returns whether an event is an entry or an exit.
    mutating func cross(_ event: BeaconMonitor.Event) -> BeaconMonitor.Event.Crossing? {
        switch event.state {
        case .satisfied: return insert(event) ? .entry : nil
        case .unsatisfied: return remove(event) ? .exit : nil
        case .unknown: return nil
        case .unmonitored:
            // An assumed `satisfied` is dropped, without an exit (rule C4).
            _ = remove(event)
            return nil
        }
    }

    /// Handles a condition that starts with its assumed state, or that ends.
    mutating func apply(_ change: ConditionChange) {
        guard change.kind != .changed else { return }
        let identifier = Identifier(lookup: change.identifier)
        conditions.remove(identifier)
        beacons[identifier] = nil
        if change.assumed == .satisfied { conditions.insert(identifier) }
    }

    /// Handles a visit that ended without an event, which also ends the subject of its beacon (rules C3, P4).
    mutating func apply(_ visit: Visit) {
        guard visit.scope == .beacon, !visit.reason.isLeaving, let beacon = visit.refinement else { return }
        let identifier = Identifier(lookup: visit.identifier)
        guard var present = beacons.removeValue(forKey: identifier) else { return }
        present.remove(beacon)
        if !present.isEmpty { beacons[identifier] = present }
    }

    private mutating func insert(_ event: BeaconMonitor.Event) -> Bool {
        let identifier = Identifier(lookup: event.identifier)
        guard event.scope == .beacon else { return conditions.insert(identifier).inserted }
        guard let beacon = event.refinement else { return false }
        return beacons[identifier, default: []].insert(beacon).inserted
    }

    private mutating func remove(_ event: BeaconMonitor.Event) -> Bool {
        let identifier = Identifier(lookup: event.identifier)
        guard event.scope == .beacon else { return conditions.remove(identifier) != nil }
        guard let beacon = event.refinement, var present = beacons.removeValue(forKey: identifier) else { return false }
        let wasThere = present.remove(beacon) != nil
        if !present.isEmpty { beacons[identifier] = present }
        return wasThere
    }
}

extension MonitorSnapshot.Subject {
    fileprivate var isPresent: Bool { state == .satisfied || (state == .unknown && (wasSatisfied || visit != nil)) }
}
