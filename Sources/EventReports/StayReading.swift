import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog

/// From event files to the stays of each gateway, not put together: what is read, of whom, and what is said where nothing
/// is found.
struct StayReading {
    private let options: VisitsOptions
    private var reader: LogReader
    private var named: NamedSubjects
    /// What the gateways told besides; complete once the files are read.
    private(set) var books = VisitsBooks()

    /// Opens the files.
    ///
    /// - Throws: ``EventLogError``, and ``ExitFailure`` where there is none.
    init(_ options: VisitsOptions) throws {
        self.options = options
        reader = try LogReader(options.paths)
        try NothingFound.check(reader)
        named = NamedSubjects(condition: options.condition, beacon: options.beacon)
    }

    /// Reads the files and hands over each stay of whom was asked for, of each gateway: those that ended in the order of
    /// their ends, then those that had not. They are not clipped.
    ///
    /// - Throws: ``EventLogError``, ``ExitFailure`` where nothing can be found, and what `body` throws.
    mutating func read(_ body: (VisitsBook.Stay) throws -> Void) throws {
        // It hands over lines while it reads: what takes them in is changed meanwhile.
        var reader = reader
        defer { self.reader = reader }
        var progress = Progress(size: reader.size)
        var stays: [VisitsBook.Stay] = []
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
            for stay in stays where isWanted(stay.subject) { try body(stay) }
            stays.removeAll(keepingCapacity: true)
            return true
        }
        try NothingFound.check(afterReading: reader, options.paths)
        for proof in reader.proofs { books.note(proof) }
        for stay in books.finish() where isWanted(stay.subject) { try body(stay) }
        try NothingFound.check(options, books, named)
        progress.end()
    }

    /// What the operator should know of the files.
    var remarks: [String] {
        var remarks = reader.proofTroubles.map { "\($0); the last line is the newest proof that the gateway was alive" }
        if let remark = reader.newerRemark { remarks.append(remark) }
        if reader.damagedLines > 0 { remarks.append("\(reader.damagedLines) lines are damaged and were passed over") }
        if reader.repeatedLines > 0 {
            remarks.append("\(reader.repeatedLines) lines stand in the files twice and were counted once")
        }
        if books.silencesLeftOut > 0 {
            remarks.append("\(books.silencesLeftOut) stretches in which an adapter heard nothing are left out")
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

    private func isWanted(_ subject: VisitsBook.Subject) -> Bool {
        isWanted(subject.identifier.text, subject.beacon)
    }

    private func isWanted(_ identifier: String, _ beacon: BeaconIdentity?) -> Bool {
        if let condition = options.condition, condition != identifier { return false }
        guard let filter = options.beacon else { return true }
        return beacon.map { filter.matches($0) } ?? false
    }
}
