import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLog

/// Puts together who was here when: lines of one gateway in, stays out.
struct VisitsBook: Sendable {
    /// Whose stays they are: a condition's own, or one beacon's under it.
    struct Subject: Hashable {
        var identifier: Identifier
        var beacon: BeaconIdentity?
    }

    /// What ended a stay.
    enum End: Hashable {
        case left, removed, replaced, displaced
        /// Nothing has: it goes on.
        case open
        /// The condition was added anew, without what was known before: nobody knows when it ended.
        case lost

        var word: String {
            switch self {
            case .left: "left"
            case .removed: "removed"
            case .replaced: "replaced"
            case .displaced: "displaced"
            case .open: "open"
            case .lost: "lost"
            }
        }
    }

    /// A time that somebody was here.
    struct Stay: Hashable {
        var subject: Subject
        var monitor: String
        /// Where it was; more than one where gateways heard it at once, or one after another.
        var gateways: [String]
        /// The number of the line that tells why it ended, or, where it goes on, that it began; absent where that is not
        /// known.
        var sequence: Int?
        /// Absent where the entry was assumed, or its line has been deleted.
        var arrival: WallDate?
        /// The last sighting; absent where it goes on, and where there was none.
        var departure: WallDate?
        /// When its end was established, or up to when it is known to go on.
        var until: WallDate
        var sightings: Int?
        var strength: Visit.Strength?
        var end: End
        /// What was asked for, where the stay goes past it: its duration counts what lies between the two.
        var clippedFrom: WallDate?
        var clippedTo: WallDate?
        /// Of one that goes on: the last sighting that a line tells of.
        var lastHeard: WallDate?
        /// For an open stay, the time since which it is not known to continue: its gateway lost sight of the subject, none of
        /// the gateway's adapters listens, or the gateway was last known to be alive then. Absent if it is known to continue.
        var notKnownSince: WallDate?

        /// By arrival, then by subject.
        static func isBefore(_ left: Stay, _ right: Stay) -> Bool {
            let (date, other) = (left.arrival ?? left.until, right.arrival ?? right.until)
            return date == other ? left.subject < right.subject : date < other
        }
    }

    private struct Open: Kept {
        /// What a leaving event said.
        struct Leaving: Kept {
            var date: WallDate
            var lastSeen: WallDate?
            var sequence: Int?

            static var blank: Leaving { Leaving(date: .blank) }
            mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
                try octets.pass(&date)
                try octets.pass(&lastSeen)
                try octets.pass(&sequence)
            }
        }

        var monitor: String
        var arrival: WallDate?
        /// The number of the line that it began with.
        var sequence: Int?
        /// Since when nobody knows whether it goes on.
        var lostSight: WallDate?
        /// The last sighting that a line tells of.
        var lastHeard: WallDate?
        /// What the leaving event said, where its visit has not come.
        var left: Leaving?

