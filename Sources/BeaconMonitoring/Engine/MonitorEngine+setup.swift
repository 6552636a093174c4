public import BaseTypes
public import BluetoothLE

// How an engine comes to have the conditions that it is to have (rules C2, C3, N4).
extension MonitorEngine {
    /// Starts a new engine: takes over what survived, compares it with what is to be monitored as rule C2 does, adds what
    /// is new and removes what is gone.
    ///
    /// A subject is held by the adapters that held it, from when each listens; they count as stopped now, and for
    /// `forget_after` when they really did. So a restart alone makes no event; what changed in the configuration does.
    ///
    /// - Parameters:
    ///   - setups: the monitors that are to be, in their order.
    ///   - names: the beacons that have a name (rule P4). One that is present, has none and is not tracked without one
    ///     any more is forgotten, and one that does not fit any more gives its place up.
    ///   - snapshot: what survived; absent at a first start.
    ///   - time: the start, on the timeline.
    ///   - actions: where the lines of what changed go.
    /// - Throws: ``MonitorError`` where a setup is out of bounds or names two alike; the engine is to be thrown away then.
    public mutating func begin(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity> = [], from snapshot: MonitorSnapshot?,
        at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        enter(time, into: &actions)
        for setup in setups { try addMonitor(setup.name, settings: setup.settings) }
        setNames(names)
        if let snapshot { restore(snapshot, setups, into: &actions) }
        try apply(setups, at: time, into: &actions)
        removeStrangers(into: &actions)
        shedBeacons(into: &actions)
        // What was restored may be due without anything having been added.
        handleDueNow(into: &actions)
    }

    /// Makes the conditions those of `setups`: removes what is gone, then adds and changes, in their order (rules C2, C3).
    ///
    /// - Throws: ``MonitorError`` at the first that can't be; what came before it holds.
    public mutating func apply(
        _ setups: [MonitorSetup], naming names: Set<BeaconIdentity>, at time: Instant,
        into actions: inout ActionBuffer
    ) throws(MonitorError) {
        enter(time, into: &actions)
        // First the names, then the settings, then what follows from both: who is named as strangers cease to be tracked
        // stays, and so does who loses a name as they begin to be.
        setNames(names)
        defer { removeStrangers(into: &actions) }
        try apply(setups, at: time, into: &actions)
    }

    /// The same, the names of beacons left as they are.
    ///
    /// - Throws: ``MonitorError`` at the first that can't be; what came before it holds.
    public mutating func apply(
        _ setups: [MonitorSetup], at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) {
        var wanted: [Identifier: Identifier] = [:]
        for setup in setups {
            for condition in setup.conditions { wanted[condition.identifier] = setup.name }
        }
        for identifier in identifiers {
            guard let condition = conditions.index(of: identifier) else { continue }
            if wanted[identifier] != monitor(of: condition).name { try remove(identifier, at: time, into: &actions) }
        }
        for setup in setups {
            for condition in setup.conditions {
                try add(
                    condition.condition, identifier: condition.identifier, monitor: setup.name,
                    assuming: condition.assuming, settings: condition.settings, at: time, into: &actions)
            }
        }
    }
}
