extension LocationUpdate {
    /// The purpose of updates, which decides when this gateway counts as stationary.
    ///
    /// Source: Apple, `CLLocationUpdate.LiveConfiguration`. Apple does not publish the thresholds; these are this
    /// project's.
    public enum LiveConfiguration: Sendable, Hashable, CaseIterable {
        /// No particular purpose.
        case `default`
        /// A vehicle on roads: a stop at a red light must not count as stationary.
        case automotiveNavigation
        /// A boat or a train, which is often slow.
        case otherNavigation
        /// A person on foot or on a bicycle.
        case fitness
        /// An aircraft, which does not stop.
        case airborne

        /// The time within ``stationaryRadius`` after which the gateway is stationary.
        public var stationaryAfter: Duration {
            switch self {
            case .default: .seconds(60)
            case .automotiveNavigation: .seconds(180)
            case .otherNavigation: .seconds(120)
            case .fitness: .seconds(30)
            case .airborne: .seconds(600)
            }
        }

        /// The radius in metres. It must be larger than the noise of a receiver at rest.
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
