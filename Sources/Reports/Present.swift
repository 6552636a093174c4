package import BeaconMonitoring
package import CommandSupport
import EventLog
import JSON

/// `visits --now`: who is here, told from the event files alone.
package struct Present {
    private let options: VisitsOptions
    private let now: WallDate

    /// Nothing has been read yet; `now` is what the machine's wall clock says.
    package init(_ options: VisitsOptions, now: WallDate) {
        self.options = options
        self.now = now
    }

    /// Reads the files and tells who is here.
    ///
    /// - Returns: what the operator should know besides.
    /// - Throws: ``ExitFailure`` where the files can't be read or what is told can't be written.
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
