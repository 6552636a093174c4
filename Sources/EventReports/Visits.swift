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
            let (book, remarks) = try read { stay throws(EventLogError) in
                writer.write(stay, into: &output.buffer)
                try output.flushIfFull()
            }
            for silence in book.silences where isWanted(silence) { writer.write(silence, into: &output.buffer) }
            writer.end(totals, now: book.last, into: &output.buffer)
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
    ) throws -> (VisitsBook, [String]) {
        var reader = try LogReader(options.paths)
        var progress = Progress(size: reader.size)
        var book = VisitsBook()
        var stays: [VisitsBook.Stay] = []
        try reader.read(
            [.event, .visit, .condition, .adapter, .clock], sightings: false,
            progress: { count, position in progress.note(count, position: { position }) }
        ) { line in
            guard concerns(line) else { return true }
            book.note(line, into: &stays)
            guard !stays.isEmpty else { return true }
            for stay in stays where isWanted(stay) {
                totals.add(stay)
                try body(stay)
            }
            stays.removeAll(keepingCapacity: true)
            return true
        }
        for stay in book.finish(at: nil) where isWanted(stay) {
            totals.add(stay)
            try body(stay)
        }
        progress.end()
        var remarks: [String] = []
        if let remark = reader.newerRemark { remarks.append(remark) }
        if reader.damagedLines > 0 { remarks.append("\(reader.damagedLines) lines are damaged and were passed over") }
        if reader.repeatedLines > 0 {
            remarks.append("\(reader.repeatedLines) lines stand in the files twice and were counted once")
        }
        if book.silencesLeftOut > 0 {
            remarks.append("\(book.silencesLeftOut) stretches in which an adapter heard nothing are left out")
        }
        if totals.leftOut > 0 {
            remarks.append("\(totals.leftOut) visits are not in the totals: more than \(VisitsTotals.countMax) beacons")
        }
        return (book, remarks)
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

    private func isWanted(_ stay: VisitsBook.Stay) -> Bool {
        guard isWanted(stay.subject.identifier.text, stay.subject.beacon) else { return false }
        let end = stay.end == .open ? stay.until : stay.departure ?? stay.until
        if let from = options.from, stay.end != .open, end < from { return false }
        if let to = options.to, stay.arrival ?? end >= to { return false }
        return true
    }

    private func isWanted(_ silence: VisitsBook.Silence) -> Bool {
        if let from = options.from, let end = silence.to, end <= from { return false }
        if let to = options.to, silence.from >= to { return false }
        return true
    }

    /// Writes the page; what was there under the name is replaced at once, and by nothing half done.
    private mutating func writePage(_ path: FilePath) throws -> [String] {
        var page = VisitsPage(options)
        let found = try read { stay throws(EventLogError) in page.add(stay) }
        let book = found.0
        var remarks = found.1
        let files = SystemFiles()
        var temporary = path
        temporary.removeLastComponent()
        temporary.append(".\(path.lastComponent?.string ?? "visits").new")
        do throws(Errno) { try files.remove(temporary) } catch .noSuchFileOrDirectory {} catch {
            throw EventLogError.createFailed(path.string, error)
        }
        var output = try LineOutput(creating: temporary)
        try page.write(book, book.silences.filter { isWanted($0) }, totals, into: &output)
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
