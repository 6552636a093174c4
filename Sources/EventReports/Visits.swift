import BeaconMonitoring
import BluetoothLE
package import CommandSupport
import EventLog
import JSON
import SystemPackage

/// Who was here when, told from the event files alone.
package struct Visits {
    private let options: VisitsOptions
    private var totals = VisitsTotals()

    /// Visits that have not been read.
    package init(_ options: VisitsOptions) { self.options = options }

    /// Reads the files and tells what is in them.
    ///
    /// - Returns: what the operator should know besides.
    /// - Throws: ``ExitFailure`` where the files can't be read or what is told can't be written.
    package mutating func run() throws(ExitFailure) -> [String] {
        do {
            if let html = options.html { return try writePage(html) }
            var output = LineOutput(standardOutput: LineBuffer(forTerminals: 128 << 10))
            var writer = VisitsWriter(options)
            writer.begin(&output.buffer)
            let (books, remarks) = try read { stay throws(EventLogError) in
                writer.write(stay, into: &output.buffer)
                try output.flushIfFull()
            }
            for silence in wanted(books.silences) { writer.write(silence, into: &output.buffer) }
            writer.end(totals, books, into: &output.buffer)
            try output.flush()
            return remarks
        } catch let error as EventLogError {
            throw ExitFailure(error)
        } catch let failure as ExitFailure {
            throw failure
        } catch {
            throw ExitFailure(.failed, "\(error)")
        }
    }

    /// Hands over every stay that was asked for: those that ended in the order of their ends, then those that go on.
    private mutating func read(
        _ body: (VisitsBook.Stay) throws(EventLogError) -> Void
    ) throws -> (VisitsBooks, [String]) {
        var reader = try LogReader(options.paths)
        try NothingFound.check(reader)
        var progress = Progress(size: reader.size)
        var books = VisitsBooks()
        var named = NamedSubjects(condition: options.condition, beacon: options.beacon)
        // One folder is one gateway's: what it tells goes on at once.
        var merger = options.paths.count > 1 ? StayMerger() : nil
        var stays: [VisitsBook.Stay] = []
        func tell(_ stay: VisitsBook.Stay) throws(EventLogError) {
            guard isWanted(stay.subject.identifier.text, stay.subject.beacon),
                let stay = stay.clipped(from: options.from, to: options.to)
            else { return }
            totals.add(stay)
            try body(stay)
        }
        func take(_ stay: VisitsBook.Stay) throws(EventLogError) {
            if merger == nil { try tell(stay) } else { merger?.add(stay) }
        }
        try reader.read(
            [.event, .visit, .condition, .adapter, .clock, .gateway], sightings: false,
            progress: { count, position in progress.note(count, position: { position }) }
        ) { line in
            named.note(line)
            guard concerns(line) else {
                books.noteDate(of: line)
                return true
            }
            books.note(line, into: &stays)
            guard !stays.isEmpty else { return true }
            for stay in stays { try take(stay) }
            stays.removeAll(keepingCapacity: true)
            return true
        }
        try NothingFound.check(afterReading: reader, options.paths)
        for proof in reader.proofs { books.note(proof) }
        for stay in books.finish() { try take(stay) }
        for stay in merger?.merged() ?? [] { try tell(stay) }
        try NothingFound.check(options, books, named)
        progress.end()
        return (books, remarks(reader, books, leftOut: merger?.leftOut ?? 0))
    }

    private func remarks(_ reader: LogReader, _ books: VisitsBooks, leftOut: Int) -> [String] {
        var remarks = reader.proofTroubles.map { "\($0); the last line is the newest proof that the gateway was alive" }
        if let remark = reader.newerRemark { remarks.append(remark) }
        if reader.damagedLines > 0 { remarks.append("\(reader.damagedLines) lines are damaged and were passed over") }
        if reader.repeatedLines > 0 {
            remarks.append("\(reader.repeatedLines) lines stand in the files twice and were counted once")
        }
        if books.silencesLeftOut > 0 {
            remarks.append("\(books.silencesLeftOut) stretches in which an adapter heard nothing are left out")
        }
        if leftOut > 0 { remarks.append("\(leftOut) visits are left out: too many for several gateways at once") }
        if totals.leftOut > 0 {
            remarks.append("\(totals.leftOut) visits are not in the totals: more than \(VisitsTotals.countMax) beacons")
        }
        return remarks
    }

    private func concerns(_ line: LogLine) -> Bool {
        switch line.entry {
        case .event(let event): isWanted(event.identifier, event.scope == .beacon ? event.refinement : nil)
        case .visit(let visit): isWanted(visit.identifier, visit.scope == .beacon ? visit.refinement : nil)
        case .condition, .adapter, .clock, .gateway, .evidence: true
        }
    }

    private func isWanted(_ identifier: String, _ beacon: BeaconIdentity?) -> Bool {
        if let condition = options.condition, condition != identifier { return false }
        guard let filter = options.beacon else { return true }
        return beacon.map { filter.matches($0) } ?? false
    }

    private func wanted(_ silences: [VisitsBook.Silence]) -> [VisitsBook.Silence] {
        silences.compactMap { $0.clipped(from: options.from, to: options.to) }
    }

    /// Writes the page; what was there under the name is replaced at once, and by nothing half done.
    private mutating func writePage(_ path: FilePath) throws -> [String] {
        var page = VisitsPage(options)
        let found = try read { stay throws(EventLogError) in page.add(stay) }
        let books = found.0
        var remarks = found.1
        if path == "-" {
            var output = LineOutput.standardOutput
            try page.write(books, wanted(books.silences), totals, into: &output)
            try output.flush()
            if page.leftOut > 0 { remarks.append("\(page.leftOut) visits are not drawn: too many") }
            return remarks
        }
        let files = SystemFiles()
        var temporary = path
        temporary.removeLastComponent()
        temporary.append(".\(path.lastComponent?.string ?? "visits").new")
        do throws(Errno) { try files.remove(temporary) } catch .noSuchFileOrDirectory {} catch {
            throw EventLogError.createFailed(path.string, error)
        }
        var output = try LineOutput(creating: temporary)
        try page.write(books, wanted(books.silences), totals, into: &output)
        try output.flush()
        do throws(Errno) { try files.rename(temporary, to: path) } catch {
            throw EventLogError.createFailed(path.string, error)
        }
        if page.leftOut > 0 { remarks.append("\(page.leftOut) visits are not drawn: too many") }
        return remarks
    }
}

extension LogReader {
    /// What is to be said where a later version of the program has written lines.
    var newerRemark: String? {
        guard newerLines > 0 else { return nil }
        return "\(newerLines) lines were written by a later version of the program and were passed over; use that"
    }
}
