import BeaconMonitoring

/// The counters of an engine for late inputs, and for beacons without a place.
struct EngineCounters: Hashable {
    /// The number of inputs whose time was before the present of the engine (rule T2).
    var lateInputs = 0
    /// How often a beacon did not fit (rule P2).
    var untrackedBeacons = 0
    /// The number of beacons that lost their place to a named one (rule P4).
    var displacedBeacons = 0
    /// How often a beacon without a name was prevented from entering (rule P5).
    var refusedBeacons = 0

    /// Creates counters at 0.
    init() {}

    /// Copies the counters of an engine, which count since it was created.
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
