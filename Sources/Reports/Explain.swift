import BaseTypes
package import BeaconMonitoring
import BluetoothLE
package import CommandSupport
import EventLog
import JSON
import OperatorLogging
package import SystemPackage

/// Explains why something happened, from the event files alone.
package struct Explain {
    /// The line to explain.
    package enum Target: Sendable {
        /// The line with this sequence number. The gateway must be given if several gateways have such a line.
        case sequence(Int, gateway: String? = nil)
        /// The last event of a subject, at or before a date if there is one. The text is the identifier of a condition,
        /// which means the condition and all beacons under it; a beacon under a condition as in `visits` (`staff
        /// 100/7`); or a beacon by its numbers (`100/7`) or its name in the configuration.
        case subject(String, at: WallDate?)

        /// Parses an argument: a sequence number, `hall:12` for the gateway `hall`, or a subject. With a date, a number
        /// is the name of a subject too.
        package init(_ text: String, at date: WallDate?) {
            if date == nil, let number = Int(text) {
                self = .sequence(number)
            } else if date == nil, let colon = text.lastIndex(of: ":"),
                let number = Int(text[text.index(after: colon)...]), colon > text.startIndex
            {
                self = .sequence(number, gateway: String(text[..<colon]))
            } else {
                self = .subject(text, at: date)
            }
        }
    }

    /// The form of the output.
    package enum Format: Sendable {
        /// Sentences for people.
        case text
        /// A JSON object on one line.
        case json
        /// A page in this file; `-` means standard output.
        case page(FilePath)
    }

    // Names are only collected to suggest the nearest one, not for the answer.
    private static let namesMax = 10_000

    private let paths: [FilePath]
    private let target: Target
    private var subject: SubjectName
    private let time: ZonedTime
    private let directory: BeaconDirectory

    /// Creates an explanation. ``run(_:)`` searches for the line.
    ///
    /// - Throws: ``ExitFailure`` if more than one beacon has the requested name.
    package init(
        _ target: Target, paths: [FilePath], time: ZonedTime, directory: BeaconDirectory = BeaconDirectory()
    ) throws(ExitFailure) {
        self.target = target
        if case .subject(let name, _) = target {
            subject = try SubjectName(name, directory)
        } else {
            subject = try SubjectName("", BeaconDirectory())
        }
        self.paths = paths
        self.time = time
        self.directory = directory
    }

    /// Reads the files and writes the explanation to standard output or to the file of the page.
    ///
    /// - Returns: remarks for the operator.
    /// - Throws: ``ExitFailure`` if the line does not exist, the files cannot be read, or the output cannot be written.
    package func run(_ format: Format = .text) throws(ExitFailure) -> [String] {
        do {
            let (finding, remarks) = try find()
            let text = ExplainText(finding, time, directory)
            var output = LineOutput(standardOutput: LineBuffer(forTerminals: 128 << 10))
            switch format {
            case .page(let path):
                try PageFile.write(path) { output throws(EventLogError) in
                    text.writePage(time, into: &output.buffer)
                }
            case .text: output.buffer.append(text.text)
            case .json: ExplainWriter(finding: finding, directory: directory, text: text).write(into: &output.buffer)
            }
            try output.flush()
            return remarks
        } catch {
            throw ExitFailure(any: error)
        }
    }

    private var missing: String {
        switch target {
        case .sequence(let number, nil): "no line has the number \(number)"
        case .sequence(let number, let gateway?): "no line of \(gateway) has the number \(number)"
        case .subject(let name, nil): "there is no event of “\(name)”"
        case .subject(let name, let date?):
            "there is no event of “\(name)” at or before \(time.plainText(date)) \(time.zone(at: date))"
        }
    }

    /// Returns the message that the line does not exist, in the words of other reports and with a suggestion.
    private func absence(
        _ named: Set<String>, hasEvents: Bool, _ range: (first: WallDate, last: WallDate)?
    ) -> String {
        guard case .subject(let name, let date) = target else {
            return "\(missing) in \(paths.map(\.string).joined(separator: ", "))"
        }
        if !hasEvents, !named.contains(name) {
            let lines = NothingFound.near(name, among: named, of: "condition or beacon")
            // If a condition has nearly this name, it is more likely meant than the name of a beacon.
            let isNear = NameSuggestion.nearest(to: name, among: named) != nil
            let hint = isNear || subject.isBeacon ? nil : directory.hint(name)
            return NothingFound.missing("“\(name)”", hint.map { "\($0); \(lines)" } ?? lines)
        }
        if let date, let range, date < range.first {
            let time = time.showing(from: date, to: range.last)
            return NothingFound.unknownRange("to \(time.text(date))", range, time)
        }
        return "\(missing) in \(paths.map(\.string).joined(separator: ", "))"
    }

    /// Finds the line, and remarks for the operator.
    func find() throws -> (Finding, remarks: [String]) {
        var reader = try LogReader(paths)
        try NothingFound.check(reader)
        var progress = Progress(size: reader.size)
        var finding: Finding?
        var contexts: [String: Context] = [:]
        var named: Set<String> = []
        // Whether the subject has an event at any date.
        var hasEvents = false
        var range: (first: WallDate, last: WallDate)?
        // A sequence number occurs once in the files of each gateway.
        var owners: [String] = []
        let isOfOneGateway = paths.count < 2
        try reader.read(
            [.event, .visit, .condition, .adapter, .clock, .gateway, .evidence, .erased],
            progress: { count, position in progress.note(count, position: { position }) }
        ) { line in
            if let identifier = line.identifier, named.count < Self.namesMax { named.insert(identifier) }
            if let beacon = line.refinement, named.count < Self.namesMax {
                named.insert(beacon.numbers)
            }
            if !hasEvents, case .event(let event) = line.entry { hasEvents = subject.contains(event) }
            range = (range?.first ?? line.date, line.date)
            if isMatch(line) {
                var found = Finding(line: line)
                contexts[line.gateway, default: Context()].enter(line.boot)
                if let context = contexts[line.gateway] { context.complete(&found) }
                finding = found
                if !owners.contains(line.gateway) { owners.append(line.gateway) }
            } else if finding?.line.gateway == line.gateway, complete(&finding, with: line) ?? false, isOfOneGateway {
                return false
            }
            contexts[line.gateway, default: Context()].note(line)
            if case .condition(let change) = line.entry, let found = finding?.line, found.gateway == line.gateway,
                found.sequence == line.sequence
            {
                finding?.settings = change.settings
            }
            return true
        }
        progress.end()
        if finding == nil { try NothingFound.check(afterReading: reader, paths) }
        if finding == nil, let found = try findByPartialName(named) { return found }
        if finding == nil, reader.newerLines > 0 {
            throw ExitFailure(
                .dataInvalid,
                "\(missing) among the lines that this version can read; "
                    + "\(PlainText.count(reader.newerLines, "line was", "lines were")) written by a later version: use that version"
            )
        }
        guard let finding else {
            throw ExitFailure(.dataInvalid, absence(named, hasEvents: hasEvents, range))
        }
        try checkOwners(owners)
        // The remarks are needed because the last event that can be read is possibly not the last one.
        return (finding, [reader.newerRemark, reader.damagedRemark].compactMap(\.self))
    }

    /// Checks that a sequence number without a gateway's name belongs to one gateway.
    private func checkOwners(_ owners: [String]) throws(ExitFailure) {
        guard case .sequence(let number, nil) = target, owners.count > 1 else { return }
        let choices = owners.map { "\($0):\(number)" }.joined(separator: " or ")
        throw ExitFailure(.dataInvalid, "\(owners.count) gateways have a line \(number); use \(choices)")
    }

    /// Finds the last event of the one beacon whose name contains the text. Returns `nil` if the text is a name, or
    /// nearly the name of a condition.
    private func findByPartialName(_ named: Set<String>) throws -> (Finding, remarks: [String])? {
        guard case .subject(let text, let date) = target, !subject.isBeacon, !named.contains(text),
            NameSuggestion.nearest(to: text, among: named) == nil, let beacon = try directory.only(containing: text)
        else { return nil }
        let name = directory.label(beacon)
        var other = try Explain(.subject(name, at: date), paths: paths, time: time, directory: directory)
        other.subject = SubjectName(beacon, name: name)
        let remark = "“\(text)” matches \(name)"
        do {
            let (finding, remarks) = try other.find()
            return (finding, [remark] + remarks)
        } catch let failure as ExitFailure {
            throw ExitFailure(failure.code, "\(remark), but \(failure.message)")
        }
    }

    private func isMatch(_ line: LogLine) -> Bool {
        switch target {
        case .sequence(let number, let gateway):
            return line.sequence == number && (gateway == nil || gateway == line.gateway)
        case .subject(_, let date):
            guard case .event(let event) = line.entry, subject.contains(event) else { return false }
            return date.map { line.date <= $0 } ?? true
        }
    }

    /// Adds the information of a line after the one to explain. Returns `true` if no more lines are needed.
    private func complete(_ finding: inout Finding?, with line: LogLine) -> Bool? {
        guard var found = finding else { return nil }
        defer { finding = found }
        if found.following == nil, line.sequence != nil { found.following = line }
        if case .evidence(let evidence) = line.entry, evidence.event == found.line.sequence {
            found.evidence = evidence
        }
        guard case .event(let event) = found.line.entry else {
            if case .sequence = target { return found.following != nil }
            return nil
        }
        guard case .event(let other) = line.entry, other.identifier == event.identifier, other.scope == event.scope,
            event.scope == .condition || other.refinement == event.refinement
        else { return nil }
        if found.next == nil { found.next = line }
        guard case .sequence = target else { return nil }
        return true
    }

    // MARK: Findings

    /// The line to explain, with information from the lines before and after it.
    struct Finding {
        var line: LogLine
        var settings: ConditionSettings?
        /// The last line of each adapter that the gateway had at that time, by the name of the adapter.
        var adapters: [String: LogLine] = [:]
        var evidence: Evidence?
        /// The next event of the same subject.
        var next: LogLine?
        /// The next numbered line of the gateway. If a visit ended because its condition changed, or because another
        /// beacon took its place (rule P4), this line can have the reason.
        var following: LogLine?

        /// The subject of the line: a condition, or a beacon under it. `nil` for lines that are not about a condition.
        var subject: VisitTracker.Subject? {
            guard let identifier = line.identifier else { return nil }
            let beacon: BeaconIdentity? =
                switch line.entry {
                case .event(let event) where event.scope == .beacon: event.refinement
                case .visit(let visit) where visit.scope == .beacon: visit.refinement
                case .event, .visit, .condition, .adapter, .clock, .gateway, .evidence, .erased: nil
                }
            return VisitTracker.Subject(identifier: Identifier(lookup: identifier), beacon: beacon)
        }

        /// The adapters of the gateway at that time with their states, by name.
        var adapterChanges: [(change: AdapterChange, since: WallDate)] {
            adapters.values.compactMap { line in
                guard case .adapter(let change) = line.entry else { return nil }
                return (change, line.date(of: change.since))
            }.sorted { $0.change.adapter < $1.change.adapter }
        }
    }
}

