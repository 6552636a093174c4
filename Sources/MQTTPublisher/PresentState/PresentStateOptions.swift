package import BeaconMonitoring
import BluetoothLE

/// Under which topics a ``PresentState`` stands, for whom, and how much of it there may be.
package struct PresentStateOptions: Sendable, Hashable {
    /// The first level, or levels, of every topic.
    package var prefix: String
    /// The gateway's name: the level below.
    package var gateway: Identifier
    /// What Home Assistant is told; absent: nothing.
    package var homeAssistant: HomeAssistantOptions?
    /// Whether it is said what beacons are called.
    package var names = false
    /// The program's version, as Home Assistant shows it.
    package var version: String
    /// The conditions that are held at most. One more is counted in ``PresentStateCounters/conditionsLeftOut``.
    package var conditionsMax = 100_000
    /// The beacons in view, counted as (condition, beacon), that are held at most: what `max_beacons` is (rule P2). One
    /// more is counted in ``PresentStateCounters/beaconsLeftOut``.
    package var beaconsMax = 10_000
    /// The beacons that have left and still have a tracker, at most. The one that left first gives way, and is counted in
    /// ``PresentStateCounters/trackersGivenUp``.
    package var trackersMax = 10_000

    /// The topics that wait to be cleared although it is unknown whether they have a message, at most: a flood of forged
    /// beacons while the broker is unreachable. One more is counted in ``PresentStateCounters/clearsGivenUp``.
    var clearsMax = 100_000

    /// The defaults, for a gateway; Home Assistant is not told.
    package init(prefix: String = "beacons", gateway: Identifier, version: String = "") {
        self.prefix = prefix
        self.gateway = gateway
        self.version = version
    }

    /// What every topic of the gateway's begins with.
    var base: String { "\(prefix)/\(gateway)" }

    /// Whether other topics or other payloads come of `other`.
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

/// What Home Assistant is told (MQTT discovery).
package struct HomeAssistantOptions: Sendable, Hashable {
    /// The first level, or levels, of the topics under which Home Assistant looks for entities.
    package var prefix: String
    /// How trackers are told where a beacon is.
    package var trackers: Trackers

    /// What trackers go by.
    package enum Trackers: String, Sendable, Hashable {
        /// A state topic, which every version reads, and zones beside it.
        case state
        /// Zones alone: for a version that warns of state topics.
        case zones
    }

    /// Home Assistant's own default: `homeassistant`.
    package init(prefix: String = "homeassistant", trackers: Trackers = .state) {
        self.prefix = prefix
        self.trackers = trackers
    }
}

/// What a ``PresentState`` did not do, or gave up.
package struct PresentStateCounters: Sendable, Hashable {
    /// Lines that were no lines of ours, or not whole, or named what can't stand in a topic.
    package var linesIgnored = 0
    /// How often lines were missing; each time all that was held became `unknown`.
    package var gaps = 0
    /// Changes of conditions that did not fit.
    package var conditionsLeftOut = 0
    /// Changes of beacons that did not fit.
    package var beaconsLeftOut = 0
    /// Trackers of beacons that had left, which gave way to others.
    package var trackersGivenUp = 0
    /// Topics that were not cleared: nobody knew whether there was anything, and 100,000 such waited already.
    package var clearsGivenUp = 0
}

/// Why what was kept of a ``PresentState`` can't be used.
package enum PresentStateError: Error, Hashable {
    /// It is none, or not whole.
    case damaged
    /// A later version of the program wrote it; the number is its format's.
    case newerVersion(Int)
}

extension PresentStateError: CustomStringConvertible {
    /// What is the matter, and what to do.
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
