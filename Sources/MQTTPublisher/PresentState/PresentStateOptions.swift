package import BeaconMonitoring
import BluetoothLE

/// The topics of a ``PresentState``, their readers, and the limits.
package struct PresentStateOptions: Sendable, Hashable {
    /// The first level or levels of every topic, except the topics of discovery.
    package var prefix: String
    /// The name of the gateway, which is the level after the prefix.
    package var gateway: Identifier
    /// The options of discovery for Home Assistant; `nil` if nothing is published for it.
    package var homeAssistant: HomeAssistantOptions?
    /// Whether the names of beacons are published.
    package var names = false
    /// The version of the program, which Home Assistant shows.
    package var version: String
    /// The maximum number of conditions. Each change of a condition that does not fit is counted in
    /// ``PresentStateCounters/conditionsLeftOut``.
    package var conditionsMax = 100_000
    /// The maximum number of beacons that are present or unknown, counted as pairs (condition, beacon), like
    /// `max_beacons` (rule P2). Each change of a beacon that does not fit is counted in
    /// ``PresentStateCounters/beaconsLeftOut``.
    package var beaconsMax = 10_000
    /// The maximum number of beacons that have exited and still have a tracker. If there is one more, the tracker of
    /// the beacon that exited first is deleted, and counted in ``PresentStateCounters/trackersGivenUp``.
    package var trackersMax = 10_000

    /// The maximum number of topics that wait to be cleared although it is unknown whether they have a message. Forged
    /// beacons can cause many of them while the broker is unreachable. Each one that does not fit is counted in
    /// ``PresentStateCounters/clearsGivenUp``.
    var clearsMax = 100_000

    /// Creates options with the default limits, without Home Assistant.
    package init(prefix: String = "beacons", gateway: Identifier, version: String = "") {
        self.prefix = prefix
        self.gateway = gateway
        self.version = version
    }

    /// The levels that all topics of the gateway start with, except the topics of discovery.
    var base: String { "\(prefix)/\(gateway)" }

    /// Returns whether `other` leads to other topics or other payloads. Names of beacons are not compared.
    func differs(from other: PresentStateOptions) -> Bool {
        !base.utf8.elementsEqual(other.base.utf8) || homeAssistant != other.homeAssistant || version != other.version
    }
}

extension PresentStateOptions {
    /// The topic of a condition's state.
    func stateTopic(_ identifier: Identifier) -> String { "\(base)/state/\(identifier)" }

    /// The topic of a beacon's state.
    func stateTopic(_ identifier: Identifier, _ beacon: BeaconIdentity) -> String {
        "\(base)/state/\(identifier)/\(beacon)"
    }

    /// The state topic of a beacon's tracker.
    func trackerTopic(_ identifier: Identifier, _ beacon: BeaconIdentity) -> String {
        "\(base)/tracker/\(identifier)/\(beacon)"
    }

    /// The topic with `online` or `offline`.
    var availabilityTopic: String { "\(base)/availability" }

    /// The topic of the gateway's status.
    var statusTopic: String { "\(base)/status" }
}

/// The options of MQTT discovery for Home Assistant.
package struct HomeAssistantOptions: Sendable, Hashable {
    /// The first level or levels of the topics in which Home Assistant searches for entities.
    package var prefix: String
    /// How trackers receive the location of a beacon.
    package var trackers: Trackers

    /// The source of a tracker's location.
    package enum Trackers: String, Sendable, Hashable {
        /// A state topic, which every version of Home Assistant reads, and zones in the attributes.
        case state
        /// Only zones, for a version that logs a warning for state topics.
        case zones
    }

    /// Creates options. The default prefix, `homeassistant`, is that of Home Assistant.
    package init(prefix: String = "homeassistant", trackers: Trackers = .state) {
        self.prefix = prefix
        self.trackers = trackers
    }
}

/// Counters of lines that a ``PresentState`` ignored, and of states and topics that it left out.
package struct PresentStateCounters: Sendable, Hashable {
    /// The number of lines that another program wrote, that are damaged, or that have a name that cannot be part of a
    /// topic. Conditions of the engine with such a name are also counted.
    package var linesIgnored = 0
    /// The number of times that lines were missing. Each time, all states became `unknown`.
    package var gaps = 0
    /// The number of changes of conditions that did not fit.
    package var conditionsLeftOut = 0
    /// The number of changes of beacons that did not fit.
    package var beaconsLeftOut = 0
    /// The number of trackers of beacons that had exited, which were deleted because later ones needed the space.
    package var trackersGivenUp = 0
    /// The number of topics that were not cleared, because it was unknown whether they have a message, and 100,000
    /// others of this kind waited already.
    package var clearsGivenUp = 0
}

/// The reason why a stored ``PresentState`` cannot be used.
package enum PresentStateError: Error, Hashable {
    /// The bytes are not a stored state, or are incomplete.
    case damaged
    /// A later version of the program wrote it. The number is the version of the format.
    case newerVersion(Int)
}

extension PresentStateError: CustomStringConvertible {
    /// The error, and the remedy.
    package var description: String {
        switch self {
        case .damaged:
            """
            the list of retained topics is damaged; delete it: it is rebuilt from the event files. Topics that are missing in the \
            new list must be cleared by hand at the broker
            """
        case .newerVersion(let version):
            "the list of retained topics was written by a later version of the program (format \(version)); use that version"
        }
    }
}