        static var blank: Open { Open(monitor: "") }
        mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
            try octets.pass(&monitor)
            try octets.pass(&arrival)
            try octets.pass(&sequence)
            try octets.pass(&lostSight)
            try octets.pass(&lastHeard)
            try octets.pass(&left)
        }
    }

    private var open: [Subject: Open] = [:]
    /// When it heard.
    private(set) var hearing: HearingBook
    /// How long each condition waits in silence before it ends.
    private(set) var exitTimeouts: [Identifier: Duration] = [:]
    /// Whether the last that the gateway said of itself is that it was stopped.
    private(set) var isStopped = false
    private var boot: String?
    /// Between two runs: until its `gateway` line comes, nothing says when the one before ended.
    private var restart: HearingBook.Silence?
    private let gateway: String
    /// The dates of the first line and of the last.
    private(set) var first: WallDate?
    private(set) var last: WallDate?
    /// The newest proof that the gateway was alive beside its lines.
    private var proof: WallDate?

    /// When the gateway was last known to be alive; absent where it has told nothing.
    var asOf: WallDate? { last.map { max($0, proof ?? $0) } }

    /// Whether the gateway is alive at `now`: not stopped, and the newest proof is at most ``PresentReport/livelyFor`` from
    /// `now`. A proof that lies farther in the future is of another clock and proves nothing. Without a time, it is not.
    func isAlive(at now: WallDate?) -> Bool {
        guard let now, let asOf, !isStopped else { return false }
        let age = Duration.microseconds(now.microseconds - asOf.microseconds)
        return age <= PresentReport.livelyFor && .zero - age <= PresentReport.livelyFor
    }

    /// Of a gateway that has told nothing yet.
    init(gateway: String) {
        self.gateway = gateway
        hearing = HearingBook(of: gateway)
    }

    /// The gateway was alive at `date`, whatever its lines say.
    mutating func note(proof date: WallDate) { proof = max(proof ?? date, date) }

    /// Takes in a line; what it ended goes to `stays`.
    mutating func note(_ line: LogLine, into stays: inout [Stay]) {
        notePassing(line)
        switch line.entry {
        case .event(let event): note(event, line, into: &stays)
        case .visit(let visit): note(visit, line, into: &stays)
        case .condition(let change): note(change, line, into: &stays)
        case .adapter(let change): hearing.note(change, line)
        case .gateway(let change): note(change, line)
        case .clock, .evidence, .erased: break
        }
    }

    /// Takes in when a line was written, in which run, and that somebody was heard, whoever that was.
    mutating func notePassing(_ line: LogLine) {
        noteDate(of: line)
        // A year has ten million lines, of which nearly none can change what is known of hearing.
        guard !hearing.hearsBeacons || hearing.deafSince != nil else { return }
        switch line.entry {
        case .event(let event) where !event.condition.isCircle:
            let lastSeen = event.state == .satisfied ? event.lastSeen.map { line.date(of: $0) } : nil
            hearing.note(beaconsAt: line.date, isHeard: lastSeen != nil)
            if let lastSeen { hearing.note(heardAt: lastSeen) }
        case .condition(let change) where !change.condition.isCircle:
            hearing.note(beaconsAt: line.date, isHeard: false)
        case .event, .visit, .condition, .adapter, .clock, .gateway, .evidence, .erased: break
        }
    }

    private mutating func noteDate(of line: LogLine) {
        let date = line.date
        first = min(first ?? date, date)
        if let boot, boot != line.boot, let last, last < date {
            endRestart()
            restart = HearingBook.Silence(gateway: gateway, from: last, to: date, isVague: true)
        }
        if boot != line.boot {
            if boot != nil { hearing.begin(at: date) }
            isStopped = false
        }
        boot = line.boot
        last = max(last ?? date, date)
    }

    /// Returns the stays that had not ended when the gateway was last known to be alive, for a report made at `now`.
    mutating func finish(at now: WallDate?) -> [Stay] {
        endRestart()
        let last = asOf ?? WallDate(microseconds: 0)
        let (death, deafSince) = (isAlive(at: now) ? nil : last, hearing.deafSince)
        var stays: [Stay] = []
        stays.reserveCapacity(open.count)
        for (subject, entry) in open {
            if let left = entry.left {
                stays.append(stay(subject, entry, departure: left.lastSeen, until: left.date, .left))
            } else {
                let deaf = deafSince.map { max($0, entry.arrival ?? $0) }
                let unknown = [entry.lostSight, deaf, death].compactMap(\.self).min()
                var stay = stay(subject, entry, departure: nil, until: unknown ?? last, .open)
                stay.notKnownSince = unknown
                stays.append(stay)
            }
        }
        hearing.finish()
        open = [:]
        stays.sort(by: Stay.isBefore)
        return stays
    }

    private func stay(
        _ subject: Subject, _ entry: Open, departure: WallDate?, until: WallDate, _ end: End
    ) -> Stay {
        Stay(
            subject: subject, monitor: entry.monitor, gateways: [gateway],
            sequence: entry.left?.sequence ?? entry.sequence,
            arrival: entry.arrival, departure: departure, until: until, sightings: nil, strength: nil, end: end,
            lastHeard: entry.lastHeard)
    }

    private mutating func note(_ change: GatewayChange, _ line: LogLine) {
        if case .stopped = change.kind {
            isStopped = true
        } else {
            isStopped = false
            hearing.start(at: line.date)
        }
        guard var stretch = restart, case .started(_, _, let until?) = change.kind else { return }
        stretch.from = max(stretch.from, min(until.date(on: line), line.date))
        stretch.isVague = false
        restart = stretch
        endRestart()
    }

    private mutating func endRestart() {
        if let restart { hearing.note(notRunning: restart) }
        restart = nil
    }

    private mutating func note(_ event: BeaconMonitor.Event, _ line: LogLine, into stays: inout [Stay]) {
        let subject = Subject(
            identifier: Identifier(lookup: event.identifier),
            beacon: event.scope == .beacon ? event.refinement : nil)
        let known = open[subject]
        if let known, let left = known.left {
            // Its visit never came: what the event said has to do.
            stays.append(stay(subject, known, departure: left.lastSeen, until: left.date, .left))
            open[subject] = nil
        }
        switch event.state {
        case .satisfied:
            if open[subject] == nil {
                open[subject] = Open(monitor: event.monitor, arrival: line.date, sequence: line.sequence)
            }
            open[subject]?.lostSight = nil
            open[subject]?.lastHeard = event.lastSeen.map { line.date(of: $0) }
        case .unsatisfied:
            open[subject]?.left = Open.Leaving(
                date: line.date, lastSeen: event.lastSeen.map { line.date(of: $0) }, sequence: line.sequence)
        case .unmonitored: open[subject] = nil
        case .unknown:
            let date = event.lastSeen.map { line.date(of: $0) } ?? line.date
            if let arrival = open[subject]?.arrival {
                open[subject]?.lostSight = max(arrival, date)
            } else {
                open[subject]?.lostSight = date
            }
            if event.lastSeen != nil { open[subject]?.lastHeard = date }
        }
    }

    private mutating func note(_ visit: Visit, _ line: LogLine, into stays: inout [Stay]) {
        let subject = Subject(
            identifier: Identifier(lookup: visit.identifier),
            beacon: visit.scope == .beacon ? visit.refinement : nil)
        // The entering event was dated in its own time, which may be another timeline than the visit's.
        let known = open.removeValue(forKey: subject)
        let entered = known?.arrival
        let end: End =
            switch visit.reason {
            case .exitTimeout, .left: .left
            case .removed: .removed
            case .replaced: .replaced
            case .displaced: .displaced
            }
        stays.append(
            Stay(
                subject: subject, monitor: visit.monitor, gateways: [gateway],
                sequence: known?.left?.sequence ?? line.sequence,
                arrival: entered ?? visit.arrival.map { line.date(of: $0) },
                departure: visit.departure.map { line.date(of: $0) }, until: line.date, sightings: visit.sightings,
                strength: visit.strength, end: end))
    }

    private mutating func note(_ change: ConditionChange, _ line: LogLine, into stays: inout [Stay]) {
        exitTimeouts[Identifier(lookup: change.identifier)] =
            change.kind == .removed ? nil : change.settings.exitTimeout
        guard change.kind != .changed else { return }
        let identifier = Identifier(lookup: change.identifier)
        // Visits were ended before; what is open still was forgotten by a gateway that lost its state.
        let forgotten = open.filter { $0.key.identifier == identifier }.sorted { $0.key < $1.key }
        for (subject, entry) in forgotten {
            stays.append(
                stay(
                    subject, entry, departure: entry.left?.lastSeen,
                    until: entry.left?.date ?? entry.lostSight ?? line.date,
                    entry.left == nil ? .lost : .left))
            open[subject] = nil
        }
        if change.kind != .removed, change.assumed == .satisfied {
            open[Subject(identifier: identifier, beacon: nil)] = Open(
                monitor: change.monitor, arrival: nil, sequence: line.sequence)
        }
    }
}

