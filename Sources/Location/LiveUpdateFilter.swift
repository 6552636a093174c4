public import BaseTypes
public import BeaconMonitoring

/// Converts fixes to updates: a value whose inputs are fixes and time.
///
///     var updates = LiveUpdateFilter(.fitness, at: fix.time)
///     for update in updates.located(fix) { print(update.location as Any, update.stationary) }
public struct LiveUpdateFilter: Sendable {
    private let configuration: LocationUpdate.LiveConfiguration
    private let filter: LocationFilter
    /// The time of the last fix, or of the start; `nil` before the first input.
    private var lastFix: Instant?
    private var isUnavailable = false
    private var isStationary = false
    /// The position at which it has stayed, and since when.
    private var anchor: (fix: LocationFix, since: Instant)?
    private var handedOver: LocationFix?
    /// The time of the last fix with the desired accuracy, or of the start.
    private var lastExact: Instant?
    private var diagnostics: Diagnostics = []

    /// Creates a filter. Without a time, it starts with its first input.
    public init(
        _ configuration: LocationUpdate.LiveConfiguration = .default, filter: LocationFilter = LocationFilter(),
        at now: Instant? = nil
    ) {
        self.configuration = configuration
        self.filter = filter
        lastFix = now
        lastExact = now
    }

    /// The next time at which ``advance(to:)`` must be called; `nil` if there is none.
    public var nextDeadline: Instant? { isUnavailable ? nil : lastFix.map { $0 + filter.unavailableAfter } }

    /// Handles a time. After a long time without a fix, the location is unavailable.
    public mutating func advance(to now: Instant) -> [LocationUpdate] {
        guard let lastFix else {
            lastFix = now
            lastExact = now
            return []
        }
        guard !isUnavailable, lastFix + filter.unavailableAfter <= now else { return [] }
        isUnavailable = true
        isStationary = false
        anchor = nil
        var update = self.update(nil)
        update.locationUnavailable = true
        return [update]
    }

    /// Sets the diagnostics. A change is an update.
    public mutating func set(_ diagnostics: Diagnostics) -> [LocationUpdate] {
        guard diagnostics != self.diagnostics else { return [] }
        self.diagnostics = diagnostics
        var update = self.update(nil)
        update.locationUnavailable = isUnavailable
        update.stationary = isStationary
        return [update]
    }

    /// Handles a fix. Everything that is due before it is handled first.
    public mutating func located(_ fix: LocationFix) -> [LocationUpdate] {
        let due = advance(to: fix.time)
        lastFix = max(lastFix ?? fix.time, fix.time)
        let returns = isUnavailable
        isUnavailable = false
        let resumes = isStationary && hasMoved(fix)
        if resumes || anchor == nil || hasMoved(fix) { anchor = (fix, fix.time) }
        if isStationary, !resumes { return due }
        isStationary = false
        if let anchor, fix.time - anchor.since >= configuration.stationaryAfter {
            isStationary = true
            var update = self.update(filter.desiredAccuracy.reduced(fix))
            update.stationary = true
            update.accuracyLimited = isLimited(fix)
            handedOver = fix
            return due + [update]
        }
        let isLimited = isLimited(fix)
        if !isLimited || filter.desiredAccuracy.isReduced { lastExact = fix.time }
        // A better fix was recent, and may follow.
        guard
            !isLimited || filter.desiredAccuracy.isReduced || returns || handedOver == nil
                || fix.time - (lastExact ?? fix.time) >= filter.accuracyPatience
        else { return due }
        let shown = filter.desiredAccuracy.reduced(fix)
        if let handedOver, !resumes, !returns {
            let before = filter.desiredAccuracy.reduced(handedOver)
            guard before.coordinate.distance(to: shown.coordinate) >= filter.distanceFilter else { return due }
            if filter.desiredAccuracy.isReduced, before.coordinate == shown.coordinate { return due }
        }
        handedOver = fix
        var update = self.update(shown)
        update.accuracyLimited = isLimited
        return due + [update]
    }

    private func isLimited(_ fix: LocationFix) -> Bool {
        if filter.desiredAccuracy.isReduced { return true }
        return filter.desiredAccuracy.metres.map { fix.horizontalAccuracy > $0 } ?? false
    }

    /// Returns whether the gateway has moved from where it stayed, by more than the error of the fix.
    private func hasMoved(_ fix: LocationFix) -> Bool {
        guard let anchor else { return false }
        let distance = anchor.fix.coordinate.distance(to: fix.coordinate)
        return distance - min(fix.horizontalAccuracy, configuration.stationaryRadius) > configuration.stationaryRadius
    }

    private func update(_ fix: LocationFix?) -> LocationUpdate {
        var update = LocationUpdate(location: fix)
        update.diagnostics = diagnostics
        return update
    }
}
