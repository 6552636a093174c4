import BeaconMonitoring

/// The options of `occupancy`.
package struct OccupancyOptions: Sendable {
    /// The division of the report into series.
    package enum Division: String, Sendable, CaseIterable {
        /// One series of all beacons together.
        case all
        /// One series for each condition.
        case condition
        /// One series for each group of named beacons, and one for beacons without a group.
        case group
        /// One series for each gateway.
        case gateway
    }

    /// The files, the range, the zone, the requested condition and beacons, the format, and the page.
    package var visits: VisitsOptions
    /// The length of an interval, within ``lengths``, in whole seconds.
    package var every: Duration = .seconds(900)
    /// The division into series.
    package var by = Division.all

    /// The valid lengths of an interval: a minute to a day.
    package static let lengths = OccupancyIntervals.lengths

    /// Creates options for the files, range and format of `visits`.
    package init(_ visits: VisitsOptions) { self.visits = visits }
}
