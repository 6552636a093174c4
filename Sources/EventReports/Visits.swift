import BeaconMonitoring
import BluetoothLE
package import CommandSupport
import EventLog
import JSON
import SystemPackage

/// Who was here when, told from the event files alone.
package struct Visits {
    /// What stays come to, of one subject.
    struct Total {
        var count = 0
        /// Microseconds.
        var duration: Int64 = 0
        var open = 0
        var last: WallDate?

        mutating func add(_ stay: VisitsBook.Stay) {
            count += 1
            duration += stay.duration ?? 0
            if stay.end == .open { open += 1 }
            let seen = stay.departure ?? stay.until
            last = max(last ?? seen, seen)
        }
    }

    // Invented beacons of a year must not fill the memory.
    static let totalsMax = 200_000

    let options: VisitsOptions
    var totals: [VisitsBook.Subject: Total] = [:]
    var totalsLeftOut = 0

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
    mutating func read(
        _ body: (VisitsBook.Stay) throws(EventLogError) -> Void
    ) throws -> (VisitsBook, [String]) {
        var reader = try LogReader(options.places)
        var progress = Progress(size: reader.size)
        var book = VisitsBook()
        var stays: [VisitsBook.Stay] = []
        try reader.read(
            [.event, .visit, .condition, .adapter, .clock], sightings: false,
            progress: { count, position in progress.note(count, position: { position }) }
        ) { line in
            guard concerns(line) else { return true }
            book.take(line, into: &stays)
            guard !stays.isEmpty else { return true }
            for stay in stays where isWanted(stay) {
                count(stay)
                try body(stay)
            }
            stays.removeAll(keepingCapacity: true)
            return true
        }
        for stay in book.finish(at: nil) where isWanted(stay) {
            count(stay)
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
        if totalsLeftOut > 0 {
            remarks.append("\(totalsLeftOut) visits are not in the totals: more than \(Self.totalsMax) beacons")
        }
        return (book, remarks)
    }

    private func concerns(_ line: LogLine) -> Bool {
        switch line.entry {
        case .event(let event): isWanted(event.identifier, event.scope == .beacon ? event.refinement : nil)
        case .visit(let visit): isWanted(visit.identifier, visit.scope == .beacon ? visit.refinement : nil)
        case .condition, .adapter, .clock, .evidence: true
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

    func isWanted(_ silence: VisitsBook.Silence) -> Bool {
        if let from = options.from, let end = silence.to, end <= from { return false }
        if let to = options.to, silence.from >= to { return false }
        return true
    }

    private mutating func count(_ stay: VisitsBook.Stay) {
        if totals[stay.subject] == nil, totals.count >= Self.totalsMax {
            totalsLeftOut += 1
            return
        }
        totals[stay.subject, default: Total()].add(stay)
    }
}

extension LogReader {
    /// What is to be said where a later version of the program has written lines.
    var newerRemark: String? {
        guard newerLines > 0 else { return nil }
        return "\(newerLines) lines were written by a later version of the program and were passed over; use that"
    }
}
