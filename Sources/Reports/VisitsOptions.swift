package import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
package import SystemPackage

/// The options of `visits`.
package struct VisitsOptions: Sendable {
    /// The format of visits on standard output.
    package enum Format: Sendable {
        /// A table for people.
        case table
        /// One JSON object per line.
        case json
        /// RFC 4180, with a line of headings.
        case csv
    }

    /// Folders of event files, or event files.
    package var paths: [FilePath]
    /// The start of the range. Of a visit that started before, only the part after it counts.
    package var from: WallDate?
    /// The end of the range. Of a visit that continued after it, only the part before it counts.
    package var to: WallDate?
    /// The dates of the range that clocks show twice.
    package var ambiguousDates: [AmbiguousDate] = []
    /// The only condition whose visits are reported; `nil` means all.
    package var condition: String?
    /// The only beacons whose visits are reported; `nil` means all.
    package var beacon: BeaconFilter?
    /// The form of dates.
    package var time = ZonedTime(isUTC: false)
    /// The names and groups of beacons in the configuration.
    package var directory = BeaconDirectory()
    /// The time at which the report is made, by the machine's wall clock.
    package var made: WallDate?
    /// The format on standard output.
    package var format = Format.table
    /// The file for a page with a timeline. If there is one, nothing else is written to standard output. `-` writes the
    /// page to standard output.
    package var html: FilePath?
    /// The start of the address of explanations in links of the page, to which the number of the line is appended;
    /// `nil` means no links.
    package var explanations: String?

    /// The maximum number of visits that the page lists.
    package var listedMax = VisitsPage.listedMax
    /// The number of visits before the first one that the page lists.
    package var listedAfter = 0
    /// The start of the address in links to the previous and the next page, to which `after=…` is appended; `nil` means
    /// no links.
    package var pages: String?

    /// Creates options for all visits in event files. `paths` are the files, or folders of them.
    package init(paths: [FilePath]) { self.paths = paths }
}
