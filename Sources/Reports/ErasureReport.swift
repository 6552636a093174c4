package import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
import EventLog
import JSON
import OperatorLogging
package import SystemPackage

/// The result of an erasure or of a dry run, to keep or to give to the person who requested it: as JSON, CSV, or a
/// page. It contains the beacon by its numbers, never by a name.
package struct ErasureReport {
    /// The form of the output.
    package enum Format: Sendable {
        /// A JSON object on one line.
        case json
        /// RFC 4180: headings, and one record.
        case csv
        /// A page in this file; `-` means standard output.
        case page(FilePath)
    }

    /// The erased beacon.
    package var beacon: BeaconIdentity
    /// The folder of the event files.
    package var folder: FilePath
    /// Whether this was a dry run, which changes no file.
    package var isDryRun: Bool
    /// Only data from before this date are erased; `nil` means all.
    package var before: WallDate?
    /// The number of lines of the beacon.
    package var erased = 0
    /// The number of other lines that contained the beacon.
    package var cleared = 0
    /// The number of files that were written again.
    package var files = 0
    /// The number of places in damaged lines that contained the beacon.
    package var damaged = 0
    /// The changes, and the places that the erasure does not reach, one sentence each.
    package var words: [String] = []
    /// The date of the erasure.
    package var made: WallDate
    /// The form of dates.
    package var time: ZonedTime

    /// Creates the report of an erasure that found nothing.
    package init(
        _ beacon: BeaconIdentity, in folder: FilePath, isDryRun: Bool, before: WallDate?, made: WallDate,
        time: ZonedTime
    ) {
        (self.beacon, self.folder, self.isDryRun) = (beacon, folder, isDryRun)
        (self.before, self.made, self.time) = (before, made, time)
    }

    /// Writes the report.
    ///
    /// - Throws: ``ExitFailure`` if it cannot be written.
    package func write(_ format: Format) throws(ExitFailure) {
        do throws(EventLogError) {
            switch format {
            case .page(let path):
                try PageFile.write(path) { output throws(EventLogError) in writePage(into: &output.buffer) }
            case .json, .csv:
                var output = LineOutput(standardOutput: LineBuffer(forTerminals: 4096))
                let columns = ReportColumns(Self.columns, time)
                if case .json = format {
                    VisitsWriter.line("erasure", into: &output.buffer) { columns.writeMembers(self, into: &$0) }
                } else {
                    columns.writeHeadings(into: &output.buffer)
                    columns.writeRecord(self, into: &output.buffer)
                }
                try output.flush()
            }
        } catch {
            throw ExitFailure(error)
        }
    }

    private static var columns: [ReportColumn<ErasureReport>] {
        [
            .init(.beacon { $0.beacon }, json: "beacon", csv: .init(1)),
            .init(.text { $0.folder.string }, json: "folder", csv: .init(4, "folder")),
            .init(.boolean { $0.isDryRun }, json: "dryRun", csv: .init(5, "dry_run")),
            .init(.date { $0.before }, json: "before", csv: .init(6, "before", offset: 12)),
            .init(.integer { $0.erased }, json: "erased", csv: .init(7, "erased")),
            .init(.integer { $0.cleared }, json: "cleared", csv: .init(8, "cleared")),
            .init(.integer { $0.files }, json: "files", csv: .init(9, "files")),
            .init(.integer { $0.damaged }, json: "damaged", csv: .init(10, "damaged")),
            .init(.date { $0.made }, json: "date", csv: .init(11, "made", offset: 13)),
            .init(.texts { $0.words }, json: "text"),
        ]
    }

    private func writePage(into buffer: inout LineBuffer) {
        let parts = PageParts(time)
        let heading = isDryRun ? "Erasure, dry run" : "Erasure"
        parts.begin(heading, heading: heading, into: &buffer)
        parts.writeProofs([], made: made, into: &buffer)
        buffer.append("<table class=\"facts\"><thead><tr><th>Item</th><th>Value</th></tr></thead><tbody>\n")
        var rows = [("Beacon", "\(beacon)"), ("Folder", folder.string)]
        if let before { rows.append(("Before", "\(time.plainText(before)) \(time.zone(at: before))")) }
        rows += [
            ("Lines of the beacon, erased", "\(erased)"), ("Other lines, cleared of its identity", "\(cleared)"),
            ("Files rewritten", "\(files)"), ("Damaged places", "\(damaged)"),
        ]
        for (name, value) in rows {
            buffer.append("<tr><th scope=\"row\">\(PlainText.html(name))</th><td>\(PlainText.html(value))</td></tr>\n")
        }
        buffer.append("</tbody></table>\n<ul>\n")
        for sentence in words { buffer.append("<li>\(PlainText.html(sentence))</li>\n") }
        buffer.append("</ul>\n")
        parts.end(into: &buffer)
    }
}
