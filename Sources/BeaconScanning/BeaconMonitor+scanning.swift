public import BeaconMonitoring
public import BluetoothLE

// `CLMonitor` of Core Location scans by itself, and so does a monitor with this initializer.
extension BeaconMonitor {
    /// Creates a monitor that scans while it runs, with the clock of the machine.
    ///
    ///     let monitor = try BeaconMonitor("site", scanning: .automatic)
    ///     try await monitor.add(.beacon(uuid: staff), identifier: "near")
    ///     try await monitor.run()
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - scanning: the source of advertisements: adapters, a capture or a script.
    ///   - settings: the times after which stopped adapters make states unknown and are forgotten.
    ///   - engine: the other settings; by default `EngineSettings.live` for adapters, and `EngineSettings()` for a
    ///     capture or a script.
    ///   - ranging: the settings for the estimated distances of `ranging(for:)`.
    ///   - service: the registry for the monitor's service session, for the demands of other sessions, and for the
    ///     state of the machine. Monitors with the same registry share the places for conditions
    ///     (`EngineSettings.conditionLimit`).
    ///   - named: the beacons with names (rule P4).
    ///   - locating: the source of fixes for circles.
    ///   - store: the store of conditions and records, for this monitor alone; `nil` if they end with the monitor (rule
    ///     N4).
    /// - Throws: `MonitorError.nameTaken(_:)` if a monitor with that name has not ended (rule N1),
    ///   `MonitorError.recordsUnavailable(_:)` if the store cannot be opened, and `MonitorError` if a setting is out of
    ///   bounds. `run()` throws `ScanningError` if scanning fails.
    public init(
        _ name: String, scanning: Scanning, settings: MonitorSettings = MonitorSettings(),
        engine: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending (any RecordStore)? = nil
    ) throws(MonitorError) {
        try self.init(
            name, source: scanning.source(for: name), settings: settings, engine: engine, ranging: ranging,
            service: service, named: named, locating: locating, store: store, remarked: scanning.remarked(by: name),
            on: SystemMonitorClock())
    }
}
