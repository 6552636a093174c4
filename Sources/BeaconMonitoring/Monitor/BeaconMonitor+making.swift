public import BluetoothLE

// Monitors with a source of sightings, and monitors with a record store.
extension BeaconMonitor {
    /// Makes a monitor that receives sightings from a source while it runs.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - source: the source of sightings, whose clock the monitor uses.
    ///   - settings: when stopped adapters make states unknown, and when they are forgotten.
    ///   - engineSettings: the other settings; by default ``EngineSettings/live`` if the clock is live, else
    ///     `EngineSettings()`.
    ///   - ranging: how ``ranging(for:)`` estimates distances.
    ///   - service: the registry for the monitor's service session and for the state of the machine.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: the source of fixes for circles.
    /// - Throws: ``MonitorError/nameTaken(_:)`` if a monitor of that name has not ended (rule N1), and ``MonitorError`` if a
    ///   setting is out of bounds. ``run()`` throws the errors of the source.
    public init(
        _ name: String, source: any SightingSource, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil
    ) throws(MonitorError) {
        try self.init(
            name, clock: source.clock, source: source, settings: settings, engineSettings: engineSettings,
            ranging: ranging, service: service, named: named, locating: locating, anyStore: nil)
    }

    /// Makes a monitor that receives sightings from a source while it runs, and whose conditions and records survive a
    /// restart (rule N4).
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - source: the source of sightings, whose clock the monitor uses.
    ///   - settings: when stopped adapters make states unknown, and when they are forgotten.
    ///   - engineSettings: the other settings; by default ``EngineSettings/live`` if the clock is live, else
    ///     `EngineSettings()`.
    ///   - ranging: how ``ranging(for:)`` estimates distances.
    ///   - service: the registry for the monitor's service session and for the state of the machine.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: the source of fixes for circles.
    ///   - store: the store of records, for this monitor alone.
    /// - Throws: the errors of the initializer without a store, and ``MonitorError/recordsUnavailable(_:)``.
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

    /// Makes a monitor whose conditions and records survive a restart: those of a former monitor with that name are there
    /// again without being added (rule N4).
    ///
    /// An event becomes its record's `lastEvent` when it has been handled (rule N3). The first subscription starts with the
    /// events that the former process stored and that were not handled, in order.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - clock: the timeline of all inputs, and the wall clock.
    ///   - settings: when stopped adapters make states unknown, and when they are forgotten.
    ///   - engineSettings: the other settings; by default ``EngineSettings/live`` if the clock is live, else
    ///     `EngineSettings()`.
    ///   - ranging: how ``ranging(for:)`` estimates distances.
    ///   - service: the registry for the monitor's service session and for the state of the machine.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: the source of fixes for circles.
    ///   - store: the store of records, for this monitor alone.
    /// - Throws: the errors of the initializer without a store, and ``MonitorError/recordsUnavailable(_:)``.
    public init(
        _ name: String, clock: any MonitorClock, settings: MonitorSettings = MonitorSettings(),
        engine engineSettings: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending any RecordStore
    ) throws(MonitorError) {
        try self.init(
            name, clock: clock, source: nil, settings: settings, engineSettings: engineSettings, ranging: ranging,
            service: service, named: named, locating: locating, anyStore: store)
    }
}
