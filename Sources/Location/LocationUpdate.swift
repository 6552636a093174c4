public import BeaconMonitoring

/// An update of the position of this gateway, or of its availability.
///
///     for await update in LocationUpdate.liveUpdates(.otherNavigation) {
///         if let fix = update.location { print(fix.coordinate) }
///         if update.stationary { break }
///     }
///
/// Source: Apple, `CLLocationUpdate`.
public struct LocationUpdate: Sendable, Hashable {
    /// The position; `nil` if it is unknown, and in an update that only reports a change of ``diagnostics``.
    public var location: LocationFix?
    /// Whether the gateway is stationary. No more updates with a location follow until it moves; the first of those has
    /// `false`.
    public var stationary = false
    /// The same as ``stationary``: the first name of that property in Core Location.
    ///
    ///     if update.isStationary { print("parked") }
    public var isStationary: Bool { stationary }
    /// Whether there is no fix.
    public var locationUnavailable = false
    /// Whether the location is less accurate than desired, or its accuracy was reduced on purpose.
    public var accuracyLimited = false
    /// The diagnostics that concern access to the position; each has a property below.
    public var diagnostics: Diagnostics = []

    /// gpsd or the kernel denies this user access (EACCES, EPERM).
    public var authorizationDenied: Bool { diagnostics.contains(.authorizationDenied) }
    /// Locations are disabled for the machine. Only a source of the program can set this.
    public var authorizationDeniedGlobally: Bool { diagnostics.contains(.authorizationDeniedGlobally) }
    /// It is not known yet whether this user has access.
    public var authorizationRequestInProgress: Bool { diagnostics.contains(.authorizationRequestInProgress) }
    /// This user cannot get access. Only a source of the program can set this.
    public var authorizationRestricted: Bool { diagnostics.contains(.authorizationRestricted) }
    /// Explicit service sessions are required and none is held.
    public var insufficientlyInUse: Bool { diagnostics.contains(.insufficientlyInUse) }
    /// Explicit service sessions are required and none is held.
    public var serviceSessionRequired: Bool { diagnostics.contains(.serviceSessionRequired) }

    /// Creates an update. All flags are `false`.
    public init(location: LocationFix? = nil) { self.location = location }

    /// Returns the updates of a feed, for any number of subscribers. Each starts with its iterator, such as that of a
    /// loop, without earlier fixes, and ends with its task.
    ///
    /// - Parameters:
    ///   - configuration: the purpose of the updates.
    ///   - filter: the required distance and accuracy.
    ///   - feed: the feed that delivers them.
    /// - Returns: the sequence of updates.
    public static func liveUpdates(
        _ configuration: LiveConfiguration = .default, filter: LocationFilter = LocationFilter(),
        from feed: LocationFeed = .shared
    ) -> Updates { Updates(feed: feed, configuration: configuration, filter: filter) }
}

/// Selects updates. Core Location's updates have no such filter.
public struct LocationFilter: Sendable, Hashable {
    /// The minimum distance in metres from the last delivered location; 0 by default, which delivers all.
    public var distanceFilter = 0.0
    /// The desired accuracy.
    public var desiredAccuracy = DesiredAccuracy.best
    /// The time after the last fix with the desired accuracy for which less accurate fixes are held back; 10 s by
    /// default.
    public var accuracyPatience: Duration = .seconds(10)
    /// The time without a fix before `locationUnavailable`; 10 s by default, so that a bridge over the road has no
    /// effect.
    public var unavailableAfter: Duration = .seconds(10)

    /// Creates a filter that selects all updates.
    public init() {}
}
