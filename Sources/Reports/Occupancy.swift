package import CommandSupport
import EventLog
import JSON
import OperatorLogging
import SystemPackage

/// Reports how many beacons were present at once, from the event files alone, in the requested form.
package struct Occupancy {
    private let options: OccupancyOptions

    /// Creates a report. ``run()`` reads the files.
    package init(_ options: OccupancyOptions) { self.options = options }

    /// Reads the files and writes the report.
    ///
    /// - Returns: remarks for the operator.
    /// - Throws: ``ExitFailure`` if the files cannot be read, or the report cannot be written.
    package func run() throws(ExitFailure) -> [String] {
        let report = try OccupancyReport(options)
        do throws(EventLogError) {
            if let html = options.visits.html {
                try PageFile.write(html) { output throws(EventLogError) in
                    try OccupancyPage(options, report).write(into: &output)
                }
                return report.remarks
            }
            var output = LineOutput(standardOutput: LineBuffer(forTerminals: 128 << 10))
            let terminal = FileDescriptor.standardOutput
            let writer = OccupancyWriter(
                options, report, columns: terminal.isTerminal ? terminal.columns ?? 80 : nil)
            try writer.write(&output)
            try output.flush()
        } catch {
            throw ExitFailure(error)
        }
        return report.remarks
    }
}
