import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import OperatorLogging

/// Reads event files for reports. All reports use it, so that they cannot contradict each other.
struct VisitReader {
    /// The results besides the visits.
    struct Found {
        /// The trackers of all gateways, after the last line.
        var trackers: VisitTrackers
        /// The requested open visits of each gateway, neither clipped nor merged.
        var ongoing: [VisitTracker.SubjectVisit]
        /// Remarks for the operator.
        var remarks: [String]
    }

    private let options: VisitsOptions

    /// Creates a reader that uses the files, range, condition, beacon and ``VisitsOptions/made`` of `options`.
    init(_ options: VisitsOptions) { self.options = options }

    /// Passes the range of the report to `range`, then each matching visit to `body`, clipped to the range: first the
    /// ended visits in the order of their ends, then the open ones. Visits of several gateways that touch are merged.
    ///
    /// - Throws: the errors of ``readEach(range:untilMade:_:)`` and `body`.
    func read(
        range: (_ from: WallDate, _ to: WallDate) -> Void = { _, _ in },
        _ body: (VisitTracker.SubjectVisit) throws(EventLogError) -> Void
    ) throws -> Found {
        // One folder belongs to one gateway, so its visits are passed on immediately.
        var merger = options.paths.count > 1 ? VisitMerger() : nil
        func report(_ visit: VisitTracker.SubjectVisit) throws(EventLogError) {
            if let visit = visit.clipped(from: options.from, to: options.to) { try body(visit) }
        }
        var found = try readEach(range: range, untilMade: true) { visit in
            if merger == nil { try report(visit) } else { merger?.add(visit) }
        }
        for visit in merger?.merged() ?? [] { try report(visit) }
        if let leftOut = merger?.leftOut, leftOut > 0 {
            let visits = PlainText.count(leftOut, "visit is", "visits are")
            found.remarks.append("\(visits) omitted: too many for a report of several gateways")
        }
        return found
    }

    /// Passes the range of the report to `range`, then each visit of a matching subject to `body` as its gateway
    /// reports it, neither clipped nor merged: first the ended visits in the order of their ends, then the open ones.
    ///
    /// - Parameters:
    ///   - range: called at most once, before `body`. It is not called if no line has a date.
    ///   - untilMade: whether a range can start after the last proof of a gateway that is alive.
    ///   - body: called for each visit.
    /// - Returns: the other results.
    /// - Throws: the errors of ``LogReader`` and `body`; ``ExitFailure`` if nothing is found, with the reason.
    func readEach(
        range: (_ from: WallDate, _ to: WallDate) -> Void = { _, _ in }, untilMade: Bool = false,
        _ body: (VisitTracker.SubjectVisit) throws -> Void
    ) throws -> Found {
        var reader = try LogReader(options.paths)
        try NothingFound.check(reader)
        if let dates = try reader.dates() { range(options.from ?? dates.first, options.to ?? dates.last) }
        var progress = Progress(size: reader.size)
        var trackers = VisitTrackers()
        var named = NamedSubjects(condition: options.condition, beacon: options.beacon)
        var visits: [VisitTracker.SubjectVisit] = []
        try reader.read(
            [.event, .visit, .condition, .adapter, .clock, .gateway], sightings: false,
            progress: { count, position in progress.note(count, position: { position }) }
        ) { line in
            named.note(line)
            guard concerns(line) else {
                trackers.notePassing(line)
                return true
            }
            trackers.note(line, into: &visits)
            guard !visits.isEmpty else { return true }
            for visit in visits where isWanted(visit.subject) { try body(visit) }
            visits.removeAll(keepingCapacity: true)
            return true
        }
        try NothingFound.check(afterReading: reader, options.paths)
        var void: [String] = []
        for proof in reader.proofs where !trackers.note(proof, at: options.made) {
            void.append(
                "the file alive of \(proof.gateway) has the time \(options.time.plainText(proof.date)), which is in the future"
            )
        }
        let last = trackers.finish(at: options.made).filter { isWanted($0.subject) }
        for visit in last { try body(visit) }
        let proofs = (reader.proofErrors + void).map {
            "\($0); the last line is the newest proof that the gateway was alive"
        }
        do throws(ExitFailure) {
            try NothingFound.check(options, trackers, named, untilMade: untilMade)
        } catch {
            throw ExitFailure(error.code, ([error.message] + proofs).joined(separator: "\n"))
        }
        progress.end()
        return Found(
            trackers: trackers, ongoing: last.filter { $0.end == .open }, remarks: proofs + remarks(reader, trackers)
        )
    }

    private func remarks(_ reader: LogReader, _ trackers: VisitTrackers) -> [String] {
        var remarks: [String] = []
        if let remark = reader.newerRemark { remarks.append(remark) }
        if let remark = reader.damagedRemark { remarks.append(remark) }
        if reader.repeatedLines > 0 {
            let lines = PlainText.count(reader.repeatedLines, "line is", "lines are")
            remarks.append("\(lines) in the files twice and counted once")
        }
        if trackers.silencesLeftOut > 0 {
            let stretches = PlainText.count(
                trackers.silencesLeftOut, "period without scanning is",
                "periods without scanning are")
            remarks.append("\(stretches) omitted")
        }
        return remarks
    }

    private func concerns(_ line: LogLine) -> Bool {
        switch line.entry {
        case .event(let event): isWanted(event.identifier, event.scope == .beacon ? event.refinement : nil)
        case .visit(let visit): isWanted(visit.identifier, visit.scope == .beacon ? visit.refinement : nil)
        case .condition, .adapter, .clock, .gateway, .evidence, .erased: true
        }
    }

    private func isWanted(_ subject: VisitTracker.Subject) -> Bool {
        isWanted(subject.identifier.text, subject.beacon)
    }

    private func isWanted(_ identifier: String, _ beacon: BeaconIdentity?) -> Bool {
        if let condition = options.condition, condition != identifier { return false }
        guard let filter = options.beacon else { return true }
        return beacon.map { filter.matches($0) } ?? false
    }
}

extension LogReader {
    /// The remark about lines that a later version of the program wrote; `nil` if there are none.
    var newerRemark: String? {
        guard newerLines > 0 else { return nil }
        let lines = PlainText.count(newerLines, "line was", "lines were")
        return "\(lines) written by a later version of the program and skipped; use that version"
    }

    /// The remark about damaged lines, with the places of some of them; `nil` if there are none.
    var damagedRemark: String? {
        guard damagedLines > 0 else { return nil }
        let places = damages.map { "\($0.path):\($0.line)" }.joined(separator: ", ")
        let rest = damagedLines > damages.count ? ", and \(damagedLines - damages.count) more" : ""
        return damagedLines == 1
            ? "1 line is damaged and was skipped: \(places)"
            : "\(damagedLines) lines are damaged and were skipped: \(places)\(rest)"
    }
}