extension VisitsBook: Kept {
    static var blank: VisitsBook { VisitsBook(gateway: "") }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        var name = gateway
        try octets.pass(&name)
        if name != gateway { self = VisitsBook(gateway: name) }
        try octets.pass(&open)
        try octets.pass(&hearing)
        try octets.pass(&exitTimeouts)
        try octets.pass(&isStopped)
        try octets.pass(&boot)
        try octets.pass(&restart)
        try octets.pass(&first)
        try octets.pass(&last)
        try octets.pass(&proof)
    }
}

extension VisitsBook.Subject: Kept {
    static var blank: VisitsBook.Subject { VisitsBook.Subject(identifier: .blank) }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&identifier)
        try octets.pass(&beacon)
    }
}

extension VisitsBook.Subject: Comparable {
    /// By identifier, a condition's own before its beacons'.
    static func < (left: VisitsBook.Subject, right: VisitsBook.Subject) -> Bool {
        guard left.identifier == right.identifier else { return left.identifier < right.identifier }
        guard let beacon = left.beacon else { return right.beacon != nil }
        guard let other = right.beacon else { return false }
        return beacon < other
    }
}

extension Instant {
    /// The date of what a line says of a time before it; what is not on the line's own timeline is dated as it was printed.
    func date(on line: LogLine) -> WallDate {
        (0...max(0, line.time.nanoseconds)).contains(nanoseconds)
            ? line.date(of: self) : WallDate(self, offset: line.printedOffset)
    }
}

