package import BeaconMonitoring
package import EventLog

/// The beacons that are present, updated line by line by a program that follows the files. It uses the same books as
/// all reports.
package struct LivePresence: Sendable {
    private var books = AllVisits()
    private var stays: [GatewayVisits.SubjectVisit] = []
    /// The visits that ended recently.
    package private(set) var recent = RecentVisits()

    /// Creates a value that has not read a line.
    package init() {}

    /// Adds a line. Lines must be added in the order of the files.
    package mutating func note(_ line: LogLine) {
        books.note(line, into: &stays)
        // A visit that ended is not a presence, but the live page of `serve` draws it in the day of its beacon.
        for stay in stays { recent.note(stay) }
        stays.removeAll(keepingCapacity: true)
    }

    /// Returns the same report as ``PresentReport/read(_:now:)`` for the same lines.
    ///
    /// - Parameters:
    ///   - proof: a time at which the gateway was alive, from another source than its lines; `nil` if there is none.
    ///   - now: the time of the wall clock of the machine that reports.
    ///   - directory: the names of beacons.
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

extension LivePresence: ByteCoded {
    package static var blank: LivePresence { LivePresence() }

    package mutating func pass(_ octets: inout ByteCoder) throws(ByteCoder.Damage) {
        try octets.pass(&books)
        try octets.pass(&recent)
    }
}
