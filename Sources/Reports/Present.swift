package import BeaconMonitoring
package import CommandSupport
import EventLog
import JSON

/// `visits --now`: reports the beacons that are present, from the event files alone.
package struct Present {
    private let options: VisitsOptions
    private let now: WallDate

    /// Creates a report. ``run()`` reads the files. `now` is the time of the machine's wall clock.
    package init(_ options: VisitsOptions, now: WallDate) {
        self.options = options
        self.now = now
    }

    /// Reads the files and writes the report.
    ///
    /// - Returns: remarks for the operator.
    /// - Throws: ``ExitFailure`` if the files cannot be read, or the report cannot be written.
    package func run() throws(ExitFailure) -> [String] {
        let (report, remarks) = try PresentReport.read(options, now: now)
        do throws(EventLogError) {
            if let html = options.html {
                try PageFile.write(html) { output throws(EventLogError) in
                    try PresentWriter(report, options).writePage(into: &output)
                }
                return remarks
            }
            var output = LineOutput(standardOutput: LineBuffer(forTerminals: 128 << 10))
            PresentWriter(report, options).write(into: &output.buffer)
            try output.flush()
        } catch {
            throw ExitFailure(error)
        }
        return remarks
    }
}
