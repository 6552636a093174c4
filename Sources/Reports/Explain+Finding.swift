import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLog

extension Explain {
    /// A line, with what the lines before and after tell of it.
    struct Finding {
        var line: LogLine
        var settings: ConditionSettings?
        /// The last line of each adapter that the gateway had then.
        var adapters: [String: LogLine] = [:]
        var evidence: Evidence?
        /// The event of the same subject that came next.
        var next: LogLine?
        /// The line that follows in the same instant, where it tells why.
        var following: LogLine?

        /// What the line is about: a condition, or a beacon under it; absent of lines that tell of nobody.
        var subject: VisitsBook.Subject? {
            guard let identifier = line.identifier else { return nil }
            let beacon: BeaconIdentity? =
                switch line.entry {
                case .event(let event) where event.scope == .beacon: event.refinement
                case .visit(let visit) where visit.scope == .beacon: visit.refinement
                case .event, .visit, .condition, .adapter, .clock, .gateway, .evidence, .erased: nil
                }
            return VisitsBook.Subject(identifier: Identifier(lookup: identifier), beacon: beacon)
        }

        /// The adapters of the gateway then, by name, with what they did.
        var adapterChanges: [(change: AdapterChange, since: WallDate)] {
            adapters.values.compactMap { line in
                guard case .adapter(let change) = line.entry else { return nil }
                return (change, line.date(of: change.since))
            }.sorted { $0.change.adapter < $1.change.adapter }
        }
    }
}

// Of an exit: what made it, and what would have avoided it.
extension Explain.Finding {
    /// The event that the line tells, where it is an exit of what was heard before, by silence or weakness.
    var exit: (event: BeaconMonitor.Event, lastSeen: Instant)? {
        guard case .event(let event) = line.entry, event.state == .unsatisfied, !event.condition.isCircle,
            let lastSeen = event.lastSeen
        else { return nil }
        return (event, lastSeen)
    }

    /// Sightings behind the last that counted, which were too weak to count.
    var weakSightings: [Evidence.Heard] {
        guard let exit, let threshold = settings?.exitRSSI, let evidence else { return [] }
        // Dates are cut to microseconds.
        return evidence.sightings.filter {
            $0.time > exit.lastSeen + .microseconds(1) && ($0.rssi.map { $0 < threshold } ?? true)
        }
    }

    /// From the last sighting that counted to the exit.
    var silence: Duration? { exit.map { $0.event.time - $0.lastSeen } }

    /// For how long of that a holder did not listen, which does not count; absent where that was no time.
    var notListened: Duration? {
        guard let silence, let timeout = settings?.exitTimeout, silence > timeout + .milliseconds(1) else { return nil }
        return silence - timeout
    }

    /// The threshold that would have avoided it: the strongest of what was too weak.
    var sufficientRSSI: RSSI? { weakSightings.compactMap(\.rssi).max() }

    /// When it came back, and the timeout above which it would not have left; absent where it has not come back.
    var comeBack: (line: LogLine, sufficientTimeout: Duration)? {
        guard let exit, let next, case .event(let other) = next.entry, other.state == .satisfied else { return nil }
        // Over a restart of the machine the timelines can't be compared, but the dates can.
        return (next, .microseconds(next.date.microseconds - line.date(of: exit.lastSeen).microseconds))
    }
}

extension Explain.Finding {
    /// The rules by which it happened, as docs/monitor.md numbers them; none where the line tells of no decision.
    var rules: [String] {
        switch line.entry {
        case .event(let event): event.condition.isCircle ? rules(ofCircle: event) : rules(of: event)
        case .visit(let visit):
            switch visit.reason {
            case .exitTimeout, .left: []
            case .removed: ["C3"]
            case .replaced: ["C2"]
            case .displaced: ["P4"]
            }
        case .condition: ["C1", "C2", "C3"]
        case .adapter(let change):
            switch change.state {
            case .listening: ["L4"]
            case .deaf: ["L5"]
            case .off: ["L1"]
            case .gone: ["L3"]
            }
        case .clock: ["T1"]
        case .gateway, .evidence, .erased: []
        }
    }

    /// Whether an entry may have been no new one: what was present before the gateway lost sight of it needs one sighting.
    func mayBeReturn(_ event: BeaconMonitor.Event) -> Bool {
        event.previous?.state == .unknown && event.diagnostics.isEmpty && settings?.enterCount ?? 1 > 1
    }

    private func rules(of event: BeaconMonitor.Event) -> [String] {
        switch event.state {
        case .satisfied:
            return (mayBeReturn(event) ? ["L3"] : []) + ["E1"] + (settings?.enterRSSI == nil ? [] : ["E2"])
        case .unsatisfied: return (weakSightings.isEmpty ? [] : ["X1"]) + ["X2"] + (notListened == nil ? [] : ["L1"])
        case .unknown: return ["L2"]
        case .unmonitored: return rules(ofUnmonitored: event)
        }
    }

    private func rules(ofCircle event: BeaconMonitor.Event) -> [String] {
        switch event.state {
        case .satisfied: ["G2"] + (settings?.enterCount ?? 1 > 1 ? ["E1"] : [])
        case .unsatisfied: ["G2"]
        case .unknown: ["L2", "G3"]
        case .unmonitored: rules(ofUnmonitored: event)
        }
    }

    private func rules(ofUnmonitored event: BeaconMonitor.Event) -> [String] {
        event.diagnostics.contains(.conditionUnsupported) ? ["C5"] : ["C4"]
    }
}
