package import BeaconMonitoring
package import BluetoothLE
package import SystemPackage

/// What `visits` is asked for.
package struct VisitsOptions: Sendable {
    /// The form in which visits are told.
    package enum Format: Sendable {
        /// A table for people.
        case table
        /// A JSON object a line.
        case json
        /// RFC 4180, with a line of headings.
        case csv
    }

    /// Folders of event files, or files.
    package var paths: [FilePath]
    /// From when on time counts: of a visit that began before, what lies behind it.
    package var from: WallDate?
    /// Up to when time counts: of a visit that went on, what lies before it.
    package var to: WallDate?
    /// Those of the two dates that clocks show twice.
    package var ambiguousDates: [AmbiguousDate] = []
    /// The only condition whose visits are told; all where absent.
    package var condition: String?
    /// The only beacons whose visits are told; all where absent.
    package var beacon: BeaconFilter?
    /// How dates are told.
    package var time = VisitsTime(isUTC: false)
    /// Names and groups of beacons, by the configuration.
    package var directory = BeaconDirectory()
    /// When the report is made: what the machine's wall clock says.
    package var made: WallDate?
    /// The form on standard output.
    package var format = Format.table
    /// The file for a page with a timeline, and nothing goes to standard output then; `-`: the page goes there.
    package var html: FilePath?
    /// What stands before a line's number in links of the page to why it was written; no links where absent.
    package var explanations: String?

    /// How many visits the page lists at most.
    package var listedMax = VisitsPage.listedMax
    /// Behind how many of them it begins to.
    package var listedAfter = 0
    /// What stands before `after=…` in its links to the pages before and behind it; no links where absent.
    package var pages: String?

    /// All visits in event files: `paths` are the files, or folders of them.
    package init(paths: [FilePath]) { self.paths = paths }
}