/// The settings and the adapters that the lines of one gateway have reported up to a line.
private struct Context {
    private var boot: String?
    private var settings: [Identifier: ConditionSettings] = [:]
    private var adapters: [String: LogLine] = [:]

    /// Adds a line.
    mutating func note(_ line: LogLine) {
        enter(line.boot)
        switch line.entry {
        case .condition(let change): settings[Identifier(lookup: change.identifier)] = change.settings
        case .adapter(let change): adapters[change.adapter] = line
        case .event, .visit, .clock, .gateway, .evidence, .erased: break
        }
    }

    /// Called with the run of each line. After a change, the adapters of the previous run do not count.
    mutating func enter(_ boot: String) {
        if let before = self.boot, before != boot { adapters = [:] }
        self.boot = boot
    }

    /// Stores the adapters and the settings of that time in a finding.
    func complete(_ finding: inout Explain.Finding) {
        finding.adapters = adapters
        if let identifier = finding.line.identifier { finding.settings = settings[Identifier(lookup: identifier)] }
    }
}

extension LogLine {
    /// The beacon in the line; `nil` if there is none.
    var refinement: BeaconIdentity? {
        switch entry {
        case .event(let event): event.refinement
        case .visit(let visit): visit.refinement
        case .condition, .adapter, .clock, .gateway, .evidence, .erased: nil
        }
    }

