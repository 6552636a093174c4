import BeaconMonitoring
package import EventLog
package import PublisherProtocol
package import SystemPackage

/// The options of a publisher: its settings, and values that its process adds.
@dynamicMemberLookup
package struct PublisherOptions: Sendable {
    package typealias TLS = PublisherSettings.TLS
    package typealias VersionChoice = PublisherSettings.VersionChoice

    /// What is retained at the broker beside the lines: the gateway's `availability` with its last will, its `status`, and
    /// the present states.
    package struct Retained: Sendable {
        /// The levels that the topics have in common, such as `beacons/lobby`.
        package var stem: String
        /// Where it is kept over restarts what was said.
        package var file: FilePath
        /// Under which topics states stand, and for whom.
        package var state: PresentStateOptions
        /// The number of the last line that was there at the start.
        package var lastWritten: Int
        /// What the gateway knew when it last kept that; the lines behind it say more. Absent where it can't be read.
        package var kept: KeptSnapshot?

        /// What is retained under these topics.
        package init(
            stem: String, file: FilePath, state: PresentStateOptions, lastWritten: Int, kept: KeptSnapshot? = nil
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
    /// How many lines may be past the durable checkpoint: sent and not acknowledged, or acknowledged and not yet kept.
    ///
    /// So many, at most, come twice after a cut or a kill. 2 … 32,768.
    package var window = 1000
    /// What is retained at the broker; absent: nothing, there are lines alone.
    package var retained: Retained?
    /// Whether what is durable is told (``PublisherOrders/durable``); else what stands in the files is.
    package var isTold = false
    /// Where delays begin; the same seed gives the same delays.
    package var seed: UInt64?
    /// How long it waits after what failed.
    package var backOff = BackOff()

    /// Delays, each doubled with the next failure, and then cut by chance to between a half and the whole.
    package struct BackOff: Sendable, Hashable {
        /// After the first failure that may pass by itself.
        package var first: Duration = .seconds(1)
        /// At most, after those.
        package var last: Duration = .seconds(60)
        /// After the first failure that somebody has to do something about.
        package var firstForSomebody: Duration = .seconds(15)
        /// At most, after those.
        package var lastForSomebody: Duration = .seconds(300)

        /// A second to a minute; a quarter of one to five.
        package init() {}
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<PublisherSettings, Value>) -> Value {
        get { settings[keyPath: member] }
        set { settings[keyPath: member] = newValue }
    }
}

extension PublisherOptions {
    /// The options for settings that a process was given.
    ///
    /// - Throws: `MonitorError` if the gateway's name is not valid.
    init(_ settings: PublisherSettings) throws(MonitorError) {
        self.settings = settings
        guard let present = settings.present else { return }
        isTold = true
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
            // What can't be read is as good as none: the lines tell too.
            kept: try? KeptSnapshot.read(from: directory))
    }
}
