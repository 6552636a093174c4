package import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
import EventLog

/// Who is here: what event files tell of the last moment at which their gateways are known to have been alive.
///
/// It only computes; `visits --now` writes it, and so may whoever shows it otherwise.
package struct PresentReport: Sendable {
    /// Somebody, or a condition of which no beacon has states of its own.
    package struct Presence: Sendable, Hashable {
        /// The beacon; absent of a condition.
        package var beacon: BeaconIdentity?
        /// What the configuration calls the beacon; absent where it does not.
        package var name: String?
        /// The group that the configuration has it in; absent where it has none.
        package var group: String?
        /// The conditions that hold, in their order; of a beacon under several it is one presence.
        package var identifiers: [String]
        /// The gateways that tell of it: those that know, where one does.
        package var gateways: [String]
        /// When it arrived; absent where it was assumed to be there, or the line has been deleted.
        package var since: WallDate?
        /// The last sighting that a line tells of. While somebody stays, no line is written: he was heard within
        /// ``exitTimeout`` of listening before the gateway's as-of, too, where ``notKnownSince`` is absent.
        package var lastHeard: WallDate?
        /// The silence after which he would have left, the shortest of its conditions; absent where no line tells it.
        package var exitTimeout: Duration?
        /// Since when nobody knows whether he is here: the gateway lost sight of him, none of its adapters listens, or it
        /// was not alive any more. Absent where he is here.
        package var notKnownSince: WallDate?
        /// The number of the line that tells of the arrival, of the first gateway; absent where that is not known.
        package var sequence: Int?

        /// Under what he is listed: his group, else the first of the conditions.
        package var section: String { group ?? identifiers.first ?? "" }
    }

    /// What an adapter does, as the last line of it says.
    package struct Adapter: Sendable, Hashable {
        /// The name that lines give the adapter: `hci0`.
        package var name: String
        /// Whether the adapter listens.
        package var state: AdapterChange.State
        /// The moment since which it has been in that state.
        package var since: WallDate
        /// Why; absent where the state says it all.
        package var reason: String?
    }

    /// A gateway that told of this.
    package struct Gateway: Sendable, Hashable {
        /// The name of the gateway.
        package var name: String
        /// When it was last known to be alive.
        package var asOf: WallDate
        /// Whether it said of itself that it was stopped.
        package var isStopped: Bool
        /// Whether it is alive when the report is made: not stopped, and its newest proof is within ``PresentReport/livelyFor``.
        package var isAlive: Bool
        /// Its adapters, by name; those that were taken out are not among them.
        package var adapters: [Adapter]
        /// Since when none of its adapters listens; absent where one does, and where no line tells of any.
        package var deafSince: WallDate?
    }

    /// How old the proof of a gateway's life may be. It renews it a minute or more after the last time.
    package static let livelyFor: Duration = .seconds(120)

    /// When the report was made.
    package var made: WallDate
    /// The gateways, in the order in which they came.
    package var gateways: [Gateway]
    /// Who is here, or was when that was last known: by section, those who are here first, by name or numbers.
    package var presences: [Presence]

    /// Who is here for sure: how many.
    package var hereCount: Int { presences.count { $0.notKnownSince == nil } }
    /// The newest moment at which a gateway is known to have been alive.
    package var asOf: WallDate { gateways.map(\.asOf).max() ?? made }

    /// The earliest date that the report shows, or ``made``.
    var earliest: WallDate {
        var earliest = made
        for presence in presences {
            for date in [presence.since, presence.lastHeard, presence.notKnownSince] {
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

    /// Reads event files and finds who is here. Of `options`, the range does not count.
    ///
    /// - Parameters:
    ///   - options: places, condition, beacon and names.
    ///   - now: what the wall clock of the machine that asks says.
    /// - Returns: the report, and what the operator should know besides.
    /// - Throws: ``ExitFailure`` where the files can't be read, or hold nothing that could be told.
    package static func read(
        _ options: VisitsOptions, now: WallDate
    ) throws(ExitFailure) -> (report: PresentReport, remarks: [String]) {
        var options = options
        (options.from, options.to, options.made) = (nil, nil, now)
        do {
            // Stays of several gateways that touch are one: whoever is here may have come to another one.
            var merged: [VisitsBook.Stay] = []
            let found = try StayReader(options).read { stay in if stay.end == .open { merged.append(stay) } }
            let finder = PresenceFinder(found.books, now: now)
            let report = PresentReport(
                made: now, gateways: finder.gateways,
                presences: finder.presences(of: merged, goingOn: found.goingOn, options.directory))
            return (report, found.remarks)
        } catch {
            throw ExitFailure(any: error)
        }
    }
}
