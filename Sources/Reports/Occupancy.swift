package import CommandSupport
import EventLog
import JSON
import OperatorLogging
import SystemPackage

/// How many were here at once, told from the event files alone, in the form that was asked for.
package struct Occupancy {
    private let options: OccupancyOptions

    /// Occupancy that has not been read.
    package init(_ options: OccupancyOptions) { self.options = options }

    /// Reads the files and tells what is in them.
    ///
    /// - Returns: what the operator should know besides.
    /// - Throws: ``ExitFailure`` where the files can't be read or what is told can't be written.
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
