package import BeaconMonitoring
import EventLog
import JSON
import OperatorLogging

/// The books of all gateways whose lines are read, each by its name.
struct VisitsBooks: Sendable {
    // A site has some; what names more is damaged, and told as the last one's.
    private static let gatewaysMax = 1000

    private var books: [VisitsBook] = []
    private var places: [String: Int] = [:]
    private var latest: (gateway: String, place: Int)?

    /// The names of the gateways that have told something, in the order in which they came.
    private(set) var gateways: [String] = []

    /// Takes in a line; what it ended goes to `stays`.
    mutating func note(_ line: LogLine, into stays: inout [VisitsBook.Stay]) {
        let place = place(of: line.gateway)
        books[place].note(line, into: &stays)
    }

    /// Takes in that a gateway was alive, and heard, when it wrote a line that tells of somebody who was not asked for.
    mutating func notePassing(_ line: LogLine) {
        let place = place(of: line.gateway)
        books[place].notePassing(line)
    }

    /// Takes in when a gateway with lines was alive, for a report made at `now`.
    ///
    /// - Returns: Whether it proves anything: a date more than ``PresentReport/livelyFor`` after `now` is of another clock.
    @discardableResult
    mutating func note(_ proof: LogReader.Proof, at now: WallDate?) -> Bool {
        if let now, .microseconds(proof.date.microseconds - now.microseconds) > PresentReport.livelyFor {
            return false
        }
        if let place = places[proof.gateway] { books[place].note(proof: proof.date) }
        return true
    }

    private mutating func place(of gateway: String) -> Int {
        if let latest, latest.gateway == gateway { return latest.place }
        let place: Int
        if let known = places[gateway] {
            place = known
        } else if books.count < Self.gatewaysMax {
            place = books.count
            places[gateway] = place
            books.append(VisitsBook(gateway: gateway))
            gateways.append(gateway)
        } else {
            place = books.count - 1
        }
        latest = (gateway, place)
        return place
    }

    /// Returns the stays that had not ended when each gateway was last known to be alive, for a report made at `now`.
    mutating func finish(at now: WallDate?) -> [VisitsBook.Stay] {
        var stays: [VisitsBook.Stay] = []
        for place in books.indices { stays += books[place].finish(at: now) }
        guard books.count > 1 else { return stays }
        stays.sort(by: VisitsBook.Stay.isBefore)
        return stays
    }

    /// When anything was first told; absent where nothing was.
    var first: WallDate? { books.compactMap(\.first).min() }
    /// When a gateway was last known to be alive; absent where none has told anything.
    var asOf: WallDate? { books.compactMap(\.asOf).max() }
    /// When each gateway that has a line was last known to be alive, for a report made at `now`.
    func proofs(at now: WallDate?) -> [GatewayProof] {
        zip(gateways, books).compactMap { name, book in
            book.asOf.map { date in
                let state: GatewayProof.State =
                    book.isAlive(at: now) ? .alive : book.isStopped ? .stopped : .lastKnown
                return GatewayProof(gateway: name, date: date, state: state)
            }
        }
    }
    /// The book of a gateway; `nil` where it has told nothing.
    func book(of gateway: String) -> VisitsBook? { places[gateway].map { books[$0] } }
    /// Stretches in which an adapter, or a gateway as a whole, heard nothing, in the order in which they ended.
    var silences: [HearingBook.Silence] {
        books.count == 1 ? books[0].hearing.silences : books.flatMap(\.hearing.silences).sorted { $0.from < $1.from }
    }
    /// How many of those were too many.
    var silencesLeftOut: Int { books.reduce(0) { $0 + $1.hearing.silencesLeftOut } }
}

/// When a gateway was last known to be alive.
package struct GatewayProof: Sendable, Hashable {
    /// The state of a gateway when a report is made.
    package enum State: Sendable, Hashable {
        /// The proof is at most ``PresentReport/livelyFor`` old.
        case alive
        /// Its last line says that it was stopped.
        case stopped
        /// Nothing is known since.
        case lastKnown
    }

    /// The name of the gateway.
    package let gateway: String
    /// The date of its newest proof.
    package let date: WallDate
    /// Its state when the report is made.
    package let state: State

    /// The proof as a sentence: `As of 2026-11-21 17:42:10: lobby is alive.`
    func sentence(_ time: VisitsTime) -> String {
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
        _ proofs: [GatewayProof], first: WallDate, _ time: VisitsTime, into buffer: inout LineBuffer
    ) {
        buffer.append("\nThe files start at \(time.text(first)).\n")
        for proof in proofs { buffer.append(PlainText.safe(proof.sentence(time)) + "\n") }
    }
}

extension VisitsBooks: Kept {
    static var blank: VisitsBooks { VisitsBooks() }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&books)
        try octets.pass(&gateways)
        guard books.count == gateways.count, Set(gateways).count == gateways.count else { throw KeptOctets.Damage() }
        places = Dictionary(zip(gateways, books.indices)) { $1 }
        latest = nil
    }
}
