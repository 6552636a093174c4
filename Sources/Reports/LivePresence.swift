package import BeaconMonitoring
package import CommandSupport
package import EventLog

/// The beacons that are present, updated line by line by a program that follows the files. It computes visits
/// with the same code as all reports.
package struct LivePresence: Sendable {
    private var trackers = VisitTrackers()
    private var visits: [VisitTracker.SubjectVisit] = []
    /// The visits that ended recently.
    package private(set) var recent = RecentVisits()

    /// Creates a value that has not read a line.
    package init() {}

    /// Adds a line. Lines must be added in the order of the files.
    package mutating func note(_ line: LogLine) {
        trackers.note(line, into: &visits)
        // A visit that ended is not a presence, but the live page of `serve` draws it in the day of its beacon.
        for visit in visits { recent.note(visit) }
        visits.removeAll(keepingCapacity: true)
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
        var trackers = trackers
        if let proof { trackers.note(proof, at: now) }
        var ongoing = trackers.finish(at: now)
        ongoing.removeAll { $0.end != .open }
        let finder = PresenceFinder(trackers, now: now)
        return PresentReport(
            made: now, gateways: finder.gateways,
            presences: finder.presences(of: ongoing, ongoing: ongoing, directory))
    }
}

extension LivePresence: ByteCoded {
    package static var blank: LivePresence { LivePresence() }

    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&trackers)
        try coder.code(&recent)
    }
}
