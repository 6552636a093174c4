public import BeaconMonitoring
public import BluetoothLE

// A monitor that hears: `CLMonitor` with ears.
extension BeaconMonitor {
    /// Makes a monitor that hears while it runs, on the machine's clock.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - scanning: how it hears.
    ///   - settings: when adapters that stopped make states unknown, and when they are forgotten.
    ///   - engine: what holds beside that; `EngineSettings.live` unless told, for a capture and a script the defaults.
    ///   - ranging: how `ranging(for:)` guesses distances.
    ///   - service: where the monitor holds a service session, learns what others ask of the scanners, and tells how the
    ///     machine stands.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: how the monitor knows where this gateway is, for circles.
    /// - Throws: `MonitorError.nameTaken(_:)` where a monitor of that name has not ended (rule N1), and what says which
    ///   setting is out of bounds. What stands in the way of hearing `run()` throws: `HearingError`.
    public init(
        _ name: String, scanning: Scanning, settings: MonitorSettings = MonitorSettings(),
        engine: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil
    ) throws(MonitorError) {
        try self.init(
            name, source: scanning.source(for: name), settings: settings, engine: engine, ranging: ranging,
            service: service, named: named, locating: locating)
    }

    /// Makes a monitor that hears while it runs, and whose conditions and records outlive it (rule N4).
    ///
    /// - Parameters:
    ///   - name: 1 to 128 octets that can stand in a topic (rule C6).
    ///   - scanning: how it hears.
    ///   - settings: when adapters that stopped make states unknown, and when they are forgotten.
    ///   - engine: what holds beside that; `EngineSettings.live` unless told, for a capture and a script the defaults.
    ///   - ranging: how `ranging(for:)` guesses distances.
    ///   - service: where the monitor holds a service session, learns what others ask of the scanners, and tells how the
    ///     machine stands.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: how the monitor knows where this gateway is, for circles.
    ///   - store: where records are kept; this monitor's alone.
    /// - Throws: as the initializer without a store, and `MonitorError.recordsUnavailable(_:)`.
    public init(
        _ name: String, scanning: Scanning, settings: MonitorSettings = MonitorSettings(),
        engine: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending any RecordStore
    ) throws(MonitorError) {
        try self.init(
            name, source: scanning.source(for: name), settings: settings, engine: engine, ranging: ranging,
            service: service, named: named, locating: locating, store: store)
    }
}
