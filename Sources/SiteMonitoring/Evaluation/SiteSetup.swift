package import BeaconMonitoring
package import BluetoothLE

/// What a site is to monitor.
package struct SiteSetup: Sendable, Hashable {
    /// What holds for all monitors.
    package var settings: EngineSettings
    /// The monitors, in their order.
    package var monitors: [MonitorSetup]
    /// The beacons that have a name (rule P4).
    package var named: Set<BeaconIdentity>

    /// A setup of these.
    package init(settings: EngineSettings, monitors: [MonitorSetup], named: Set<BeaconIdentity> = []) {
        self.settings = settings
        self.monitors = monitors
        self.named = named
    }

    /// Whether an engine that runs with another can't change to it, but has to begin anew with what that one knew.
    func needsNewEngine(after other: SiteSetup) -> Bool {
        settings != other.settings || monitors.map(\.name) != other.monitors.map(\.name)
            || monitors.map(\.settings) != other.monitors.map(\.settings)
    }
}

/// Makes a setup of a configuration's text. All processes of a site have to read the same text alike.
package protocol SiteSetupReader: Sendable {
    /// - Throws: why it is none; the site goes on with what it had.
    func setup(_ text: [UInt8]) throws -> SiteSetup
}
