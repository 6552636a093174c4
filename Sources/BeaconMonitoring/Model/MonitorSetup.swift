/// What a monitor is to have: its name, its settings and its conditions, in their order.
public struct MonitorSetup: Sendable, Hashable {
    /// A condition that is to be monitored.
    public struct Condition: Sendable, Hashable {
        /// The name that the condition's events carry; unique among all monitors of an engine.
        public var identifier: Identifier
        /// The beacons or the circle that it is about.
        public var condition: BeaconMonitoring.Condition
        /// The state that it starts from where it is new.
        public var assuming: BeaconMonitor.Event.State
        /// How it is entered and left.
        public var settings: ConditionSettings

        /// A condition under an identifier, `unknown` at its start unless told otherwise.
        public init(
            identifier: Identifier, condition: BeaconMonitoring.Condition,
            assuming: BeaconMonitor.Event.State = .unknown,
            settings: ConditionSettings = ConditionSettings()
        ) {
            self.identifier = identifier
            self.condition = condition
            self.assuming = assuming
            self.settings = settings
        }
    }

    /// The monitor's name, unique in an engine.
    public var name: Identifier
    /// What holds for its conditions.
    public var settings: MonitorSettings
    /// Its conditions, in order.
    public var conditions: [Condition]

    /// A monitor of that name, with no conditions unless they are given.
    public init(name: Identifier, settings: MonitorSettings = MonitorSettings(), conditions: [Condition] = []) {
        self.name = name
        self.settings = settings
        self.conditions = conditions
    }
}
