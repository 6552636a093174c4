internal import BeaconMonitoring
internal import BluetoothLE

/// The settings that a monitor has and a condition can override, as read from one of them.
struct Overridable {
    var enterCount: Reader.Setting<Int> = .absent
    var enterWindow: Reader.Setting<Duration> = .absent
    var enterRSSI: Reader.Setting<RSSI> = .absent
    var exitRSSI: Reader.Setting<RSSI> = .absent
    var exitTimeout: Reader.Setting<Duration> = .absent
    var perBeacon: Reader.Setting<Bool> = .absent
    var unnamed: Reader.Setting<UnnamedBeacons> = .absent
    var ranging: Reader.Setting<Bool> = .absent

    /// Returns `settings` with the values that are set here.
    func applied(to settings: ConditionSettings) -> ConditionSettings {
        var settings = settings
        if let value = enterCount.value { settings.enterCount = value }
        if let value = enterWindow.value { settings.enterWindow = value }
        if let value = enterRSSI.value { settings.enterRSSI = value }
        if let value = exitRSSI.value { settings.exitRSSI = value }
        if let value = exitTimeout.value { settings.exitTimeout = value }
        if let value = perBeacon.value { settings.perBeacon = value }
        if let value = unnamed.value { settings.unnamed = value }
        return settings
    }
}

extension Reader {
    /// Reads these settings (bounds: rule C7).
    mutating func overridable(_ section: Section<MonitoringKey>) -> Overridable {
        Overridable(
            enterCount: setting(.enterCount, of: section, Self.integer(in: SettingBounds.enterCount)),
            enterWindow: setting(.enterWindow, of: section, Self.duration(in: SettingBounds.duration)),
            enterRSSI: setting(.enterRSSI, of: section, Self.rssi),
            exitRSSI: setting(.exitRSSI, of: section, Self.rssi),
            exitTimeout: setting(.exitTimeout, of: section, Self.duration(in: SettingBounds.duration)),
            perBeacon: setting(.perBeacon, of: section, ScalarSyntax.bool),
            unnamed: setting(.unnamed, of: section, Self.choice(UnnamedBeacons.self)),
            ranging: setting(.ranging, of: section, ScalarSyntax.bool))
    }

    private static func rssi(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> RSSI {
        RSSI(dBm: Int8(clamping: try ScalarSyntax.integer(text, in: RSSI.settingRange)))
    }
}
