import BluetoothLE

/// Which subjects are there: `satisfied`, or `unknown` and `satisfied` before. An outage ends no stay (rule P3).
///
/// Bounded by what the engine holds: conditions, and beacons under them (rule P2).
struct Presence: Sendable {
    private var conditions: Set<Identifier> = []
    private var beacons: [Identifier: Set<BeaconIdentity>] = [:]

    /// What is there in an engine that goes on from what was kept.
    init(_ snapshot: MonitorSnapshot) {
        for condition in snapshot.conditions {
            let identifier = Identifier(lookup: condition.identifier)
            if condition.own.isPresent { conditions.insert(identifier) }
            let present = condition.beacons.filter(\.isPresent).compactMap(\.beacon)
            if !present.isEmpty { beacons[identifier] = Set(present) }
        }
    }

    /// Whether a condition is.
    func contains(_ identifier: Identifier) -> Bool { conditions.contains(identifier) }

    /// Takes in what has happened.
    ///
    /// - Returns: for each event of it, in order, whether somebody came or left by it.
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

    /// Whether somebody comes or leaves by an event.
    mutating func cross(_ event: BeaconMonitor.Event) -> BeaconMonitor.Event.Crossing? {
        switch event.state {
        case .satisfied: return insert(event) ? .entry : nil
        case .unsatisfied: return remove(event) ? .exit : nil
        case .unknown: return nil
        case .unmonitored:
            // What was assumed is dropped; no more is known of it (rule C4).
            _ = remove(event)
            return nil
        }
    }

    /// A condition begins as it was assumed, or ends.
    mutating func apply(_ change: ConditionChange) {
        guard change.kind != .changed else { return }
        let identifier = Identifier(lookup: change.identifier)
        conditions.remove(identifier)
        beacons[identifier] = nil
        if change.assumed == .satisfied { conditions.insert(identifier) }
    }

    /// A stay ends; one that no leaving event ended takes its beacon's subject with it (rules C3, P4).
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
