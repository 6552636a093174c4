import BeaconMonitoring
import BluetoothLE
import EventLog

/// Puts together who was here when: lines in, stays out.
struct VisitsBook {
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
        /// Absent where the entry was assumed, or its line has been deleted.
        var arrival: WallDate?
        /// The last sighting; absent where it goes on, and where there was none.
        var departure: WallDate?
        /// When its end was established, or up to when it is known to go on.
        var until: WallDate
        var sightings: Int?
        var strength: Visit.Strength?
        var end: End

        /// From arrival to departure, or as long as it is known to have gone on, in microseconds.
        var duration: Int64? {
            guard let arrival, let last = end == .open ? until : departure else { return nil }
            return max(0, last.microseconds - arrival.microseconds)
        }
    }

    /// A stretch in which an adapter, or the gateway as a whole, heard nothing.
    struct Silence: Hashable {
        /// Which adapter; absent where the gateway was not running.
        var adapter: String?
        var from: WallDate
        /// When it ended; absent where it goes on.
        var to: WallDate?
        var reason: String?
    }

    private struct Open {
        var monitor: String
        var arrival: WallDate?
        /// What the leaving event said, where its visit has not come.
        var left: (date: WallDate, lastSeen: WallDate?)?
    }

    // A year has some thousand outages; what flaps more often is a mistake that other lines tell.
    static let silencesMax = 20_000

    private var open: [Subject: Open] = [:]
    private var silent: [String: Silence] = [:]
    private(set) var silences: [Silence] = []
    /// How many silences came when there were ``silencesMax`` already.
    private(set) var silencesLeftOut = 0
    /// The adapters that ever listened.
    private(set) var adapters: Set<String> = []
    private var boot: String?
    /// The dates of the first line and of the last.
    private(set) var first: WallDate?
    private(set) var last: WallDate?

    /// Takes in a line; what it ended goes to `stays`.
    mutating func note(_ line: LogLine, into stays: inout [Stay]) {
        let date = line.date
        if first == nil { first = date }
        if let boot, boot != line.boot, let last, last < date { note(Silence(from: last, to: date)) }
        boot = line.boot
        last = max(last ?? date, date)
        switch line.entry {
        case .event(let event): note(event, line, into: &stays)
        case .visit(let visit): note(visit, line, into: &stays)
        case .condition(let change): note(change, line, into: &stays)
        case .adapter(let change): note(change, line)
        case .clock, .gateway, .evidence: break
        }
    }

    /// What goes on at the end of the lines, or at `end` where that is earlier.
    mutating func finish(at end: WallDate?) -> [Stay] {
        let last = min(end ?? WallDate(microseconds: .max), last ?? WallDate(microseconds: 0))
        var stays: [Stay] = []
        for (subject, entry) in open {
            if let left = entry.left {
                stays.append(stay(subject, entry, departure: left.lastSeen, until: left.date, .left))
            } else {
                stays.append(stay(subject, entry, departure: nil, until: last, .open))
            }
        }
        for (_, silence) in silent.sorted(by: { $0.key < $1.key }) { note(silence) }
        silent = [:]
        open = [:]
        return stays.sorted { ($0.arrival ?? $0.until, $0.subject) < ($1.arrival ?? $1.until, $1.subject) }
    }

    private func stay(
        _ subject: Subject, _ entry: Open, departure: WallDate?, until: WallDate, _ end: End
    ) -> Stay {
        Stay(
            subject: subject, monitor: entry.monitor, arrival: entry.arrival, departure: departure, until: until,
            sightings: nil, strength: nil, end: end)
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
            if open[subject] == nil { open[subject] = Open(monitor: event.monitor, arrival: line.date) }
        case .unsatisfied:
            open[subject]?.left = (line.date, event.lastSeen.map { line.date(of: $0) })
        case .unmonitored: open[subject] = nil
        case .unknown: break
        }
    }

    private mutating func note(_ visit: Visit, _ line: LogLine, into stays: inout [Stay]) {
        let subject = Subject(
            identifier: Identifier(lookup: visit.identifier),
            beacon: visit.scope == .beacon ? visit.refinement : nil)
        // The entering event was dated in its own time, which may be another timeline than the visit's.
        let entered = open.removeValue(forKey: subject)?.arrival
        let end: End =
            switch visit.reason {
            case .exitTimeout, .left: .left
            case .removed: .removed
            case .replaced: .replaced
            case .displaced: .displaced
            }
        stays.append(
            Stay(
                subject: subject, monitor: visit.monitor,
                arrival: entered ?? visit.arrival.map { line.date(of: $0) },
                departure: visit.departure.map { line.date(of: $0) }, until: line.date, sightings: visit.sightings,
                strength: visit.strength, end: end))
    }

    private mutating func note(_ change: ConditionChange, _ line: LogLine, into stays: inout [Stay]) {
        guard change.kind != .changed else { return }
        let identifier = Identifier(lookup: change.identifier)
        // Visits were ended before; what is open still was forgotten by a gateway that lost its state.
        let forgotten = open.filter { $0.key.identifier == identifier }.sorted { $0.key < $1.key }
        for (subject, entry) in forgotten {
            stays.append(
                stay(
                    subject, entry, departure: entry.left?.lastSeen, until: entry.left?.date ?? line.date,
                    entry.left == nil ? .lost : .left))
            open[subject] = nil
        }
        if change.kind != .removed, change.assumed == .satisfied {
            open[Subject(identifier: identifier, beacon: nil)] = Open(monitor: change.monitor, arrival: nil)
        }
    }

    private mutating func note(_ change: AdapterChange, _ line: LogLine) {
        if var silence = silent.removeValue(forKey: change.adapter) {
            silence.to = line.date
            note(silence)
        }
        switch change.state {
        case .listening: adapters.insert(change.adapter)
        case .gone: break
        case .deaf, .off:
            silent[change.adapter] = Silence(
                adapter: change.adapter, from: line.date(of: change.since), to: nil,
                reason: change.reason ?? (change.state == .deaf ? "deaf" : "off"))
        }
    }

    private mutating func note(_ silence: Silence) {
        if silences.count < Self.silencesMax { silences.append(silence) } else { silencesLeftOut += 1 }
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
