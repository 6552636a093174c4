public import BeaconMonitoring

/// One monitor and its conditions.
public struct MonitorConfiguration: Sendable {
    /// Its name, unique in the file.
    public var name: Identifier
    /// What holds for all its conditions.
    public var settings: MonitorSettings
    /// Its conditions in the order of the file, their identifiers unique over all monitors.
    public var conditions: [ConditionConfiguration]
    /// Where it stands in the file.
    public var position: Position
}

/// One condition, the monitor's defaults worked in.
public struct ConditionConfiguration: Sendable, Hashable {
    /// The condition's name, unique in the file.
    public var identifier: Identifier
    /// What is monitored.
    public var condition: Condition
    /// The state that it starts from (rule C1); never `unmonitored`.
    public var assuming: BeaconMonitor.Event.State
    /// How it is entered and left. Of a circle's, RSSI and `per_beacon` are never set.
    public var settings: ConditionSettings
    /// Whether ranging lines are written.
    public var ranging: Bool
    /// Where it stands in the file.
    public var position: Position
}
