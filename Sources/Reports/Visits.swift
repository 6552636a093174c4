import BeaconMonitoring
package import CommandSupport
import EventLog
import JSON
import OperatorLogging
import SystemPackage

/// Reports which beacons were present, and when, from the event files alone.
package struct Visits {
    private let options: VisitsOptions
    private var totals = VisitsTotals()

    /// Creates a report. ``run()`` reads the files.
    package init(_ options: VisitsOptions) { self.options = options }

    /// Reads the files and writes the report.
    ///
    /// - Returns: remarks for the operator.
    /// - Throws: ``ExitFailure`` if the files cannot be read, or the report cannot be written.
    package mutating func run() throws(ExitFailure) -> [String] {
        do {
            if let html = options.html { return try writePage(html) }
            var output = LineOutput(standardOutput: LineBuffer(forTerminals: 128 << 10))
            var writer = VisitsWriter(options)
            writer.begin(&output.buffer)
            let (trackers, remarks) = try read(range: { writer.show(from: $0, to: $1) }) {
                visit throws(EventLogError) in
                writer.write(visit, into: &output.buffer)
                try output.flushIfFull()
            }
            writer.endVisits(into: &output.buffer)
            for silence in wanted(trackers.silences) { writer.write(silence, into: &output.buffer) }
            writer.end(totals, trackers, into: &output.buffer)
            try output.flush()
            return remarks
        } catch {
            throw ExitFailure(any: error)
        }
    }

    private mutating func read(
        range: (_ from: WallDate, _ to: WallDate) -> Void = { _, _ in },
        _ body: (VisitTracker.SubjectVisit) throws(EventLogError) -> Void
    ) throws -> (VisitTrackers, [String]) {
        let reader = VisitReader(options)
        var found = try reader.read(range: range) { visit throws(EventLogError) in
            totals.add(visit)
            try body(visit)
        }
        if totals.leftOut > 0 {
            found.remarks.append(
                PlainText.count(totals.leftOut, "visit is", "visits are")
                    + " not in the totals: more than \(VisitsTotals.countMax) beacons")
        }
        if totals.isCompacted {
            found.remarks.append(
                "the totals of beacons under several conditions may count the same time twice: there are more than "
                    + "\(PersonTime.spansMax) visits")
        }
        return (found.trackers, found.remarks)
    }

    private func wanted(_ silences: [ScanningPeriods.Silence]) -> [ScanningPeriods.Silence] {
        silences.compactMap { $0.clipped(from: options.from, to: options.to) }
    }

    private mutating func writePage(_ path: FilePath) throws -> [String] {
        var page = VisitsPage(options)
        let found = try read { visit throws(EventLogError) in page.add(visit) }
        let trackers = found.0
        var remarks = found.1
        let totals = totals
        try PageFile.write(path) { output throws(EventLogError) in
            try page.write(trackers, wanted(trackers.silences), totals, into: &output)
        }
        if page.leftOut > 0 {
            remarks.append("\(PlainText.count(page.leftOut, "visit is", "visits are")) not drawn: too many")
        }
        return remarks
    }
}
