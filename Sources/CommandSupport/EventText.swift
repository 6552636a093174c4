import BaseTypes
package import BeaconMonitoring
import BluetoothLE
package import GatewayConfiguration
import OperatorLogging

/// The short lines for people about the decisions of an engine: `03:27:59  Ada Lovelace arrived (staff)  −61 dBm`.
///
/// Times are in the machine's zone (localtime(3)), or in UTC if the machine does not know its zone. Before the first
/// line of a day, and of another offset from UTC, there is a line with the date and the offset: `2026-11-21 (+0100)`.
package struct EventText {
    private let time: ZonedTime
    private var directory: BeaconDirectory
    /// The last line with a date; `nil` before the first one.
    private var heading: String?
    /// The last event of a condition that only one beacon can satisfy.
    private var last: (identifier: String, time: Instant, state: BeaconMonitor.Event.State)?

    /// Creates the text of events, with the names of beacons, in UTC or in the machine's zone.
    package init(_ names: BeaconNames, isUTC: Bool = ZonedTime.unknownZone != nil) {
        time = ZonedTime(isUTC: isUTC)
        directory = BeaconDirectory(names)
    }

    /// Uses these names from now on.
    package mutating func use(_ names: BeaconNames) { directory = BeaconDirectory(names) }

    /// Writes the date again before the next line, because lines are missing.
    package mutating func repeatDate() { heading = nil }

    /// Returns the line of an action with its line end, after the line of the date if that is due.
    ///
    /// - Returns: the text, without characters to which a terminal reacts; `nil` if the action has no line: changes of
    ///   conditions, visits that end with an event, and the event of a beacon after that of a condition which only this
    ///   beacon can satisfy.
    package mutating func lines(of action: Action) -> String? {
        switch action {
        case .event(let event):
            if event.scope == .beacon, let last, last == (event.identifier, event.time, event.state) { return nil }
            if event.scope == .condition {
                last = event.condition.onlyBeacon.map { _ in (event.identifier, event.time, event.state) }
            }
            let (subject, detail) = event.condition.isCircle ? circle(event) : text(event)
            return dated(event.date, subject, detail)
        case .visit(let visit):
            guard !visit.reason.isLeaving else { return nil }
            let subject = subject(visit.scope, visit.identifier, visit.condition, visit.refinement)
            return dated(
                visit.date, "\(subject.name): visit ended\(subject.condition)", Self.reason(visit.reason))
        case .adapter(let change):
            return dated(
                WallDate(change.time, offset: change.clockOffset), "\(change.adapter) \(Self.word(change.state))",
                change.reason)
        case .condition, .adapterNamed, .trackingLimitExceeded: return nil
        }
    }

    private mutating func dated(_ date: WallDate, _ subject: String, _ detail: String?) -> String {
        let parts = parts(date)
        let heading = "\(parts.day) (\(time.zone(at: date)))"
        let first = heading == self.heading ? "" : heading + "\n"
        self.heading = heading
        let line = "\(parts.clock)  \(subject)" + (detail.map { "  \($0)" } ?? "")
        return first + PlainText.safe(line) + "\n"
    }

    private func parts(_ date: WallDate) -> (day: Substring, clock: Substring) {
        let text = time.plainText(date)
        let space = text.firstIndex(of: " ") ?? text.endIndex
        return (text[..<space], text[space...].dropFirst())
    }

    // MARK: Subjects

    /// Returns the name of a subject, and its condition in brackets if the name is that of a beacon.
    private func subject(
        _ scope: Scope, _ identifier: String, _ condition: Condition, _ refinement: BeaconIdentity?
    ) -> (name: String, condition: String, isBeacon: Bool) {
        if scope == .beacon, let refinement { return (directory.label(refinement), " (\(identifier))", true) }
        guard let only = condition.onlyBeacon else { return (identifier, "", false) }
        guard directory[only] != nil else { return (identifier, "", true) }
        return (directory.label(only), " (\(identifier))", true)
    }

    private func text(_ event: BeaconMonitor.Event) -> (subject: String, detail: String?) {
        let subject = subject(event.scope, event.identifier, event.condition, event.refinement)
        let words: String
        var details: [String] = []
        switch event.state {
        case .satisfied:
            // A beacon under a condition for several is unknown to the engine until its first event.
            let wasAbsent = event.previous.map { $0.state == .unsatisfied } ?? (event.scope == .beacon)
            words = subject.isBeacon && wasAbsent ? "arrived" : "is present"
            if !subject.isBeacon { details = [event.refinement.map { directory.label($0) }].compactMap { $0 } }
            details += Self.strength(event)
        case .unsatisfied:
            words = subject.isBeacon && event.previous?.state == .satisfied ? "left" : "is absent"
            details = lastSighting(event, isBeacon: subject.isBeacon)
        case .unknown where event.previous?.state == .unmonitored:
            words = "is monitored now"
        case .unknown:
            words = "is unknown"
            details = ["its adapters do not scan"]
        case .unmonitored:
            words = "is not monitored"
            details = Self.reasons(event)
        }
        return ("\(subject.name) \(words)\(subject.condition)", Self.joined(details))
    }

    private func lastSighting(_ event: BeaconMonitor.Event, isBeacon: Bool) -> [String] {
        guard let lastSeen = event.lastSeen else { return [] }
        let date = WallDate(lastSeen, offset: event.clockOffset)
        let (now, last) = (parts(event.date), parts(date))
        let zone = time.zone(at: date)
        let day = now.day == last.day ? "" : "\(last.day) "
        let offset = zone == time.zone(at: event.date) ? "" : " \(zone)"
        let beacon = isBeacon ? nil : event.refinement.map { directory.label($0) }
        return ["last sighting \(day)\(last.clock)\(offset)"] + [beacon].compactMap { $0 } + Self.strength(event)
    }

    private func circle(_ event: BeaconMonitor.Event) -> (subject: String, detail: String?) {
        let words =
            switch event.state {
            case .satisfied: event.previous?.state == .unsatisfied ? "entered" : "inside"
            case .unsatisfied: event.previous?.state == .satisfied ? "left" : "outside"
            case .unknown: event.previous?.state == .unmonitored ? "monitored now" : "unknown"
            case .unmonitored: "not monitored"
            }
        let details =
            switch event.state {
            case .unknown where event.previous?.state != .unmonitored: ["no position"]
            case .unmonitored: Self.reasons(event)
            default: [String]()
            }
        return ("\(event.identifier): \(words)", Self.joined(details))
    }

    private static func joined(_ details: [String]) -> String? {
        details.isEmpty ? nil : details.joined(separator: ", ")
    }

    /// Returns why a condition is not monitored (rules C4, C5).
    private static func reasons(_ event: BeaconMonitor.Event) -> [String] {
        if event.diagnostics.contains(.conditionLimitExceeded) { return ["condition_limit is reached"] }
        return event.diagnostics.contains(.conditionUnsupported) ? ["there is no location source"] : []
    }

    private static func strength(_ event: BeaconMonitor.Event) -> [String] {
        guard let dBm = event.sighting?.rssi?.dBm else { return [] }
        return ["\(dBm < 0 ? "−" : "")\(dBm.magnitude) dBm"]
    }

    private static func reason(_ reason: Visit.Reason) -> String? {
        switch reason {
        case .removed: "the condition was removed, or no longer includes it"
        case .replaced: "the condition was replaced"
        case .displaced: "a named beacon took its place"
        case .exitTimeout, .left: nil
        }
    }

    private static func word(_ state: AdapterChange.State) -> String {
        switch state {
        case .listening: "scans"
        case .deaf: "counts as not scanning"
        case .off: "does not scan"
        case .gone: "was removed"
        }
    }
}

extension Condition {
    /// The beacon of a condition that only one beacon can satisfy.
    fileprivate var onlyBeacon: BeaconIdentity? {
        guard case .beacon(let condition) = self, let major = condition.major, let minor = condition.minor else {
            return nil
        }
        return BeaconIdentity(uuid: condition.uuid, major: major, minor: minor)
    }
}