// What lies between the dates that were asked for.
extension VisitsBook.Stay {
    /// Whether the subject is known to be present when the report is made.
    var isPresent: Bool { end == .open && notKnownSince == nil }
    /// When it was last known to be going on, wherever that lies.
    var lastKnown: WallDate { end == .open ? until : departure ?? until }

    /// From arrival to departure, or as long as it is known to have gone on, in microseconds; of a clipped stay what lies
    /// inside. Absent where nobody knows when it began, or was last heard.
    var duration: Int64? {
        guard let arrival, let last = end == .open ? until : departure else { return nil }
        let from = max(arrival, clippedFrom ?? arrival)
        let to = min(last, clippedTo ?? last)
        return max(0, to.microseconds - from.microseconds)
    }

    /// Whether it began before what was asked for.
    var beganBefore: Bool { clippedFrom != nil }
    /// Whether it went on past the end of what was asked for.
    var goesOn: Bool { clippedTo != nil }

    /// The part of it that lies between two dates, of which either may be absent; `nil` where none does.
    func clipped(from: WallDate?, to: WallDate?) -> VisitsBook.Stay? {
        let last = lastKnown
        // What was over, or not known any more, before that has no part in it; a present subject is there until the report.
        if let from, !isPresent, last < from || end == .open && last == from { return nil }
        if let to, arrival ?? last >= to { return nil }
        var stay = self
        if let from, let arrival, arrival < from { stay.clippedFrom = from }
        if let to, last > to { stay.clippedTo = to }
        return stay
    }
}

extension HearingBook.Silence {
    /// The part of it that lies between two dates, of which either may be absent; `nil` where none does.
    func clipped(from: WallDate?, to: WallDate?) -> HearingBook.Silence? {
        if let from, let end = self.to, end <= from { return nil }
        if let to, self.from >= to { return nil }
        var silence = self
        if let from, self.from < from { silence.from = from }
        if let to, self.to.map({ $0 > to }) ?? true { silence.to = to }
        return silence
    }
}