    /// The condition of the line; `nil` if there is none.
    var identifier: String? {
        switch entry {
        case .event(let event): event.identifier
        case .visit(let visit): visit.identifier
        case .condition(let change): change.identifier
        case .evidence(let evidence): evidence.identifier
        case .adapter, .clock, .gateway, .erased: nil
        }
    }
}

// Exits: their cause, and the settings that would have avoided them.
extension Explain.Finding {
    /// The event of the line, if it is the exit of a subject that was received before. Silence or weak sightings caused
    /// it. `nil` for other lines and for circles.
    var exit: (event: BeaconMonitor.Event, lastSeen: Instant)? {
        guard case .event(let event) = line.entry, event.state == .unsatisfied, !event.condition.isCircle,
            let lastSeen = event.lastSeen
        else { return nil }
        return (event, lastSeen)
    }

    /// The sightings after the last one that counted. They were too weak to count, or their RSSI is unknown.
    var weakSightings: [Evidence.LastSighting] {
        guard let exit, let threshold = settings?.exitRSSI, let evidence else { return [] }
        // Dates in lines are cut to microseconds.
        return evidence.sightings.filter {
            $0.time > exit.lastSeen + .microseconds(1) && ($0.rssi.map { $0 < threshold } ?? true)
        }
    }

    /// The time from the last sighting that counted to the exit.
    var silence: Duration? { exit.map { $0.event.time - $0.lastSeen } }

    /// The part of ``silence`` in which a holder did not scan, which does not count for an exit. `nil` if it is at most
    /// 1 ms, or if the exit timeout is not known.
    var notListened: Duration? {
        guard let silence, let timeout = settings?.exitTimeout, silence > timeout + .milliseconds(1) else { return nil }
        return silence - timeout
    }

    /// The `exit_rssi` that would have avoided the exit: the RSSI of the strongest sighting that was too weak.
    var sufficientRSSI: RSSI? { weakSightings.compactMap(\.rssi).max() }

    /// The event with which the subject returned, and the exit timeout above which it would not have exited. `nil` if
    /// it has not returned.
    var comeBack: (line: LogLine, sufficientTimeout: Duration)? {
        guard let exit, let next, case .event(let other) = next.entry, other.state == .satisfied else { return nil }
        // Timelines before and after a restart of the machine cannot be compared, but dates can.
        return (next, .microseconds(next.date.microseconds - line.date(of: exit.lastSeen).microseconds))
    }
}

extension Explain.Finding {
    /// The rules that led to the line, with their numbers in docs/monitor.md. Empty if the line reports no decision.
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

    /// Whether an entry is possibly a return and not a new entry: a subject that was present before an outage needs
    /// only one sighting to return.
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
