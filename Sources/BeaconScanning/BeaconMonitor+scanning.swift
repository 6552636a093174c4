public import BeaconMonitoring
public import BluetoothLE

// Core Location's `CLMonitor` scans by itself; so does a monitor that is made like this.
extension BeaconMonitor {
    /// Makes a monitor that scans while it runs, on the machine's clock.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes that can be part of a topic (rule C6).
    ///   - scanning: the source of advertisements: adapters, a capture or a script.
    ///   - settings: when stopped adapters make states unknown, and when they are forgotten.
    ///   - engine: the other settings; by default `EngineSettings.live` for adapters, and `EngineSettings()` for a capture
    ///     or a script.
    ///   - ranging: how `ranging(for:)` estimates distances.
    ///   - service: the registry for the monitor's service session, for the demands of other sessions, and for the state of
    ///     the machine.
    ///   - named: the beacons that have a name (rule P4).
    ///   - locating: the source of fixes for circles.
    ///   - store: the store of conditions and records, for this monitor alone; `nil` if they end with the monitor (rule N4).
    /// - Throws: `MonitorError.nameTaken(_:)` if a monitor of that name has not ended (rule N1),
    ///   `MonitorError.recordsUnavailable(_:)` if the store can't be opened, and `MonitorError` if a setting is out of
    ///   bounds. `run()` throws `HearingError` if scanning fails.
    public init(
        _ name: String, scanning: Scanning, settings: MonitorSettings = MonitorSettings(),
        engine: EngineSettings? = nil, ranging: RangingSettings = RangingSettings(),
        service: ServiceRegistry = .shared, named: Set<BeaconIdentity> = [], locating: Locating? = nil,
        store: sending (any RecordStore)? = nil
    ) throws(MonitorError) {
        try self.init(
            name, source: scanning.source(for: name), settings: settings, engine: engine, ranging: ranging,
            service: service, named: named, locating: locating, store: store)
    }
}
