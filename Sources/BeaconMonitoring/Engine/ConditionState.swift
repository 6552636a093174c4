import BluetoothLE

/// What the path of a sighting reads of a condition: small, so that many stay in the cache.
struct ConditionMatch: Sendable {
    /// The next condition with the same identity; −1 at the end.
    var next: Int32 = -1
    /// The condition's own subject.
    var subject: Int32
    /// The monitor's place.
    var monitor: UInt16
    /// What a sighting needs to refresh; below every RSSI where any will do (rule X1).
    var exitRSSI: Int16
    /// Whether its beacons are subjects (rule P1).
    var perBeacon: Bool
    /// Whether a sighting of a beacon without a name is none (rule P4).
    var refusesStrangers = false
    /// The exit timeout in nanoseconds.
    var exitTimeout: Int64

    /// Below every RSSI, an absent one included.
    static let anyRSSI = Int16.min
    /// Where an absent RSSI stands: below every threshold (rule E2).
    static let absentRSSI = Int16.min + 1
}

/// The rest of a condition.
struct ConditionState: Sendable {
    let identifier: Identifier
    var condition: Condition
    var settings: ConditionSettings
    /// When it was added, among all (rule C4).
    let place: Int
    /// Its order among all by identifier, where the engine's ranks are valid.
    var rank: Int32 = 0
    /// The limit of conditions keeps it from being monitored (rule C4).
    var isLimited = false
    /// Beacons under it did not fit in the present episode (rule P2).
    var isOverflowing = false
    /// Beacons under it were refused in the present episode (rule P5).
    var isRefusing = false
    /// How many beacons under it are held.
    var beacons = 0

    var enterRSSI: Int16 { settings.enterRSSI.map { Int16($0.dBm) } ?? ConditionMatch.anyRSSI }
    var enterWindow: Int64 { settings.enterWindow.nanoseconds }
}

/// One monitor: a name and what holds for its conditions.
struct MonitorState: Sendable {
    let name: Identifier
    let outageTimeout: Int64
    let forgetAfter: Int64
}

extension BeaconMonitor.BeaconIdentityCondition {
    /// The word that stands beside the UUID in the table of conditions: how much is given, and what.
    var extra: UInt64 {
        guard let major else { return 0 }
        guard let minor else { return 1 << 32 | UInt64(major) << 16 }
        return 2 << 32 | UInt64(major) << 16 | UInt64(minor)
    }
}
