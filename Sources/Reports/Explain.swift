import BaseTypes
package import BeaconMonitoring
import BluetoothLE
package import CommandSupport
import EventLog
import JSON
import OperatorLogging
package import SystemPackage

/// Why something happened, told from the event files alone.
package struct Explain {
    /// Which line is to be explained.
    package enum Target: Sendable {
        /// The one with this number; of that gateway, where the files are of several.
        case sequence(Int, gateway: String? = nil)
        /// The last event at or before a date of what is called so: a condition, or a beacon under it; or a beacon under a
        /// condition as `visits` has it (`staff 100/7`); or a beacon (`100/7`).
        case subject(String, at: WallDate?)

        /// What somebody wrote: a number, `hall:12` of the gateway `hall`, or who; with a date, a number is a name too.
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

    /// How it is told.
    package enum Format: Sendable {
        /// In words, for people.
        case text
        /// As a JSON object on one line.
        case json
        /// As a page in this file; `-`: on standard output.
        case page(FilePath)
    }

    // For the nearest name, not for the answer.
    private static let namesMax = 10_000

    private let paths: [FilePath]
    private let target: Target
    private var subject: SubjectName
    private let time: VisitsTime
    private let directory: BeaconDirectory

    /// An explanation that has not been looked for.
    ///
    /// - Throws: ``ExitFailure`` where more than one beacon has the name that was asked for.
    package init(
        _ target: Target, paths: [FilePath], time: VisitsTime, directory: BeaconDirectory = BeaconDirectory()
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

    /// Reads the files and writes the explanation to standard output.
    ///
    /// - Returns: what the operator should know besides.
    /// - Throws: ``ExitFailure`` where there is no such line, or the files can't be read.
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

    /// That there is no such line, in the words that other reports have for it, and what may have been meant.
    private func absence(
        _ named: Set<String>, hasEvents: Bool, _ range: (first: WallDate, last: WallDate)?
    ) -> String {
        guard case .subject(let name, let date) = target else {
            return "\(missing) in \(paths.map(\.string).joined(separator: ", "))"
        }
        if !hasEvents, !named.contains(name) {
            let lines = NothingFound.near(name, among: named, of: "condition or beacon")
            // A condition that is nearly called so is meant rather than one of the names.
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

    /// Looks for the line, and what is to be said besides.
    func find() throws -> (Finding, remarks: [String]) {
        var reader = try LogReader(paths)
        try NothingFound.check(reader)
        var progress = Progress(size: reader.size)
        var finding: Finding?
        var contexts: [String: Context] = [:]
        var named: Set<String> = []
        // Whether the subject has an event at any time.
        var hasEvents = false
        var range: (first: WallDate, last: WallDate)?
        // A number stands once in the files of each gateway.
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
        // The last event that can be read may not be the last.
        return (finding, [reader.newerRemark, reader.damagedRemark].compactMap(\.self))
    }

    /// Checks that a sequence number without a gateway's name belongs to one gateway.
    private func checkOwners(_ owners: [String]) throws(ExitFailure) {
        guard case .sequence(let number, nil) = target, owners.count > 1 else { return }
        let choices = owners.map { "\($0):\(number)" }.joined(separator: " or ")
        throw ExitFailure(.dataInvalid, "\(owners.count) gateways have a line \(number); use \(choices)")
    }

    /// Finds the last event of the one beacon whose name contains the text, unless the text is a name or nearly the name of a
    /// condition.
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

    /// Takes in a line that comes after the one to be explained; whether nothing more is needed.
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

/// What lines of one gateway have said up to one of them.
private struct Context {
    private var boot: String?
    private var settings: [Identifier: ConditionSettings] = [:]
    private var adapters: [String: LogLine] = [:]

    /// Takes in a line.
    mutating func note(_ line: LogLine) {
        enter(line.boot)
        switch line.entry {
        case .condition(let change): settings[Identifier(lookup: change.identifier)] = change.settings
        case .adapter(let change): adapters[change.adapter] = line
        case .event, .visit, .clock, .gateway, .evidence, .erased: break
        }
    }

    /// A line of that run has come: the adapters of another one are none of it.
    mutating func enter(_ boot: String) {
        if let before = self.boot, before != boot { adapters = [:] }
        self.boot = boot
    }

    /// Puts down what was so then.
    func complete(_ finding: inout Explain.Finding) {
        finding.adapters = adapters
        if let identifier = finding.line.identifier { finding.settings = settings[Identifier(lookup: identifier)] }
    }
}

extension LogLine {
    /// The beacon that the line names; absent where it names none.
    var refinement: BeaconIdentity? {
        switch entry {
        case .event(let event): event.refinement
        case .visit(let visit): visit.refinement
        case .condition, .adapter, .clock, .gateway, .evidence, .erased: nil
        }
    }

    /// The condition that the line is about.
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
