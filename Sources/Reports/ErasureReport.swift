package import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
import EventLog
import JSON
import OperatorLogging
package import SystemPackage

/// What an erasure did, or would do, to be handed to whoever asked for it: as JSON, CSV, or a page. It has the beacon by its
/// numbers, and never by a name.
package struct ErasureReport {
    /// In which form it is told.
    package enum Format: Sendable {
        /// A JSON object on one line.
        case json
        /// RFC 4180: headings, and one record.
        case csv
        /// A page in this file; `-`: on standard output.
        case page(FilePath)
    }

    /// Who is forgotten.
    package var beacon: BeaconIdentity
    /// Where.
    package var folder: FilePath
    /// Whether nothing was touched.
    package var isDryRun: Bool
    /// What was before then alone; absent: everything.
    package var before: WallDate?
    /// Lines of its own.
    package var erased = 0
    /// Lines of others that named it.
    package var cleared = 0
    /// Files that were written anew.
    package var files = 0
    /// Damaged places that named it.
    package var damaged = 0
    /// What was done, and what is not reached, a sentence each.
    package var words: [String] = []
    /// When it was done.
    package var made: WallDate
    /// How dates are told.
    package var time: VisitsTime

    /// Of an erasure that found nothing.
    package init(
        _ beacon: BeaconIdentity, in folder: FilePath, isDryRun: Bool, before: WallDate?, made: WallDate,
        time: VisitsTime
    ) {
        (self.beacon, self.folder, self.isDryRun) = (beacon, folder, isDryRun)
        (self.before, self.made, self.time) = (before, made, time)
    }

    /// Writes it.
    ///
    /// - Throws: ``ExitFailure`` where that can't be.
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
