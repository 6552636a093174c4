import BeaconMonitoring
import BluetoothLE
import SiteMonitoring

/// Reads configurations of tests. For example, `exit 7` is a condition for all beacons, with an exit timeout of 7 s.
struct WatchedSetup: SiteSetupReader {
    static let uuid = ProximityUUID(high: 0xE2C5_6DB5_DFFB_48D2, low: 0xB060_D0F5_A710_96E0)

    struct NoSetup: Error {}

    func setup(_ text: [UInt8]) throws -> SiteSetup {
        let words = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard words.count == 2, words[0] == "exit", let seconds = Int(words[1]) else { throw NoSetup() }
        var engine = EngineSettings()
        engine.deafAfter = nil
        var monitor = MonitorSettings()
        monitor.outageTimeout = .seconds(20)
        var condition = ConditionSettings()
        condition.exitTimeout = .seconds(seconds)
        condition.perBeacon = true
        return SiteSetup(
            settings: engine,
            monitors: [
                MonitorSetup(
                    name: try Identifier("site"), settings: monitor,
                    conditions: [
                        MonitorSetup.Condition(
                            identifier: try Identifier("badges"),
                            condition: .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: Self.uuid)),
                            settings: condition)
                    ])
            ])
    }
}
