import BeaconMonitoring

/// How exact a location has to be.
///
/// Source: Apple, `CLLocationAccuracy` and its seven constants. Here it is a filter: what is less exact is not handed over
/// while something better came lately; where nothing better comes it is, and says `accuracyLimited`.
public struct DesiredAccuracy: Sendable, Hashable {
    /// Metres; none: whatever there is.
    public let metres: Double?
    /// Whether places are made coarse on purpose.
    public let isReduced: Bool

    /// As `kCLLocationAccuracyBestForNavigation`: whatever there is.
    public static let bestForNavigation = DesiredAccuracy(metres: nil)
    /// As `kCLLocationAccuracyBest`: whatever there is.
    public static let best = DesiredAccuracy(metres: nil)
    /// As `kCLLocationAccuracyNearestTenMeters`.
    public static let nearestTenMeters = DesiredAccuracy(metres: 10)
    /// As `kCLLocationAccuracyHundredMeters`.
    public static let hundredMeters = DesiredAccuracy(metres: 100)
    /// As `kCLLocationAccuracyKilometer`.
    public static let kilometer = DesiredAccuracy(metres: 1000)
    /// As `kCLLocationAccuracyThreeKilometers`.
    public static let threeKilometers = DesiredAccuracy(metres: 3000)
    /// As `kCLLocationAccuracyReduced`: the middle of a cell of ``reducedCell`` degrees.
    public static let reduced = DesiredAccuracy(metres: nil, isReduced: true)

    /// The cell of ``reduced`` in degrees of latitude, 5.6 km; its longitudes are as wide at the equator.
    public static let reducedCell = 0.05

    private init(metres: Double?, isReduced: Bool = false) {
        self.metres = metres
        self.isReduced = isReduced
    }

    /// A fix made as coarse as this asks for.
    func reduced(_ fix: LocationFix) -> LocationFix {
        guard isReduced else { return fix }
        func middle(_ degrees: Double) -> Double {
            ((degrees / Self.reducedCell).rounded(.down) + 0.5) * Self.reducedCell
        }
        // Half a cell's diagonal at the equator: 3.9 km.
        guard
            let coordinate = try? Coordinate(
                latitude: min(middle(fix.coordinate.latitude), 90),
                longitude: min(middle(fix.coordinate.longitude), 180)),
            let coarse = try? LocationFix(
                time: fix.time, coordinate: coordinate, horizontalAccuracy: max(fix.horizontalAccuracy, 3_900))
        else { return fix }
        return coarse
    }
}
