/// The configuration of a monitor: its name, its settings and its conditions, in their order.
///
///     let lobby = try MonitorSetup.Condition(.beacon(uuid: uuid), identifier: "lobby")
///     let setup = MonitorSetup(name: try Identifier("site"), conditions: [lobby])
public struct MonitorSetup: Sendable, Hashable {
    /// A condition to monitor.
    public struct Condition: Sendable, Hashable {
        /// The identifier of the condition, unique among all monitors of an engine. Its events have it.
        public var identifier: Identifier
        /// The beacons or the circle to monitor.
        public var condition: BeaconMonitoring.Condition
        /// The initial state of a new condition.
        public var assuming: BeaconMonitor.Event.State
        /// The thresholds and timeouts of entries and exits.
        public var settings: ConditionSettings

        /// Creates a condition with an identifier. Its initial state is `unknown` by default.
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

        /// Creates a condition with an identifier that is given as text.
        /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` if the text is not a valid identifier (rule C6).
        public init(
            _ condition: BeaconMonitoring.Condition, identifier: String,
            assuming: BeaconMonitor.Event.State = .unknown, settings: ConditionSettings = ConditionSettings()
        ) throws(MonitorError) {
            self.init(
                identifier: try Identifier(identifier), condition: condition, assuming: assuming, settings: settings)
        }
    }

    /// The name of the monitor, unique in an engine.
    public var name: Identifier
    /// The settings for all its conditions.
    public var settings: MonitorSettings
    /// Its conditions, in order.
    public var conditions: [Condition]

    /// Creates the configuration of a monitor, without conditions by default.
    public init(name: Identifier, settings: MonitorSettings = MonitorSettings(), conditions: [Condition] = []) {
        self.name = name
        self.settings = settings
        self.conditions = conditions
    }
}
