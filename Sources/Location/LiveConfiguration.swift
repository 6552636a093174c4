extension LocationUpdate {
    /// What updates are for: it decides when this gateway counts as stationary.
    ///
    /// Source: Apple, `CLLocationUpdate.LiveConfiguration`; its thresholds are not published, these are ours.
    public enum LiveConfiguration: Sendable, Hashable, CaseIterable {
        /// No purpose in particular.
        case `default`
        /// A vehicle on roads: a red light is not the end of a drive.
        case automotiveNavigation
        /// A boat, a train: slower to turn, and often slow.
        case otherNavigation
        /// Somebody on foot or a bicycle.
        case fitness
        /// In the air: nothing stands still there.
        case airborne

        /// How long it must have stayed within ``stationaryRadius`` to be stationary.
        public var stationaryAfter: Duration {
            switch self {
            case .default: .seconds(60)
            case .automotiveNavigation: .seconds(180)
            case .otherNavigation: .seconds(120)
            case .fitness: .seconds(30)
            case .airborne: .seconds(600)
            }
        }

        /// In metres: more than a receiver at rest wanders.
        public var stationaryRadius: Double {
            switch self {
            case .default, .otherNavigation: 20
            case .automotiveNavigation: 30
            case .fitness: 10
            case .airborne: 100
            }
        }
    }
}
