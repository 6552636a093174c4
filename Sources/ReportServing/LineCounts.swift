import BeaconMonitoring
import EventLog

/// How many lines said what, and what the newest of them says of the gateway: for metrics, of which none is a report.
struct LineCounts: Sendable {
    /// A condition, and whether its beacons are meant or it itself.
    struct Subject: Hashable, Sendable {
        var identifier: String
        var isBeacon: Bool
    }

    /// Of which events there is a count of their own.
    struct EventKind: Hashable, Sendable {
        var subject: Subject
        var state: BeaconMonitor.Event.State
    }

    // A gateway has some; what names more is counted under no name.
    static let identifiersMax = 1000

    /// Who wrote the newest line.
    private(set) var gateway = ""
    /// The version of the program, and when it was started, as the last `gateway` line that tells it says.
    private(set) var program: String?
    private(set) var started: WallDate?
    /// Lines by their type; what is of none that is known is `other`.
    private(set) var lines: [String: Int] = [:]
    private(set) var events: [EventKind: Int] = [:]
    private(set) var visits: [Subject: Int] = [:]
    /// The conditions that are monitored.
    private(set) var conditions: Set<String> = []
    /// Those of which nothing has been decided: since they were added, or since nobody listened.
    private(set) var undecided: Set<String> = []
    /// The date of the newest line.
    private(set) var lastDate: WallDate?
    /// The last number.
    private(set) var sequence = 0
    private var identifiers: Set<String> = []

    /// Takes in a line.
    mutating func note(_ head: LineParser.Head, _ line: LogLine?) {
        lines[head.kind.map { "\($0)" } ?? "other", default: 0] += 1
        if let number = head.sequence { sequence = max(sequence, number) }
        let date = line?.date ?? head.date
        lastDate = max(lastDate ?? date, date)
        guard let line else { return }
        if line.gateway != gateway { gateway = line.gateway }
        switch line.entry {
        case .event(let event): note(event)
        case .visit(let visit): visits[subject(visit.identifier, visit.scope == .beacon), default: 0] += 1
        case .condition(let change): note(change)
        case .gateway(let change):
            if case .started(let program, _, _) = change.kind { (self.program, started) = (program, line.date) }
        case .adapter, .clock, .evidence, .erased: break
        }
    }

    private mutating func subject(_ identifier: String, _ isBeacon: Bool) -> Subject {
        guard identifiers.contains(identifier) || identifiers.count < Self.identifiersMax else {
            return Subject(identifier: "", isBeacon: isBeacon)
        }
        identifiers.insert(identifier)
        return Subject(identifier: identifier, isBeacon: isBeacon)
    }

    private mutating func note(_ event: BeaconMonitor.Event) {
        let subject = subject(event.identifier, event.scope == .beacon)
        events[EventKind(subject: subject, state: event.state), default: 0] += 1
        guard !subject.identifier.isEmpty, event.state != .unmonitored else { return }
        // The lines that added it may be deleted by now.
        conditions.insert(event.identifier)
        guard event.scope == .condition else { return }
        if event.state == .unknown { undecided.insert(event.identifier) } else { undecided.remove(event.identifier) }
    }

    private mutating func note(_ change: ConditionChange) {
        let subject = subject(change.identifier, false)
        guard !subject.identifier.isEmpty, change.kind != .changed else { return }
        if change.kind == .removed {
            conditions.remove(change.identifier)
            undecided.remove(change.identifier)
            return
        }
        conditions.insert(change.identifier)
        if let assumed = change.assumed, assumed != .unknown {
            undecided.remove(change.identifier)
        } else {
            undecided.insert(change.identifier)
        }
    }
}

extension LineCounts: Kept {
    static var blank: LineCounts { LineCounts() }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&gateway)
        try octets.pass(&program)
        try octets.pass(&started)
        try octets.pass(&lines)
        try octets.pass(&events)
        try octets.pass(&visits)
        try octets.pass(&conditions)
        try octets.pass(&undecided)
        try octets.pass(&lastDate)
        try octets.pass(&sequence)
        try octets.pass(&identifiers)
        guard identifiers.count <= Self.identifiersMax else { throw KeptOctets.Damage() }
    }
}

extension LineCounts.Subject: Kept {
    static var blank: LineCounts.Subject { LineCounts.Subject(identifier: "", isBeacon: false) }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&identifier)
        try octets.pass(&isBeacon)
    }
}

extension LineCounts.EventKind: Kept {
    static var blank: LineCounts.EventKind { LineCounts.EventKind(subject: .blank, state: .unknown) }

    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&subject)
        try octets.pass(&state)
    }
}
