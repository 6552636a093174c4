import BeaconMonitoring

/// What `occupancy` is asked for.
package struct OccupancyOptions: Sendable {
    /// What there is a series of.
    package enum Division: String, Sendable, CaseIterable {
        /// One of all beacons together.
        case all
        /// One of each condition.
        case condition
        /// One of each group of named beacons, and one of those that are in none.
        case group
        /// One of each gateway.
        case gateway
    }

    /// The files, the time and the zone, the condition and the beacons that are asked for, the form, the page.
    package var visits: VisitsOptions
    /// How long an interval is: ``lengths``, whole seconds.
    package var every: Duration = .seconds(900)
    /// What there is a series of.
    package var by = Division.all

    /// How long an interval may be: a minute to a day.
    package static let lengths = OccupancyIntervals.lengths

    /// The occupancy that the files of `visits` tell of.
    package init(_ visits: VisitsOptions) { self.visits = visits }
}
