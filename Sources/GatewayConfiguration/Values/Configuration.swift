public import BeaconMonitoring

/// The configuration of a gateway: a valid value, created from a YAML file by
/// ``parse(_:file:deafAfterUnlessSet:locatesOtherwise:)``.
public struct Configuration: Sendable {
    /// The name of the gateway, the second level of every topic; `nil` means the host name, and `replay` in a replay.
    public var gatewayName: Identifier?
    /// The settings for scanning.
    public var scanner = ScannerConfiguration()
    /// The source of fixes; `nil` if the file has none, so that circles are unmonitored (rule C5).
    public var location: LocationConfiguration?
    /// The settings for estimated distances, in `ranging` lines and in `scan`.
    public var ranging = RangingSettings()
    /// The settings for all monitors.
    public var engine = EngineConfiguration()
    /// The monitors, in the order of the file; at least one.
    public var monitors: [MonitorConfiguration] = []
    /// The beacons with names: those of the configuration, or those of a separate file after ``readBeacons(_:file:)``.
    public internal(set) var beacons = BeaconNames()
    /// The separate file with names.
    public internal(set) var beaconsFile: BeaconsFile?
    /// The settings for event files.
    public var output = OutputConfiguration()
    /// The settings for the broker; `nil` means that events are only written to files.
    public var mqtt: MQTTConfiguration?
    /// The settings for `serve`.
    public var serve = ServeConfiguration()

    /// The settings for the engine of a running gateway. Circles can be evaluated if there is a location source.
    public var liveEngineSettings: EngineSettings {
        var settings = engine.settings(
            deafAfterUnlessSet: EngineConfiguration.liveDeafAfter,
            maxNewBeaconsUnlessSet: EngineConfiguration.liveMaxNewBeacons)
        settings.locationSource = location?.name
        return settings
    }

    /// The place of `output.status_socket` in the file; `nil` if the file does not have it.
    public internal(set) var statusSocketPosition: Position?

    /// The name of the file in errors.
    var file = ""
    /// Valid settings that are probably not intended, in the order of the file, then those of the file with names: at
    /// most ``ConfigurationErrors/listedMost``, and seven more about topics and names.
    public internal(set) var warnings: [ConfigurationIssue] = []
    /// The number of further warnings.
    public internal(set) var warningsLeftOut = 0
}

/// The settings for a whole gateway with all its monitors.
public struct EngineConfiguration: Sendable, Hashable {
    /// The silence after which an adapter counts as not scanning (rule L5).
    public enum DeafAfter: Sendable, Hashable {
        /// The file does not have the setting: ``EngineConfiguration/liveDeafAfter`` live, disabled in a replay.
        case unset
        /// Disabled: an adapter without reports never counts as not scanning.
        case off
        /// After this duration: 1 ms … 30 d.
        case after(Duration)
    }

    /// The default of `deaf_after` in a running gateway (rule L5).
    public static let liveDeafAfter: Duration = .seconds(10)
    /// The default of `max_new_beacons` in a running gateway (rule P5).
    public static let liveMaxNewBeacons = 2000

    /// The setting `deaf_after`.
    public var deafAfter: DeafAfter = .unset
    /// The maximum number of monitored conditions (rule C4); 0 means no limit.
    public var conditionLimit = 0
    /// The maximum number of tracked beacons under conditions (rule P2).
    public var maxBeacons = 10_000
    /// The maximum number of beacons without names that may enter in a row; one more may enter every 2 s (rule P5). 0
    /// means no limit. `nil` if the file does not have it: ``EngineConfiguration/liveMaxNewBeacons`` live, no limit in
    /// a replay.
    public var maxNewBeacons: Int?

    /// Creates the settings for an engine.
    ///
    /// - Parameters:
    ///   - deafAfterUnlessSet: the default of `deaf_after`; `nil` disables it.
    ///   - maxNewBeaconsUnlessSet: the default of `max_new_beacons`; 0 means no limit.
    /// - Returns: the settings of the file, with these defaults.
    public func settings(deafAfterUnlessSet: Duration?, maxNewBeaconsUnlessSet: Int = 0) -> EngineSettings {
        var settings = EngineSettings()
        settings.deafAfter = effectiveDeafAfter(unlessSet: deafAfterUnlessSet)
        settings.conditionLimit = conditionLimit
        settings.maxBeacons = maxBeacons
        settings.maxNewBeacons = maxNewBeacons ?? maxNewBeaconsUnlessSet
        return settings
    }

    func effectiveDeafAfter(unlessSet: Duration?) -> Duration? {
        switch deafAfter {
        case .unset: unlessSet
        case .off: nil
        case .after(let duration): duration
        }
    }
}
