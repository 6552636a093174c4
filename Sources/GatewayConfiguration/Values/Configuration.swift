public import BeaconMonitoring

/// A gateway's configuration: one valid value, made of a YAML file by ``parse(_:file:deafAfterUnlessSet:locatesOtherwise:)``.
public struct Configuration: Sendable {
    /// What the gateway is called, the second level of every topic; absent: by the machine's host name, and `replay` in
    /// a replay.
    public var gatewayName: Identifier?
    /// How advertising reports are got hold of.
    public var scanner = ScannerConfiguration()
    /// Where fixes come from; absent where the file names no source, and circles are unmonitored then (rule C5).
    public var location: LocationConfiguration?
    /// How distances are guessed, in `ranging` lines and in `scan`.
    public var ranging = RangingSettings()
    /// What holds for all monitors.
    public var engine = EngineConfiguration()
    /// The monitors, in the order of the file; at least one.
    public var monitors: [MonitorConfiguration] = []
    /// The beacons that have names, where the file lists them; where it names a file, those of that, once
    /// ``readBeacons(_:file:)`` was given it.
    public internal(set) var beacons = BeaconNames()
    /// The file that has the names.
    public internal(set) var beaconsFile: BeaconsFile?
    /// Where the event files go.
    public var output = OutputConfiguration()
    /// The broker; absent: files only.
    public var mqtt: MQTTConfiguration?
    /// What `serve` shows, where, and to whom.
    public var serve = ServeConfiguration()

    /// The settings for an engine of a gateway that runs: circles can be evaluated where there is a location source.
    public var liveEngineSettings: EngineSettings {
        var settings = engine.settings(
            deafAfterUnlessSet: EngineConfiguration.liveDeafAfter,
            maxNewBeaconsUnlessSet: EngineConfiguration.liveMaxNewBeacons)
        settings.locationSource = location?.name
        return settings
    }

    /// Where the file names `output.status_socket`; absent where it does not.
    public internal(set) var statusSocketPosition: Position?

    /// The file, as mistakes call it.
    var file = ""
    /// Settings that are valid but probably not intended, in the order of the file, then those of the file with the names:
    /// ``Mistakes/listedMost``, and at most seven more, of topics and names.
    public internal(set) var warnings: [Mistake] = []
    /// How many warnings there are beyond ``warnings``.
    public internal(set) var warningsLeftOut = 0
}

/// What holds for a whole gateway, over all its monitors.
public struct EngineConfiguration: Sendable, Hashable {
    /// After how much silence an adapter is taken not to listen (rule L5).
    public enum DeafAfter: Sendable, Hashable {
        /// The file does not say: ``EngineConfiguration/liveDeafAfter`` live, never in a replay.
        case unset
        /// No silence is too long: an adapter is never taken to be deaf.
        case off
        /// So long a silence is too long: 1 ms … 30 d.
        case after(Duration)
    }

    /// What holds live where the file sets no `deaf_after` (rule L5).
    public static let liveDeafAfter: Duration = .seconds(10)
    /// What holds live where the file sets no `max_new_beacons` (rule P5).
    public static let liveMaxNewBeacons = 2000

    /// What the file says of `deaf_after`.
    public var deafAfter: DeafAfter = .unset
    /// How many conditions are monitored (rule C4); 0: all.
    public var conditionLimit = 0
    /// How many beacons under conditions are held (rule P2).
    public var maxBeacons = 10_000
    /// How many beacons without a name may enter in a row (rule P5), 0: any number. Absent where the file does not say:
    /// ``EngineConfiguration/liveMaxNewBeacons`` live, any number in a replay.
    public var maxNewBeacons: Int?

    /// The settings for an engine, with `deafAfterUnlessSet` (absent: never) and `maxNewBeaconsUnlessSet` (0: any number)
    /// where the file does not say.
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
