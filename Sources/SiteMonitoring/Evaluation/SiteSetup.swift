package import BeaconMonitoring
package import BluetoothLE

/// The monitors of a site, with their settings.
package struct SiteSetup: Sendable, Hashable {
    /// The settings of all monitors.
    package var settings: EngineSettings
    /// The monitors, in their order.
    package var monitors: [MonitorSetup]
    /// The beacons that have a name (rule P4).
    package var named: Set<BeaconIdentity>

    /// Creates a setup.
    package init(settings: EngineSettings, monitors: [MonitorSetup], named: Set<BeaconIdentity> = []) {
        self.settings = settings
        self.monitors = monitors
        self.named = named
    }

    /// Returns whether an engine that runs with `other` cannot change to this setup. Then a new engine must be created
    /// from its snapshot.
    func needsNewEngine(after other: SiteSetup) -> Bool {
        settings != other.settings || monitors.map(\.name) != other.monitors.map(\.name)
            || monitors.map(\.settings) != other.monitors.map(\.settings)
    }
}

/// Parses the text of a configuration. All processes of a site must get the same setup from the same text.
package protocol SiteSetupReader: Sendable {
    /// Returns the setup of a configuration.
    ///
    /// - Throws: the reason why the text is invalid. The site then continues with its previous setup.
    func setup(_ text: [UInt8]) throws -> SiteSetup
}
