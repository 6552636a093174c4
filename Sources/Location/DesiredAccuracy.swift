import BeaconMonitoring

/// The accuracy that a program wants.
///
/// It is a filter: a less accurate location is held back while a better one is recent. If no better one arrives, it is
/// delivered with `accuracyLimited`.
///
/// Source: Apple, `CLLocationAccuracy` and its seven constants.
public struct DesiredAccuracy: Sendable, Hashable {
    /// The accuracy in metres; `nil` accepts every accuracy.
    public let metres: Double?
    /// Whether locations are made less accurate on purpose.
    public let isReduced: Bool

    /// As `kCLLocationAccuracyBestForNavigation`: accepts every accuracy.
    public static let bestForNavigation = DesiredAccuracy(metres: nil)
    /// As `kCLLocationAccuracyBest`: accepts every accuracy.
    public static let best = DesiredAccuracy(metres: nil)
    /// As `kCLLocationAccuracyNearestTenMeters`.
    public static let nearestTenMeters = DesiredAccuracy(metres: 10)
    /// As `kCLLocationAccuracyHundredMeters`.
    public static let hundredMeters = DesiredAccuracy(metres: 100)
    /// As `kCLLocationAccuracyKilometer`.
    public static let kilometer = DesiredAccuracy(metres: 1000)
    /// As `kCLLocationAccuracyThreeKilometers`.
    public static let threeKilometers = DesiredAccuracy(metres: 3000)
    /// As `kCLLocationAccuracyReduced`: the centre of a cell of ``reducedCell`` degrees.
    public static let reduced = DesiredAccuracy(metres: nil, isReduced: true)

    /// The size of a cell of ``reduced`` in degrees: 5.6 km of latitude, and the same of longitude at the equator.
    public static let reducedCell = 0.05

    private init(metres: Double?, isReduced: Bool = false) {
        self.metres = metres
        self.isReduced = isReduced
    }

    /// Returns a fix with reduced accuracy if this requires it.
    func reduced(_ fix: LocationFix) -> LocationFix {
        guard isReduced else { return fix }
        func middle(_ degrees: Double) -> Double {
            ((degrees / Self.reducedCell).rounded(.down) + 0.5) * Self.reducedCell
        }
        // 3.9 km is half of a cell's diagonal at the equator.
        guard
            let coordinate = try? Coordinate(
                latitude: min(middle(fix.coordinate.latitude), 90),
                longitude: min(middle(fix.coordinate.longitude), 180)),
            var coarse = try? LocationFix(
                time: fix.time, coordinate: coordinate, horizontalAccuracy: max(fix.horizontalAccuracy, 3_900))
        else { return fix }
        coarse.clockOffset = fix.clockOffset
        return coarse
    }
}
