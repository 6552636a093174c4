import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLog

/// Computes visits from the lines of one gateway.
struct VisitTracker: Sendable {
    /// The subject of a visit: a condition, or one beacon under it.
    struct Subject: Hashable {
        var identifier: Identifier
        var beacon: BeaconIdentity?
    }

    /// The end of a visit.
    enum End: Hashable {
        case left, removed, replaced, displaced
        /// The visit has not ended.
        case open
        /// The condition was added again without its previous state, so the time of the end is not known.
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

    /// A period in which a subject was present.
    struct SubjectVisit: Hashable {
        var subject: Subject
        var monitor: String
        /// The gateways of the visit. There are several if gateways held the subject at once or one after another.
        var gateways: [String]
        /// The sequence number of the line with the reason of the end or, for an open or lost visit, of the line with
        /// the start; `nil` if it is not known.
        var sequence: Int?
        /// `nil` if the entry was assumed, or its line was deleted.
        var arrival: WallDate?
        /// The last sighting; `nil` for an open or lost visit, or if there was none.
        var departure: WallDate?
        /// The time at which the end was established or, for an open visit, the last time at which it was known to
        /// continue.
        var until: WallDate
        var sightings: Int?
        var strength: Visit.Strength?
        var end: End
        /// The requested range, if the visit extends beyond it. The duration then only has the part inside the range.
        var clippedFrom: WallDate?
        var clippedTo: WallDate?
        /// For an open visit, the last sighting in a line.
        var lastSighting: WallDate?
        /// For an open visit, the time since which it is not known to continue; `nil` if it is known to continue. Its
        /// gateway lost sight of the subject, none of the gateway's adapters scans, or the gateway was last known to be
        /// alive then.
        var notKnownSince: WallDate?

        /// Orders by arrival, then by subject.
        static func isBefore(_ left: SubjectVisit, _ right: SubjectVisit) -> Bool {
            let (date, other) = (left.arrival ?? left.until, right.arrival ?? right.until)
            return date == other ? left.subject < right.subject : date < other
        }
    }

    private struct Open: ByteCoded {
        /// The content of an exit event.
        struct ExitContent: ByteCoded {
            var date: WallDate
            var lastSeen: WallDate?
            var sequence: Int?

            static var blank: ExitContent { ExitContent(date: .blank) }
            mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
                try coder.code(&date)
                try coder.code(&lastSeen)
                try coder.code(&sequence)
            }
        }

        var monitor: String
        var arrival: WallDate?
        /// The sequence number of the line with which it started.
        var sequence: Int?
        /// The time since which it is not known whether the visit continues.
        var lostSight: WallDate?
        /// The last sighting in a line.
        var lastSighting: WallDate?
        /// The content of the exit event, until the `visit` line comes.
        var left: ExitContent?

