package import BeaconMonitoring
import BluetoothLE
package import CommandSupport
import EventLog
import JSON
package import SystemPackage

/// Why something happened, told from the event files alone.
package struct Explain {
    /// Which line is to be explained.
    package enum Target: Sendable {
        /// The one with this number.
        case sequence(Int)
        /// The last event at or before a date of what is called so: a condition, or a beacon under it; or a beacon under a
        /// condition as `visits` has it (`staff 100/7`); or a beacon (`100/7`).
        case subject(String, at: WallDate?)
    }

    // For the nearest name, not for the answer.
    private static let namesMax = 10_000

    private let paths: [FilePath]
    private let target: Target
    private let subject: SubjectName
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

    /// What the lines before and after tell of one.
    struct Finding {
        var line: LogLine
        var settings: ConditionSettings?
        var adapters: [String: LogLine] = [:]
        var evidence: Evidence?
        /// The event of the same subject that came next.
        var next: LogLine?
        /// The line that follows in the same instant, where it tells why.
        var following: LogLine?
    }

    /// Reads the files and writes the explanation to standard output.
    ///
    /// - Returns: what the operator should know besides.
    /// - Throws: ``ExitFailure`` where there is no such line, or the files can't be read.
    package func run() throws(ExitFailure) -> [String] {
        do {
            let (finding, remarks) = try find()
            var output = LineOutput.standardOutput
            output.buffer.append(ExplainText(finding, time, directory).text)
            try output.flush()
            return remarks
        } catch let failure as ExitFailure {
            throw failure
        } catch let error as EventLogError {
            throw ExitFailure(error)
        } catch {
            throw ExitFailure(.failed, "\(error)")
        }
    }

    private var missing: String {
        switch target {
        case .sequence(let number): "no line has the number \(number)"
        case .subject(let name, nil): "there is no event of “\(name)”"
        case .subject(let name, let date?): "there is no event of “\(name)” at or before \(time.text(date))"
        }
    }

    /// What may have been meant.
    private func hint(_ named: Set<String>) -> String {
        guard case .subject(let name, _) = target, !named.contains(name) else { return "" }
        if let nearest = directory.nearest(to: name) { return "; is “\(nearest)” meant?" }
        return "; \(NothingFound.near(name, among: named))"
    }

    /// Looks for the line, and what is to be said besides.
    func find() throws -> (Finding, remarks: [String]) {
        var reader = try LogReader(paths)
        try NothingFound.check(reader)
        var progress = Progress(size: reader.size)
        var finding: Finding?
        var settings: [Identifier: ConditionSettings] = [:]
        var adapters: [String: LogLine] = [:]
        var named: Set<String> = []
        try reader.read(
            [.event, .visit, .condition, .adapter, .clock, .gateway, .evidence, .erased],
            progress: { count, position in progress.note(count, position: { position }) }
        ) { line in
            if let identifier = line.identifier, named.count < Self.namesMax { named.insert(identifier) }
            if finding != nil, !isMatch(line) {
                if let isDone = complete(&finding, with: line) { return !isDone }
            } else if isMatch(line) {
                var found = Finding(line: line, settings: nil, adapters: adapters)
                if let identifier = line.identifier { found.settings = settings[Identifier(lookup: identifier)] }
                finding = found
            }
            switch line.entry {
            case .condition(let change):
                settings[Identifier(lookup: change.identifier)] = change.settings
                if finding?.line.sequence == line.sequence { finding?.settings = change.settings }
            case .adapter(let change): adapters[change.adapter] = line
            default: break
            }
            return true
        }
        progress.end()
        if finding == nil { try NothingFound.check(afterReading: reader, paths) }
        if finding == nil, reader.newerLines > 0 {
            throw ExitFailure(
                .dataInvalid,
                "\(missing) in what this version can read; \(reader.newerLines) lines were written by a later one: use that"
            )
        }
        guard let finding else {
            throw ExitFailure(
                .dataInvalid, "\(missing) in \(paths.map(\.string).joined(separator: ", "))\(hint(named))")
        }
        // The last event that can be read may not be the last.
        return (finding, [reader.newerRemark].compactMap(\.self))
    }

    private func isMatch(_ line: LogLine) -> Bool {
        switch target {
        case .sequence(let number): return line.sequence == number
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
}

extension LogLine {
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
