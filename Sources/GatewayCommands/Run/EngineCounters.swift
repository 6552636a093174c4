import BeaconMonitoring

/// What an engine counts of inputs and beacons that found no place.
struct EngineCounters: Hashable {
    /// Inputs that came with a time before others.
    var lateInputs = 0
    /// How often a beacon did not fit (rule P2).
    var untrackedBeacons = 0
    /// Beacons that lost their place to a named one (rule P4).
    var displacedBeacons = 0
    /// How often a beacon without a name was kept from entering (rule P5).
    var refusedBeacons = 0

    /// None.
    init() {}

    /// What an engine has counted since it began.
    init(_ engine: MonitorEngine) {
        lateInputs = engine.lateInputs
        untrackedBeacons = engine.untrackedBeacons
        displacedBeacons = engine.displacedBeacons
        refusedBeacons = engine.refusedBeacons
    }

    static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.lateInputs &+= right.lateInputs
        sum.untrackedBeacons &+= right.untrackedBeacons
        sum.displacedBeacons &+= right.displacedBeacons
        sum.refusedBeacons &+= right.refusedBeacons
        return sum
    }
}
