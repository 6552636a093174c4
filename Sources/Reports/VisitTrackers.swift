package import BeaconMonitoring
import CommandSupport
import EventLog
import JSON
import OperatorLogging

/// The state of all gateways with lines, by the names of the gateways: open visits and scanning periods.
struct VisitTrackers: Sendable {
    // A site has a few gateways. Damaged lines can contain more names; these lines count for the last gateway.
    private static let gatewaysMax = 1000

    private var trackers: [VisitTracker] = []
    private var places: [String: Int] = [:]
    private var latest: (gateway: String, place: Int)?

    /// The names of the gateways with lines, in the order of their first lines.
    private(set) var gateways: [String] = []

    /// Adds a line, and appends the visits that it ended to `visits`.
    mutating func note(_ line: LogLine, into visits: inout [VisitTracker.SubjectVisit]) {
        let place = place(of: line.gateway)
        trackers[place].note(line, into: &visits)
    }

    /// Adds a line about a subject that was not requested. It shows that the gateway was alive, and can show that it
    /// scanned.
    mutating func notePassing(_ line: LogLine) {
        let place = place(of: line.gateway)
        trackers[place].notePassing(line)
    }

    /// Adds a time at which a gateway with lines was alive, for a report made at `now`.
    ///
    /// - Returns: whether it proves anything. A date more than ``PresentReport/livelyFor`` after `now` is from another
    ///   clock.
    @discardableResult
    mutating func note(_ proof: LogReader.Proof, at now: WallDate?) -> Bool {
        if let now, .microseconds(proof.date.microseconds - now.microseconds) > PresentReport.livelyFor {
            return false
        }
        if let place = places[proof.gateway] { trackers[place].note(proof: proof.date) }
        return true
    }

    private mutating func place(of gateway: String) -> Int {
        if let latest, latest.gateway == gateway { return latest.place }
        let place: Int
        if let known = places[gateway] {
            place = known
        } else if trackers.count < Self.gatewaysMax {
            place = trackers.count
            places[gateway] = place
            trackers.append(VisitTracker(gateway: gateway))
            gateways.append(gateway)
        } else {
            place = trackers.count - 1
        }
        latest = (gateway, place)
        return place
    }

    /// Returns the visits that had not ended when each gateway was last known to be alive, for a report made at `now`.
    mutating func finish(at now: WallDate?) -> [VisitTracker.SubjectVisit] {
        var visits: [VisitTracker.SubjectVisit] = []
        for place in trackers.indices { visits += trackers[place].finish(at: now) }
        guard trackers.count > 1 else { return visits }
        visits.sort(by: VisitTracker.SubjectVisit.isBefore)
        return visits
    }

    /// The date of the first line; `nil` if there is none.
    var first: WallDate? { trackers.compactMap(\.first).min() }
    /// The last time at which a gateway was known to be alive; `nil` if there are no lines.
    var asOf: WallDate? { trackers.compactMap(\.asOf).max() }
    /// Returns when each gateway with a line was last known to be alive, for a report made at `now`.
    func proofs(at now: WallDate?) -> [GatewayProof] {
        zip(gateways, trackers).compactMap { name, tracker in
            tracker.asOf.map { date in
                let state: GatewayProof.State =
                    tracker.isAlive(at: now) ? .alive : tracker.isStopped ? .stopped : .lastKnown
                return GatewayProof(gateway: name, date: date, state: state)
            }
        }
    }
    /// Returns the tracker of a gateway; `nil` if it has no lines.
    func tracker(of gateway: String) -> VisitTracker? { places[gateway].map { trackers[$0] } }
    /// The periods in which an adapter, or a complete gateway, did not scan. Those of one gateway are in the order in
    /// which they ended, those of several gateways in the order in which they started.
    var silences: [ScanningPeriods.Silence] {
        trackers.count == 1
            ? trackers[0].scanning.silences : trackers.flatMap(\.scanning.silences).sorted { $0.from < $1.from }
    }
    /// The number of these periods that were omitted because there were too many.
    var silencesLeftOut: Int { trackers.reduce(0) { $0 + $1.scanning.silencesLeftOut } }
}

/// The time at which a gateway was last known to be alive.
package struct GatewayProof: Sendable, Hashable {
    /// The state of a gateway when a report is made.
    package enum State: Sendable, Hashable {
        /// The newest proof is within ``PresentReport/livelyFor`` of the report, and the gateway was not stopped.
        case alive
        /// The last line of the gateway about itself reports that it was stopped.
        case stopped
        /// Nothing is known about the time since the newest proof.
        case lastKnown
    }

    /// The name of the gateway.
    package let gateway: String
    /// The date of its newest proof.
    package let date: WallDate
    /// Its state when the report is made.
    package let state: State

    /// Returns the proof as a sentence: `As of 2026-11-21 17:42:10: lobby is alive.`
    func sentence(_ time: ZonedTime) -> String {
        let words =
            switch state {
            case .alive: "is alive"
            case .stopped: "was stopped at this time"
            case .lastKnown: "was last known to be alive at this time"
            }
        return "As of \(time.text(date)): \(gateway) \(words)."
    }

    /// Writes the proof as a JSON line.
    func writeLine(into buffer: inout LineBuffer) {
        VisitsWriter.line("asOf", into: &buffer) { buffer in
            buffer.write("gateway", gateway)
            buffer.write("date", date)
            buffer.write("alive", state == .alive)
            if state == .stopped { buffer.write("stopped", true) }
        }
    }

    /// Writes the first date of the files and the sentence of each proof below a table.
    static func writeSentences(
        _ proofs: [GatewayProof], first: WallDate, _ time: ZonedTime, into buffer: inout LineBuffer
    ) {
        buffer.append("\nThe files start at \(time.text(first)).\n")
        for proof in proofs { buffer.append(PlainText.safe(proof.sentence(time)) + "\n") }
    }
}

extension VisitTrackers: ByteCoded {
    static var blank: VisitTrackers { VisitTrackers() }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&trackers)
        try coder.code(&gateways)
        guard trackers.count == gateways.count, Set(gateways).count == gateways.count else { throw ByteCoder.Damage() }
        places = Dictionary(zip(gateways, trackers.indices)) { $1 }
        latest = nil
    }
}
