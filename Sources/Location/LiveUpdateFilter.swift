public import BaseTypes
public import BeaconMonitoring

/// Turns fixes into updates: a value; fixes and time go in, updates come out.
public struct LiveUpdateFilter: Sendable {
    private let configuration: LocationUpdate.LiveConfiguration
    private let filter: LocationFilter
    /// The last fix, or the beginning; absent before anything told the time.
    private var lastFix: Instant?
    private var isUnavailable = false
    private var isStationary = false
    /// Where it has been staying, and since when.
    private var anchor: (fix: LocationFix, since: Instant)?
    private var handedOver: LocationFix?
    /// When something as exact as is asked for came last, or the beginning.
    private var lastExact: Instant?
    private var diagnostics: Diagnostics = []

    /// A filter that has seen nothing; without a time it begins with what it sees first.
    public init(
        _ configuration: LocationUpdate.LiveConfiguration = .default, filter: LocationFilter = LocationFilter(),
        at now: Instant? = nil
    ) {
        self.configuration = configuration
        self.filter = filter
        lastFix = now
        lastExact = now
    }

    /// When it next wants ``advance(to:)``.
    public var nextDeadline: Instant? { isUnavailable ? nil : lastFix.map { $0 + filter.unavailableAfter } }

    /// Handles what is due: no fix for long enough is none.
    public mutating func advance(to now: Instant) -> [LocationUpdate] {
        guard let lastFix else {
            lastFix = now
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

    /// Takes the flags that the world outside raises; a change of them is an update.
    public mutating func set(_ diagnostics: Diagnostics) -> [LocationUpdate] {
        guard diagnostics != self.diagnostics else { return [] }
        self.diagnostics = diagnostics
        var update = self.update(nil)
        update.locationUnavailable = isUnavailable
        update.stationary = isStationary
        return [update]
    }

    /// Takes a fix; what was due before it is handled first.
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
        // Something better came lately, and may come again.
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

    /// Whether it is away from where it stayed by more than the fix can err.
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