        static var blank: Open { Open(monitor: "") }
        mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
            try coder.code(&monitor)
            try coder.code(&arrival)
            try coder.code(&sequence)
            try coder.code(&lostSight)
            try coder.code(&lastSighting)
            try coder.code(&left)
        }
    }

    private var open: [Subject: Open] = [:]
    /// The periods in which the gateway scanned.
    private(set) var scanning: ScanningPeriods
    /// The exit timeout of each condition: the silence after which a visit ends.
    private(set) var exitTimeouts: [Identifier: Duration] = [:]
    /// Whether the last line of the gateway about itself reports that it was stopped.
    private(set) var isStopped = false
    private var boot: String?
    /// The period between two runs, until the `gateway` line of the second one comes. Only this line has the end of the
    /// first run.
    private var restart: ScanningPeriods.Silence?
    private let gateway: String
    /// The dates of the first line and of the last.
    private(set) var first: WallDate?
    private(set) var last: WallDate?
    /// The newest time at which the gateway was alive, from another source than its lines.
    private var proof: WallDate?

    /// The time at which the gateway was last known to be alive; `nil` if it has no lines.
    var asOf: WallDate? { last.map { max($0, proof ?? $0) } }

    /// Returns whether the gateway is alive at `now`: it was not stopped, and the newest proof is at most
    /// ``PresentReport/livelyFor`` from `now`. A proof that is further in the future is from another clock and proves
    /// nothing. If `now` is `nil`, the result is `false`.
    func isAlive(at now: WallDate?) -> Bool {
        guard let now, let asOf, !isStopped else { return false }
        let age = Duration.microseconds(now.microseconds - asOf.microseconds)
        return age <= PresentReport.livelyFor && .zero - age <= PresentReport.livelyFor
    }

    /// Creates a value for a gateway that has no lines yet.
    init(gateway: String) {
        self.gateway = gateway
        scanning = ScanningPeriods(of: gateway)
    }

    /// Adds a proof that the gateway was alive at `date`, whatever its lines contain.
    mutating func note(proof date: WallDate) { proof = max(proof ?? date, date) }

    /// Adds a line, and appends the visits that it ended to `visits`.
    mutating func note(_ line: LogLine, into visits: inout [SubjectVisit]) {
        notePassing(line)
        switch line.entry {
        case .event(let event): note(event, line, into: &visits)
        case .visit(let visit): note(visit, line, into: &visits)
        case .condition(let change): note(change, line, into: &visits)
        case .adapter(let change): scanning.note(change, line)
        case .gateway(let change): note(change, line)
        case .clock, .evidence, .erased: break
        }
    }

    /// Adds only the date and the run of a line, and whether a beacon was received, whichever it was.
    mutating func notePassing(_ line: LogLine) {
        noteDate(of: line)
        // A year has ten million lines. Almost none of them can change the periods of scanning.
        guard !scanning.receivesBeacons || scanning.deafSince != nil else { return }
        switch line.entry {
        case .event(let event) where !event.condition.isCircle:
            let lastSeen = event.state == .satisfied ? event.lastSeen.map { line.date(of: $0) } : nil
            scanning.note(beaconsAt: line.date, areReceived: lastSeen != nil)
            if let lastSeen { scanning.note(receivedAt: lastSeen) }
        case .condition(let change) where !change.condition.isCircle:
            scanning.note(beaconsAt: line.date, areReceived: false)
        case .event, .visit, .condition, .adapter, .clock, .gateway, .evidence, .erased: break
        }
    }

    private mutating func noteDate(of line: LogLine) {
        let date = line.date
        first = min(first ?? date, date)
        if let boot, boot != line.boot, let last, last < date {
            endRestart()
            restart = ScanningPeriods.Silence(gateway: gateway, from: last, to: date, isVague: true)
        }
        if boot != line.boot {
            if boot != nil { scanning.begin(at: date) }
            isStopped = false
        }
        boot = line.boot
        last = max(last ?? date, date)
    }

    /// Returns the visits that had not ended when the gateway was last known to be alive, for a report made at `now`.
    mutating func finish(at now: WallDate?) -> [SubjectVisit] {
        endRestart()
        let last = asOf ?? WallDate(microseconds: 0)
        let (death, deafSince) = (isAlive(at: now) ? nil : last, scanning.deafSince)
        var visits: [SubjectVisit] = []
        visits.reserveCapacity(open.count)
        for (subject, entry) in open {
            if let left = entry.left {
                visits.append(subjectVisit(subject, entry, departure: left.lastSeen, until: left.date, .left))
            } else {
                let deaf = deafSince.map { max($0, entry.arrival ?? $0) }
                let unknown = [entry.lostSight, deaf, death].compactMap(\.self).min()
                var subjectVisit = subjectVisit(subject, entry, departure: nil, until: unknown ?? last, .open)
                subjectVisit.notKnownSince = unknown
                visits.append(subjectVisit)
            }
        }
        scanning.finish()
        open = [:]
        visits.sort(by: SubjectVisit.isBefore)
        return visits
    }

    private func subjectVisit(
        _ subject: Subject, _ entry: Open, departure: WallDate?, until: WallDate, _ end: End
    ) -> SubjectVisit {
        SubjectVisit(
            subject: subject, monitor: entry.monitor, gateways: [gateway],
            sequence: entry.left?.sequence ?? entry.sequence,
            arrival: entry.arrival, departure: departure, until: until, sightings: nil, strength: nil, end: end,
            lastSighting: entry.lastSighting)
    }

    private mutating func note(_ change: GatewayChange, _ line: LogLine) {
        if case .stopped = change.kind {
            isStopped = true
        } else {
            isStopped = false
            scanning.start(at: line.date)
        }
        guard var stretch = restart, case .started(_, _, let until?) = change.kind else { return }
        stretch.from = max(stretch.from, min(until.date(on: line), line.date))
        stretch.isVague = false
        restart = stretch
        endRestart()
    }

    private mutating func endRestart() {
        if let restart { scanning.note(notRunning: restart) }
        restart = nil
    }

    private mutating func note(_ event: BeaconMonitor.Event, _ line: LogLine, into visits: inout [SubjectVisit]) {
        let subject = Subject(
            identifier: Identifier(lookup: event.identifier),
            beacon: event.scope == .beacon ? event.refinement : nil)
        let known = open[subject]
        if let known, let left = known.left {
            // The `visit` line never came, so the content of the event must be used.
            visits.append(subjectVisit(subject, known, departure: left.lastSeen, until: left.date, .left))
            open[subject] = nil
        }
        switch event.state {
        case .satisfied:
            if open[subject] == nil {
                open[subject] = Open(monitor: event.monitor, arrival: line.date, sequence: line.sequence)
            }
            open[subject]?.lostSight = nil
            open[subject]?.lastSighting = event.lastSeen.map { line.date(of: $0) }
        case .unsatisfied:
            open[subject]?.left = Open.ExitContent(
                date: line.date, lastSeen: event.lastSeen.map { line.date(of: $0) }, sequence: line.sequence)
        case .unmonitored: open[subject] = nil
        case .unknown:
            let date = event.lastSeen.map { line.date(of: $0) } ?? line.date
            if let arrival = open[subject]?.arrival {
                open[subject]?.lostSight = max(arrival, date)
            } else {
                open[subject]?.lostSight = date
            }
            if event.lastSeen != nil { open[subject]?.lastSighting = date }
        }
    }

    private mutating func note(_ visit: Visit, _ line: LogLine, into visits: inout [SubjectVisit]) {
        let subject = Subject(
            identifier: Identifier(lookup: visit.identifier),
            beacon: visit.scope == .beacon ? visit.refinement : nil)
        // The date of the entry event is used if it is known, because the event has its own timeline. This can be
        // another one than that of the visit.
        let known = open.removeValue(forKey: subject)
        let entered = known?.arrival
        let end: End =
            switch visit.reason {
            case .exitTimeout, .left: .left
            case .removed: .removed
            case .replaced: .replaced
            case .displaced: .displaced
            }
        visits.append(
            SubjectVisit(
                subject: subject, monitor: visit.monitor, gateways: [gateway],
                sequence: known?.left?.sequence ?? line.sequence,
                arrival: entered ?? visit.arrival.map { line.date(of: $0) },
                departure: visit.departure.map { line.date(of: $0) }, until: line.date, sightings: visit.sightings,
                strength: visit.strength, end: end))
    }

    private mutating func note(_ change: ConditionChange, _ line: LogLine, into visits: inout [SubjectVisit]) {
        exitTimeouts[Identifier(lookup: change.identifier)] =
            change.kind == .removed ? nil : change.settings.exitTimeout
        guard change.kind != .changed else { return }
        let identifier = Identifier(lookup: change.identifier)
        // If the gateway still had the visits of the condition, it has ended them with `visit` lines before. Visits
        // that are still open are those that it forgot when it lost its state.
        let forgotten = open.filter { $0.key.identifier == identifier }.sorted { $0.key < $1.key }
        for (subject, entry) in forgotten {
            visits.append(
                subjectVisit(
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

extension VisitTracker: ByteCoded {
    static var blank: VisitTracker { VisitTracker(gateway: "") }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        var name = gateway
        try coder.code(&name)
        if name != gateway { self = VisitTracker(gateway: name) }
        try coder.code(&open)
        try coder.code(&scanning)
        try coder.code(&exitTimeouts)
        try coder.code(&isStopped)
        try coder.code(&boot)
        try coder.code(&restart)
        try coder.code(&first)
        try coder.code(&last)
        try coder.code(&proof)
    }
}

extension VisitTracker.Subject: ByteCoded {
    static var blank: VisitTracker.Subject { VisitTracker.Subject(identifier: .blank) }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&identifier)
        try coder.code(&beacon)
    }
}

extension VisitTracker.Subject: Comparable {
    /// Orders by identifier, then the condition itself before its beacons.
    static func < (left: VisitTracker.Subject, right: VisitTracker.Subject) -> Bool {
        guard left.identifier == right.identifier else { return left.identifier < right.identifier }
        guard let beacon = left.beacon else { return right.beacon != nil }
        guard let other = right.beacon else { return false }
        return beacon < other
    }
}

extension Instant {
    /// Returns the date of a time before the line that contains it. A time that is not on the line's timeline keeps the
    /// printed date.
    func date(on line: LogLine) -> WallDate {
        (0...max(0, line.time.nanoseconds)).contains(nanoseconds)
            ? line.date(of: self) : WallDate(self, offset: line.printedOffset)
    }
}

// The part within the requested range.
extension VisitTracker.SubjectVisit {
    /// Whether the subject is known to be present when the report is made.
    var isPresent: Bool { end == .open && notKnownSince == nil }
    /// The last time at which the visit was known to continue, also outside the requested range.
    var lastKnown: WallDate { end == .open ? until : departure ?? until }

    /// The time from arrival to departure, or while an open visit was known to continue, in microseconds. A clipped
    /// visit only has the part inside the range. `nil` if the start, or the last sighting of an ended visit, is not
    /// known.
    var duration: Int64? {
        guard let arrival, let last = end == .open ? until : departure else { return nil }
        let from = max(arrival, clippedFrom ?? arrival)
        let to = min(last, clippedTo ?? last)
        return max(0, to.microseconds - from.microseconds)
    }

    /// Whether it started before the requested range.
    var beganBefore: Bool { clippedFrom != nil }
    /// Whether it continued after the requested range.
    var goesOn: Bool { clippedTo != nil }

    /// Returns the visit, clipped to the part between two dates; `nil` if no part is between them. A `nil` date is not
    /// a limit.
    func clipped(from: WallDate?, to: WallDate?) -> VisitTracker.SubjectVisit? {
        let last = lastKnown
        // A visit that had ended, or was not known to continue, before the range has no part in it. A subject that is
        // present is present until the report is made.
        if let from, !isPresent, last < from || end == .open && last == from { return nil }
        if let to, arrival ?? last >= to { return nil }
        var subjectVisit = self
        if let from, let arrival, arrival < from { subjectVisit.clippedFrom = from }
        if let to, last > to { subjectVisit.clippedTo = to }
        return subjectVisit
    }
}

extension ScanningPeriods.Silence {
    /// Returns the period, clipped to the part between two dates; `nil` if no part is between them. A `nil` date is not
    /// a limit.
    func clipped(from: WallDate?, to: WallDate?) -> ScanningPeriods.Silence? {
        if let from, let end = self.to, end <= from { return nil }
        if let to, self.from >= to { return nil }
        var silence = self
        if let from, self.from < from { silence.from = from }
        if let to, self.to.map({ $0 > to }) ?? true { silence.to = to }
        return silence
    }
}
