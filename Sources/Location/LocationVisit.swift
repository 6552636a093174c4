public import BaseTypes
public import BeaconMonitoring

/// A visit of this gateway at one place.
///
/// It is delivered at the arrival with an open departure, and again when the departure is known. Source: Apple,
/// `CLVisit`.
public struct LocationVisit: Sendable, Hashable {
    /// The position of the most accurate of the first fixes at the place.
    public var coordinate: Coordinate
    /// The accuracy in metres, 68 %.
    public var horizontalAccuracy: Double
    /// The time of the first fix at the place.
    public var arrival: Instant
    /// The time of the last fix at the place; `nil` while the visit is open.
    public var departure: Instant?
    /// ``arrival``, on the wall clock (`CLVisit.arrivalDate`); `nil` if the first fix at the place has no date.
    ///
    ///     for await visit in feed.visits {
    ///         if let date = visit.departureDate ?? visit.arrivalDate { print(date, visit.coordinate) }
    ///     }
    public var arrivalDate: WallDate?
    /// ``departure``, on the wall clock (`CLVisit.departureDate`); `nil` while the visit is open, and if the last fix
    /// at the place has no date.
    ///
    ///     for await visit in feed.visits {
    ///         if let date = visit.departureDate { print("left", visit.coordinate, date) }
    ///     }
    public var departureDate: WallDate?
}

/// Detects visits in fixes: a value.
///
///     var detector = VisitDetector()
///     for fix in fixes {
///         for visit in detector.located(fix) { print(visit.coordinate, visit.departure as Any) }
///     }
public struct VisitDetector: Sendable {
    /// The minimum length of a visit. Apple documents no value; five minutes are longer than a stop at a red light.
    public static let visitMin: Duration = .seconds(300)
    /// The radius in metres around the first position.
    public static let radius = 100.0

    private var first: LocationFix?
    private var last: LocationFix?
    private var visit: LocationVisit?

    /// Creates a detector without input.
    public init() {}

    /// Returns the visits that a fix completes or starts.
    public mutating func located(_ fix: LocationFix) -> [LocationVisit] {
        guard let first, let last else {
            begin(fix)
            return []
        }
        let distance = first.coordinate.distance(to: fix.coordinate)
        // A gateway has left only if the fix proves it. A fix that is too inaccurate has no effect.
        if distance - fix.horizontalAccuracy > Self.radius {
            var ended = visit
            ended?.departure = last.time
            ended?.departureDate = last.date
            begin(fix)
            return ended.map { [$0] } ?? []
        }
        guard distance <= Self.radius else { return [] }
        self.last = fix
        if first.horizontalAccuracy > fix.horizontalAccuracy, visit == nil { self.first = better(fix, than: first) }
        guard visit == nil, fix.time - first.time >= Self.visitMin else { return [] }
        let begun = LocationVisit(
            coordinate: (self.first ?? first).coordinate, horizontalAccuracy: (self.first ?? first).horizontalAccuracy,
            arrival: first.time, arrivalDate: first.date)
        visit = begun
        return [begun]
    }

    private mutating func begin(_ fix: LocationFix) {
        first = fix
        last = fix
        visit = nil
    }

    /// Returns the more accurate position with the time of the arrival.
    private func better(_ fix: LocationFix, than first: LocationFix) -> LocationFix {
        var better = fix
        better.time = first.time
        better.clockOffset = first.clockOffset
        return better
    }
}
