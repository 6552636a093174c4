public import BluetoothLE

/// The bounds that rule C7 sets.
public enum SettingBounds {
    /// What every duration may be: 1 ms … 30 d.
    public static let duration: ClosedRange<Duration> = .milliseconds(1)...(.seconds(30 * 86_400))
    /// How many sightings an entry may need.
    public static let enterCount: ClosedRange<Int> = 1...1000
}

/// What a beacon without a name is under a condition with `per_beacon` (rule P4).
public enum Strangers: String, Sendable, Hashable, CaseIterable {
    /// A subject like any other.
    case track
    /// No subject of its own, though it counts for the condition.
    case ignore
    /// Nothing: no sighting under that condition at all.
    case refuse
}

/// How a condition is entered and left.
public struct ConditionSettings: Sendable, Hashable {
    /// The qualifying sightings that an entry needs (rule E1), 1 … 1000.
    public var enterCount = 1
    /// How long before an entry they may lie, that long ago not included (rule E1).
    public var enterWindow: Duration = .seconds(10)
    /// The RSSI that a sighting needs to qualify (rule E2); any where absent.
    public var enterRSSI: RSSI?
    /// The RSSI that a sighting needs to refresh (rule X1); any where absent. Needs an ``enterRSSI`` that is not below it.
    public var exitRSSI: RSSI?
    /// The silence after which a satisfied condition becomes unsatisfied (rule X2).
    ///
    /// Must exceed several advertising intervals; a shorter value turns radio loss into events.
    public var exitTimeout: Duration = .seconds(30)
    /// Whether each beacon under the condition has events of its own (rule P1).
    public var perBeacon = false
    /// What a beacon that has no name is under the condition (rule P4); without ``perBeacon`` it has no effect.
    public var strangers = Strangers.track

    /// The defaults.
    public init() {}

    /// Checks every setting against its bounds and the others (rules X1, C7).
    /// - Throws: ``MonitorError/settingInvalid(_:_:)`` for the first that is out of them.
    public func validate() throws(MonitorError) {
        guard SettingBounds.enterCount.contains(enterCount) else {
            throw .settingInvalid("enter_count is \(enterCount)", "expected 1…1000")
        }
        try Self.check("enter_window", enterWindow)
        try Self.check("exit_timeout", exitTimeout)
        try Self.check("enter_rssi", enterRSSI)
        try Self.check("exit_rssi", exitRSSI)
        guard let exitRSSI else { return }
        guard let enterRSSI else {
            throw .settingInvalid("exit_rssi is \(exitRSSI.dBm)", "it needs an enter_rssi that is not below it")
        }
        guard exitRSSI <= enterRSSI else {
            throw .settingInvalid("exit_rssi is \(exitRSSI.dBm)", "expected at most enter_rssi, \(enterRSSI.dBm)")
        }
    }

    private static func check(_ name: String, _ duration: Duration) throws(MonitorError) {
        guard !SettingBounds.duration.contains(duration) else { return }
        throw .settingInvalid("\(name) is \(duration)", "expected 1ms…30d")
    }

    private static func check(_ name: String, _ rssi: RSSI?) throws(MonitorError) {
        guard let rssi, !RSSI.settingRange.contains(Int(rssi.dBm)) else { return }
        throw .settingInvalid("\(name) is \(rssi.dBm)", "expected -127…20")
    }
}

/// What holds for all conditions of one monitor.
public struct MonitorSettings: Sendable, Hashable {
    /// How long every adapter that holds a subject must have stopped before its state is unknown (rule L2).
    public var outageTimeout: Duration = .seconds(60)
    /// How long after it stopped an adapter holds nothing any more (rule L3).
    public var forgetAfter: Duration = .seconds(86_400)

    /// The defaults.
    public init() {}
}

/// What holds for a whole gateway.
public struct EngineSettings: Sendable, Hashable {
    /// The silence after which an adapter is taken not to listen (rule L5); absent: never.
    public var deafAfter: Duration?
    /// How many conditions are monitored, over all monitors (rule C4); 0: all.
    public var conditionLimit = 0
    /// How many beacons under conditions are held, over all monitors (rule P2).
    public var maxBeacons = 10_000
    /// How many beacons without a name may enter in a row, over all monitors; one more every 2 s (rule P5). 0: any number.
    public var maxNewBeacons = 0
    /// What lines call the source of fixes (rule G3); absent: there is none, and circles can't be evaluated (rule C5).
    public var locationSource: String?

    /// The defaults; an adapter is never taken for deaf, and there is no location source.
    public init() {}

    /// What a monitor that hears live has unless told otherwise, as a gateway has: 10 s of silence from everybody make an
    /// adapter deaf (rule L5), and 2,000 beacons without a name may enter in a row (rule P5).
    ///
    /// In what was recorded, and in tests, silence is a part of the record: there the defaults are off.
    public static var live: EngineSettings {
        var settings = EngineSettings()
        settings.deafAfter = .seconds(10)
        settings.maxNewBeacons = 2000
        return settings
    }
}
