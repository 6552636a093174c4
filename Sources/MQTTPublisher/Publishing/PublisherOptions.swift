import BeaconMonitoring
package import EventLog
package import PublisherProtocol
package import SystemPackage

/// The options of a publisher: its settings, and values that its process adds.
@dynamicMemberLookup
package struct PublisherOptions: Sendable {
    package typealias TLS = PublisherSettings.TLS
    package typealias VersionChoice = PublisherSettings.VersionChoice

    /// The options of retained messages: the gateway's `availability` with its last will, its `status`, and the present
    /// states.
    package struct Retained: Sendable {
        /// The levels that all topics start with, such as `beacons/lobby`.
        package var stem: String
        /// The file that stores over restarts which states were published.
        package var file: FilePath
        /// The topics of the states and their readers.
        package var state: PresentStateOptions
        /// The sequence number of the last line at the start.
        package var lastWritten: Int
        /// The last stored state of the gateway; the lines after it contain later changes. `nil` if it cannot be read.
        package var kept: StoredSnapshot?

        /// Creates options with these topics and files.
        package init(
            stem: String, file: FilePath, state: PresentStateOptions, lastWritten: Int, kept: StoredSnapshot? = nil
        ) {
            self.stem = stem
            self.file = file
            self.state = state
            self.lastWritten = lastWritten
            self.kept = kept
        }
    }

    /// The settings of the process. Each is also a member of the options.
    package var settings: PublisherSettings
    /// The maximum number of lines after the durable checkpoint: sent and not acknowledged, or acknowledged and not yet
    /// stored. The range is 2…32,768.
    ///
    /// At most this many lines are repeated after a connection was cut or the process was killed.
    package var window = 1000
    /// The options of retained messages; `nil` if only lines are published.
    package var retained: Retained?
    /// Whether the owner reports which lines are durable (``PublisherOrders/durable``). Otherwise all lines in the
    /// files may be published, and the publisher makes them durable itself.
    package var ownerReportsDurable = false
    /// The seed of the delays, which are the same for the same seed; `nil` for a random one.
    package var seed: UInt64?
    /// The delays after failures.
    package var backOff = BackOff()

    /// Delays that double with each failure in a row. A random value between half and all of each delay is used.
    package struct BackOff: Sendable, Hashable {
        /// The delay after the first failure that can disappear without a change.
        package var first: Duration = .seconds(1)
        /// The maximum delay after such failures.
        package var last: Duration = .seconds(60)
        /// The delay after the first failure that an operator must fix.
        package var firstForSomebody: Duration = .seconds(15)
        /// The maximum delay after such failures.
        package var lastForSomebody: Duration = .seconds(300)

        /// Creates the default delays: 1 s to 60 s, and 15 s to 300 s if an operator must fix the cause.
        package init() {}
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<PublisherSettings, Value>) -> Value {
        get { settings[keyPath: member] }
        set { settings[keyPath: member] = newValue }
    }
}

extension PublisherOptions {
    /// Creates the options from the settings that the process received.
    ///
    /// - Throws: `MonitorError` if the gateway's name is not valid.
    init(_ settings: PublisherSettings) throws(MonitorError) {
        self.settings = settings
        guard let present = settings.present else { return }
        ownerReportsDurable = true
        try setRetained(present)
    }

    private mutating func setRetained(_ present: PublisherSettings.Present) throws(MonitorError) {
        let gateway = try Identifier(present.gateway)
        let directory = FilePath(present.stateDirectory)
        var state = PresentStateOptions(prefix: settings.prefix, gateway: gateway, version: present.programVersion)
        if let prefix = present.homeAssistantPrefix {
            state.homeAssistant = HomeAssistantOptions(
                prefix: prefix,
                trackers: HomeAssistantOptions.Trackers(rawValue: present.homeAssistantTrackers) ?? .state)
        }
        state.names = present.names
        state.beaconsMax = present.beaconsMax
        retained = Retained(
            stem: "\(settings.prefix)/\(gateway)", file: directory.appending("mqtt-state.json"), state: state,
            lastWritten: present.lastWritten,
            // A state that cannot be read counts as missing, because the lines contain the changes too.
            kept: try? StoredSnapshot.read(from: directory))
    }
}
