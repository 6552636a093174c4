public import BluetoothLE

/// The bounds of settings (rule C7).
public enum SettingBounds {
    /// The bounds of every duration: 1 ms … 30 d.
    public static let duration: ClosedRange<Duration> = .milliseconds(1)...(.seconds(30 * 86_400))
    /// The bounds of the number of sightings for an entry.
    public static let enterCount: ClosedRange<Int> = 1...1000
}

/// The treatment of beacons without names under a condition with `per_beacon` (rule P4).
public enum UnnamedBeacons: String, Sendable, Hashable, CaseIterable {
    /// They are subjects like all other beacons.
    case track
    /// They are not subjects, but their sightings count for the condition.
    case ignore
    /// Their sightings are ignored for the condition.
    case refuse
}

/// The thresholds and timeouts of entries and exits of a condition.
///
///     var settings = ConditionSettings()
///     settings.enterCount = 3
///     settings.exitTimeout = .seconds(60)
///     try await monitor.add(.beacon(uuid: uuid), identifier: "lobby", settings: settings)
public struct ConditionSettings: Sendable, Hashable {
    /// The number of qualifying sightings that an entry needs, 1 … 1000; 1 by default (rule E1).
    public var enterCount = 1
    /// The maximum age of these sightings at the time of the entry; a sighting of exactly this age does not count. 10 s
    /// by default (rule E1).
    public var enterWindow: Duration = .seconds(10)
    /// The minimum RSSI of a qualifying sighting; `nil` means any RSSI (rule E2).
    public var enterRSSI: RSSI?
    /// The minimum RSSI of a sighting that refreshes; `nil` means any RSSI (rule X1). It requires an ``enterRSSI`` that
    /// is not less.
    public var exitRSSI: RSSI?
    /// The time without a refresh after which a satisfied condition becomes unsatisfied; 30 s by default (rule X2).
    ///
    /// It must be longer than several advertising intervals. If it is shorter, lost advertisements cause events.
    public var exitTimeout: Duration = .seconds(30)
    /// Whether each beacon under the condition has events of its own (rule P1).
    public var perBeacon = false
    /// The treatment of beacons without names (rule P4). It has no effect without ``perBeacon``.
    public var unnamed = UnnamedBeacons.track

    /// Creates the default settings.
    public init() {}

    /// Checks all settings against their bounds and each other (rules X1, C7).
    /// - Throws: ``MonitorError/settingInvalid(_:_:)`` for the first invalid setting.
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

/// The settings for all conditions of a monitor.
public struct MonitorSettings: Sendable, Hashable {
    /// The time after which a state becomes `unknown` if all adapters that hold the subject have stopped; 60 s by
    /// default (rule L2).
    public var outageTimeout: Duration = .seconds(60)
    /// The time after which a stopped adapter no longer holds any subject; one day by default (rule L3).
    public var forgetAfter: Duration = .seconds(86_400)

    /// Creates the default settings.
    public init() {}
}

/// The settings for a whole gateway.
public struct EngineSettings: Sendable, Hashable {
    /// The time without a report after which an adapter counts as not scanning. `nil` disables this (rule L5).
    public var deafAfter: Duration?
    /// The maximum number of monitored conditions in all monitors; 0 means no limit (rule C4).
    ///
    /// A ``BeaconMonitor`` compares its limit with the number of monitored conditions of all monitors with the same
    /// ``ServiceRegistry``; by default, these are all monitors of the process. The conditions of a monitor without a
    /// limit are never limited, but they count for the others, so all monitors should have the same limit. Tests that
    /// set a limit and run at the same time must have registries of their own, because each counts the conditions of
    /// the others:
    ///
    ///     var settings = EngineSettings()
    ///     settings.conditionLimit = 1
    ///     let monitor = try BeaconMonitor("limits", clock: clock, engine: settings, service: ServiceRegistry())
    ///     try await monitor.add(.beacon(uuid: staff), identifier: "lobby")
    ///     try await monitor.add(.beacon(uuid: staff), identifier: "yard")
    ///     #expect(try await monitor.requestState(for: "yard") == .unmonitored)
    public var conditionLimit = 0
    /// The maximum number of tracked beacons under conditions in all monitors (rule P2).
    public var maxBeacons = 10_000
    /// The maximum number of beacons without names that may enter without a pause, in all monitors. One more may enter
    /// every 2 s. 0 means no limit (rule P5).
    public var maxNewBeacons = 0
    /// The name of the location source in lines (rule G3). If it is `nil`, circles cannot be evaluated (rule C5).
    public var locationSource: String?

    /// Creates the default settings: no adapter counts as not scanning, and there is no location source.
    public init() {}

    /// The defaults of a monitor with a live source, as in the gateway: an adapter without reports for 10 s is out of
    /// order (rule L5), and 2,000 beacons without names may enter without a pause (rule P5).
    ///
    /// In replays and tests, both are disabled by default, because silence is part of the recording.
    public static var live: EngineSettings {
        var settings = EngineSettings()
        settings.deafAfter = .seconds(10)
        settings.maxNewBeacons = 2000
        return settings
    }
}
