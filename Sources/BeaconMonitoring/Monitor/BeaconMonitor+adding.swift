// Core Location's `add` takes a condition as it is; so do these.
extension BeaconMonitor {
    /// Adds beacons to monitor, or changes or replaces the condition of that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: which beacons.
    ///   - identifier: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - state: the state that it starts from; what is observed overrides it.
    ///   - settings: how it is entered and left.
    /// - Throws: ``MonitorError`` where the identifier or a setting is out of bounds, or the monitor has ended; nothing has
    ///   changed then.
    public func add(
        _ condition: BeaconIdentityCondition, identifier: String, assuming state: Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        try add(.beacon(condition), identifier: identifier, assuming: state, settings: settings)
    }

    /// Adds a place to monitor, or changes or replaces the condition of that identifier (rules C1, C2).
    ///
    /// - Parameters:
    ///   - condition: which place.
    ///   - identifier: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - state: the state that it starts from; what is observed overrides it.
    ///   - settings: how it is entered and left.
    /// - Throws: ``MonitorError`` where the identifier or a setting is out of bounds, or the monitor has ended; nothing has
    ///   changed then.
    public func add(
        _ condition: CircularGeographicCondition, identifier: String, assuming state: Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        try add(.circle(condition), identifier: identifier, assuming: state, settings: settings)
    }
}
