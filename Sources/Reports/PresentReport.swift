package import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
import EventLog

/// The beacons that were present when their gateways were last known to be alive, from event files.
///
/// It only computes. `visits --now` writes it, and other programs can show it in other forms.
package struct PresentReport: Sendable {
    /// A beacon that is present or unknown, or a condition without events of beacons.
    package struct Presence: Sendable, Hashable {
        /// The beacon; `nil` for a condition.
        package var beacon: BeaconIdentity?
        /// The name of the beacon in the configuration; `nil` if it has none.
        package var name: String?
        /// The group of the beacon in the configuration; `nil` if it has none.
        package var group: String?
        /// The conditions that are satisfied, in their order. A beacon under several conditions is one presence.
        package var identifiers: [String]
        /// The gateways that report it. If some of them know the state, only these.
        package var gateways: [String]
        /// The arrival; `nil` if the presence was assumed, or the line was deleted.
        package var since: WallDate?
        /// The last sighting in a line. No line is written while a beacon stays. If ``notKnownSince`` is `nil`, the
        /// beacon was nevertheless received within ``exitTimeout`` of scanning before the time at which the gateway was
        /// last known to be alive.
        package var lastSighting: WallDate?
        /// The silence after which the beacon exits: the shortest exit timeout of its conditions. `nil` if no line has
        /// it.
        package var exitTimeout: Duration?
        /// The time since which it is not known whether the beacon is present; `nil` if it is present. The gateway lost
        /// sight of it, none of the gateway's adapters scans, or the gateway was last known to be alive then.
        package var notKnownSince: WallDate?
        /// The sequence number of the line with the arrival, of the first gateway; `nil` if it is not known.
        package var sequence: Int?

        /// The section of the list: the group, else the first of the conditions.
        package var section: String { group ?? identifiers.first ?? "" }
    }

    /// An adapter with its state in its last line.
    package struct Adapter: Sendable, Hashable {
        /// The name of the adapter in lines: `hci0`.
        package var name: String
        /// The state of the adapter, which shows whether it scans.
        package var state: AdapterChange.State
        /// The time since which it has been in this state.
        package var since: WallDate
        /// The reason; `nil` if the state is explanation enough.
        package var reason: String?
    }

    /// A gateway with lines.
    package struct Gateway: Sendable, Hashable {
        /// The name of the gateway.
        package var name: String
        /// The time at which it was last known to be alive.
        package var asOf: WallDate
        /// Whether its last line about itself reports that it was stopped.
        package var isStopped: Bool
        /// Whether it is alive when the report is made: it was not stopped, and its newest proof is within
        /// ``PresentReport/livelyFor``.
        package var isAlive: Bool
        /// Its adapters by name, without those that were removed.
        package var adapters: [Adapter]
        /// The time since which none of its adapters has scanned. `nil` if one scans, or if its run has no line about
        /// its start or about an adapter.
        package var deafSince: WallDate?
    }

    /// The maximum age of the proof that a gateway is alive. A gateway renews its proof a minute or more after the
    /// previous one.
    package static let livelyFor: Duration = .seconds(120)

    /// The time at which the report was made.
    package var made: WallDate
    /// The gateways, in the order of their first lines.
    package var gateways: [Gateway]
    /// The subjects that are present or were at the last known time: by section, then present ones first, then by name
    /// or numbers.
    package var presences: [Presence]

    /// The number of subjects that are known to be present.
    package var hereCount: Int { presences.count { $0.notKnownSince == nil } }
    /// The newest time at which a gateway is known to have been alive; ``made`` if there is no gateway.
    package var asOf: WallDate { gateways.map(\.asOf).max() ?? made }

    /// The earliest date in the report, or ``made``.
    var earliest: WallDate {
        var earliest = made
        for presence in presences {
            for date in [presence.since, presence.lastSighting, presence.notKnownSince] {
                if let date { earliest = min(earliest, date) }
            }
        }
        for gateway in gateways {
            earliest = min(earliest, gateway.asOf, gateway.deafSince ?? earliest)
            for adapter in gateway.adapters where adapter.state != .listening {
                earliest = min(earliest, adapter.since)
            }
        }
        return earliest
    }

    /// Reads event files and finds the beacons that are present. The range in `options` does not count.
    ///
    /// - Parameters:
    ///   - options: the files, condition, beacon and names.
    ///   - now: the time of the wall clock of the machine that reports.
    /// - Returns: the report, and remarks for the operator.
    /// - Throws: ``ExitFailure`` if the files cannot be read, or have no requested data.
    package static func read(
        _ options: VisitsOptions, now: WallDate
    ) throws(ExitFailure) -> (report: PresentReport, remarks: [String]) {
        var options = options
        (options.from, options.to, options.made) = (nil, nil, now)
        do {
            // Visits of several gateways that touch are one visit, because a beacon can have moved from one gateway to
            // another.
            var merged: [VisitTracker.SubjectVisit] = []
            let found = try VisitReader(options).read { visit in if visit.end == .open { merged.append(visit) } }
            let finder = PresenceFinder(found.trackers, now: now)
            let report = PresentReport(
                made: now, gateways: finder.gateways,
                presences: finder.presences(of: merged, ongoing: found.ongoing, options.directory))
            return (report, found.remarks)
        } catch {
            throw ExitFailure(any: error)
        }
    }
}
