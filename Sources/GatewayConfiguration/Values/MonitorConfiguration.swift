public import BeaconMonitoring

/// One monitor and its conditions.
public struct MonitorConfiguration: Sendable {
    /// The name, unique in the file.
    public var name: Identifier
    /// The settings for all its conditions.
    public var settings: MonitorSettings
    /// The conditions in the order of the file. Their identifiers are unique in all monitors.
    public var conditions: [ConditionConfiguration]
    /// The place in the file.
    public var position: Position
}

/// One condition, with the defaults of its monitor.
public struct ConditionConfiguration: Sendable, Hashable {
    /// The identifier of the condition, unique in the file.
    public var identifier: Identifier
    /// The beacons or the circle to monitor.
    public var condition: Condition
    /// The initial state (rule C1); never `unmonitored`.
    public var assuming: BeaconMonitor.Event.State
    /// The thresholds and timeouts of entries and exits. Those of a circle have no RSSI and no `per_beacon`.
    public var settings: ConditionSettings
    /// Whether ranging lines are written.
    public var ranging: Bool
    /// The place in the file.
    public var position: Position
}
