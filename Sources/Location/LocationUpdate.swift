public import BeaconMonitoring

/// What became of this gateway's place.
///
/// Source: Apple, `CLLocationUpdate`.
public struct LocationUpdate: Sendable, Hashable {
    /// Where it is; absent where that is not known.
    public var location: LocationFix?
    /// It stands still: no more updates come until it moves, whose first says that it does not.
    public var stationary = false
    /// There is no fix.
    public var locationUnavailable = false
    /// The location is less exact than it was asked for, or made coarse on purpose.
    public var accuracyLimited = false
    /// The flags of a monitor that concern who may know it: see the properties of their names.
    public var diagnostics: Diagnostics = []

    /// gpsd, or the kernel, refuses this user (EACCES, EPERM).
    public var authorizationDenied: Bool { diagnostics.contains(.authorizationDenied) }
    /// Locations are switched off for the machine.
    public var authorizationDeniedGlobally: Bool { diagnostics.contains(.authorizationDeniedGlobally) }
    /// Whether this user may is not known yet.
    public var authorizationRequestInProgress: Bool { diagnostics.contains(.authorizationRequestInProgress) }
    /// Nothing that this user does will help.
    public var authorizationRestricted: Bool { diagnostics.contains(.authorizationRestricted) }
    /// Explicit service sessions are demanded and none is held.
    public var insufficientlyInUse: Bool { diagnostics.contains(.insufficientlyInUse) }
    /// Explicit service sessions are demanded.
    public var serviceSessionRequired: Bool { diagnostics.contains(.serviceSessionRequired) }

    /// An update with a fix, or without one; all else is false until it is set.
    public init(location: LocationFix? = nil) { self.location = location }

    /// The updates of a feed from now on, for any number of subscribers; they end when the task does.
    ///
    /// - Parameters:
    ///   - configuration: what they are for.
    ///   - filter: which of them are wanted.
    ///   - feed: where they come from.
    /// - Returns: the sequence of updates.
    public static func liveUpdates(
        _ configuration: LiveConfiguration = .default, filter: LocationFilter = LocationFilter(),
        from feed: LocationFeed = .shared
    ) -> Updates { Updates(feed: feed, configuration: configuration, filter: filter) }
}

/// Which updates are wanted: what Core Location's own lack.
public struct LocationFilter: Sendable, Hashable {
    /// The metres that it must have gone since the last location that was handed over; 0: any.
    public var distanceFilter = 0.0
    /// How exact locations have to be.
    public var desiredAccuracy = DesiredAccuracy.best
    /// For so long what is less exact is held back, as long as there was something better.
    public var accuracyPatience: Duration = .seconds(10)
    /// So long there must have been no fix before `locationUnavailable`: a tunnel's length, not a bridge's.
    public var unavailableAfter: Duration = .seconds(10)

    /// All of them.
    public init() {}
}
