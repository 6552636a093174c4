package import BeaconMonitoring
package import EventLog

/// Who is here, kept up to date line by line: for whoever follows files, the books that all reports are told from.
package struct PresentFold: Sendable {
    private var books = VisitsBooks()
    private var stays: [VisitsBook.Stay] = []
    /// Who was here before, within a day.
    package private(set) var recent = RecentStays()

    /// Nothing has been read yet.
    package init() {}

    /// Takes in a line, in the order of the files.
    package mutating func note(_ line: LogLine) {
        books.note(line, into: &stays)
        // Who has left is not here; somebody's day has it.
        for stay in stays { recent.note(stay) }
        stays.removeAll(keepingCapacity: true)
    }

    /// Who is here, as ``PresentReport/read(_:now:)`` tells of the same lines.
    ///
    /// - Parameters:
    ///   - proof: that the gateway was alive beside its lines, where that is known.
    ///   - now: what the wall clock of the machine that asks says.
    ///   - directory: who is who.
    /// - Returns: the report.
    package func report(
        _ proof: LogReader.Proof?, now: WallDate, _ directory: BeaconDirectory
    ) -> PresentReport {
        var books = books
        if let proof { books.note(proof, at: now) }
        var goingOn = books.finish(at: now)
        goingOn.removeAll { $0.end != .open }
        let finder = PresenceFinder(books, now: now)
        return PresentReport(
            made: now, gateways: finder.gateways,
            presences: finder.presences(of: goingOn, goingOn: goingOn, directory))
    }
}

extension PresentFold: Kept {
    package static var blank: PresentFold { PresentFold() }

    package mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&books)
        try octets.pass(&recent)
    }
}
