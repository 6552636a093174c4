public import BluetoothLE

// A monitor with ears: what hears for it comes with it.
extension BeaconMonitor {
    /// Makes a monitor that hears by a source while it runs.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - source: what hears, on whose clock the monitor lives.
    ///   - settings: when adapters that stopped make states unknown, and when they are forgotten.
    ///   - engineSettings: what holds beside that; ``EngineSettings/live`` on a clock that is, else the defaults.
    ///   - ranging: how ``ranging(for:)`` guesses distances.
    ///   - service: where the monitor holds a service session, and learns how the machine stands.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: how the monitor knows where this gateway is, for circles.
    /// - Throws: ``MonitorError/nameTaken(_:)`` where a monitor of that name has not ended (rule N1), and what says which
    ///   setting is out of bounds. What stands in the way of hearing ``run()`` throws.
    public init(
        _ name: String, source: any SightingSource, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil
    ) throws(MonitorError) {
        try self.init(
            name, clock: source.clock, source: source, settings: settings, engineSettings: engineSettings,
            ranging: ranging, service: service, named: named, locating: locating, anyStore: nil)
    }

    /// Makes a monitor that hears by a source while it runs, and whose conditions and records outlive it (rule N4).
    ///
    /// - Parameters:
    ///   - name: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - source: what hears, on whose clock the monitor lives.
    ///   - settings: when adapters that stopped make states unknown, and when they are forgotten.
    ///   - engineSettings: what holds beside that; ``EngineSettings/live`` on a clock that is, else the defaults.
    ///   - ranging: how ``ranging(for:)`` guesses distances.
    ///   - service: where the monitor holds a service session, and learns how the machine stands.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: how the monitor knows where this gateway is, for circles.
    ///   - store: where records are kept; this monitor's alone.
    /// - Throws: as the initializer without a store, and ``MonitorError/recordsUnavailable(_:)``.
    public init(
        _ name: String, source: any SightingSource, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending any RecordStore
    ) throws(MonitorError) {
        try self.init(
            name, clock: source.clock, source: source, settings: settings, engineSettings: engineSettings,
            ranging: ranging, service: service, named: named, locating: locating, anyStore: store)
    }
}
