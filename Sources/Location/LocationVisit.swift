public import BaseTypes
public import BeaconMonitoring

/// A stay of this gateway's at one place.
///
/// Source: Apple, `CLVisit`: told of at the arrival with the departure open, and again when that is known.
public struct LocationVisit: Sendable, Hashable {
    /// Where: the middle of what was heard there.
    public var coordinate: Coordinate
    /// Metres, 68 %.
    public var horizontalAccuracy: Double
    /// The first fix there.
    public var arrival: Instant
    /// The last fix there; absent while it stays.
    public var departure: Instant?
}

/// Finds stays in fixes: a value.
public struct VisitDetector: Sendable {
    /// How long it has to stay. Apple names no number; five minutes is what a red light never lasts.
    public static let stayMin: Duration = .seconds(300)
    /// Within so many metres of where it came to rest.
    public static let radius = 100.0

    private var first: LocationFix?
    private var last: LocationFix?
    private var visit: LocationVisit?

    /// A detector that has seen nothing.
    public init() {}

    /// The stays that a fix tells of: one that ended, then one that is one now.
    public mutating func located(_ fix: LocationFix) -> [LocationVisit] {
        guard let first, let last else {
            begin(fix)
            return []
        }
        let distance = first.coordinate.distance(to: fix.coordinate)
        // Only what is away for certain has left; what is too coarse to tell neither stays nor leaves.
        if distance - fix.horizontalAccuracy > Self.radius {
            var ended = visit
            ended?.departure = last.time
            begin(fix)
            return ended.map { [$0] } ?? []
        }
        guard distance <= Self.radius else { return [] }
        self.last = fix
        if first.horizontalAccuracy > fix.horizontalAccuracy, visit == nil { self.first = better(fix, than: first) }
        guard visit == nil, fix.time - first.time >= Self.stayMin else { return [] }
        let begun = LocationVisit(
            coordinate: (self.first ?? first).coordinate, horizontalAccuracy: (self.first ?? first).horizontalAccuracy,
            arrival: first.time)
        visit = begun
        return [begun]
    }

    private mutating func begin(_ fix: LocationFix) {
        first = fix
        last = fix
        visit = nil
    }

    /// The more exact place, of the same arrival.
    private func better(_ fix: LocationFix, than first: LocationFix) -> LocationFix {
        var better = fix
        better.time = first.time
        return better
    }
}
