import BeaconMonitoring
import EventLog

/// The counts of lines, and the state of the gateway in the newest ones, for metrics. No report contains them.
struct LineCounts: Sendable {
    /// A condition, or the beacons of a condition. Their events and visits are counted separately.
    struct Subject: Hashable, Sendable {
        var identifier: String
        var isBeacon: Bool
    }

    /// A key of the event counts: a subject and its new state.
    struct EventKind: Hashable, Sendable {
        var subject: Subject
        var state: BeaconMonitor.Event.State
    }

    // The maximum number of different identifiers. A gateway has far fewer. Further ones are counted together, under an
    // empty identifier.
    static let identifiersMax = 1000

    /// The name of the gateway that wrote the newest line.
    private(set) var gateway = ""
    /// The version of the program and the time of its start, from the last `gateway` line that has them.
    private(set) var program: String?
    private(set) var started: WallDate?
    /// The number of lines by type. Unknown types are counted as `other`.
    private(set) var lines: [String: Int] = [:]
    private(set) var events: [EventKind: Int] = [:]
    private(set) var visits: [Subject: Int] = [:]
    /// The identifiers of the monitored conditions.
    private(set) var conditions: Set<String> = []
    /// The conditions without a determined state, since they were added or since no adapter scanned.
    private(set) var undecided: Set<String> = []
    /// The latest date of a line.
    private(set) var lastDate: WallDate?
    /// The highest sequence number.
    private(set) var sequence = 0
    private var identifiers: Set<String> = []

    /// Counts a line.
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
        // The line that added the condition can be deleted already.
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

extension LineCounts: ByteCoded {
    static var blank: LineCounts { LineCounts() }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&gateway)
        try coder.code(&program)
        try coder.code(&started)
        try coder.code(&lines)
        try coder.code(&events)
        try coder.code(&visits)
        try coder.code(&conditions)
        try coder.code(&undecided)
        try coder.code(&lastDate)
        try coder.code(&sequence)
        try coder.code(&identifiers)
        guard identifiers.count <= Self.identifiersMax else { throw ByteCoder.Damage() }
    }
}

extension LineCounts.Subject: ByteCoded {
    static var blank: LineCounts.Subject { LineCounts.Subject(identifier: "", isBeacon: false) }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&identifier)
        try coder.code(&isBeacon)
    }
}

extension LineCounts.EventKind: ByteCoded {
    static var blank: LineCounts.EventKind { LineCounts.EventKind(subject: .blank, state: .unknown) }

    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&subject)
        try coder.code(&state)
    }
}
