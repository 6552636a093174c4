/// Estimates the distance of a beacon from its measured power and its RSSI.
///
/// The result is a rough estimate: a person between beacon and gateway costs 10 dB, which is a factor of three in free
/// space. It is good for comparing the distances of several beacons.
///
///     let distance = DistanceModel.standard.distance(measuredPower: -59, rssi: -79)
///     #expect(distance.map { abs($0 - 10) < 1e-6 } == true)
public enum DistanceModel: Sendable, Hashable {
    /// The log-distance path loss model: the RSSI decreases by `10 × exponent` dB for each factor of ten in distance,
    /// so the distance is `10 ^ ((measuredPower − rssi) / (10 × exponent))`.
    ///
    /// Source: T. S. Rappaport, "Wireless Communications: Principles and Practice", 2nd edition, §4.9.1. Table 4.2 has
    /// 2 for free space, 1.6 to 1.8 along a line of sight in buildings, 2 to 3 in factories, and 4 to 6 behind walls.
    case pathLoss(exponent: Double)
    /// A curve that was fitted to measurements with one receiver.
    case curveFit(CurveFit)

    /// The path loss of free space, because measured power is calibrated in the open, and distances are mostly of
    /// interest for beacons in sight of the gateway.
    public static let standard = DistanceModel.pathLoss(exponent: 2)

    /// The range of exponents: Rappaport's table with a margin on both sides.
    public static let exponentRange: ClosedRange<Double> = 1...8

    /// The coefficients of the AltBeacon project's curve. With `ratio = rssi / measuredPower`, the distance is
    /// `coefficient1 × ratio ^ coefficient2 + coefficient3`; if the ratio is below 1, it is `ratio ^ 10`.
    ///
    /// Source: the Android Beacon Library, `CurveFittedDistanceCalculator` and `model-distance-calculations.json`. Its
    /// article "Calculating formula constants" describes how to measure the coefficients of a receiver.
    public struct CurveFit: Sendable, Hashable {
        /// The factor of the power.
        public var coefficient1: Double
        /// The exponent of the ratio.
        public var coefficient2: Double
        /// The constant term, in metres.
        public var coefficient3: Double

        /// The range of each coefficient.
        public static let range: ClosedRange<Double> = -100...100

        /// Creates a curve. Coefficients outside ``range`` count as its nearest bound.
        public init(_ coefficient1: Double, _ coefficient2: Double, _ coefficient3: Double) {
            self.coefficient1 = coefficient1
            self.coefficient2 = coefficient2
            self.coefficient3 = coefficient3
        }

        /// The coefficients of the Nexus 5, which the Android Beacon Library uses for all unknown receivers.
        public static let nexus5 = CurveFit(0.42093, 6.9476, 0.54992)
    }

    /// The maximum distance in metres: half of the Earth's circumference.
    public static let distanceMax = 2e7

    /// Estimates the distance to a beacon.
    ///
    /// The path loss model has a result for each finite `rssi`. The curve has one only if both are below 0 dBm, because
    /// other ratios have no meaning.
    ///
    /// - Parameters:
    ///   - measuredPower: the RSSI at one metre that the beacon declares, in dBm; `nil` if it is unknown.
    ///   - rssi: the received signal strength in dBm.
    /// - Returns: the distance in metres, 0 … ``distanceMax``; `nil` if the model has no result, or the measured
    ///   power is unknown.
    public func distance(measuredPower: Int8?, rssi: Double) -> Double? {
        guard let measuredPower, rssi.isFinite else { return nil }
        switch self {
        case .pathLoss(let exponent):
            let exponent = exponent.clamped(to: Self.exponentRange)
            let distance = Exponential.exp10((Double(measuredPower) - rssi) / (10 * exponent))
            return min(distance, Self.distanceMax)
        case .curveFit(let curve):
            guard measuredPower < 0, rssi < 0 else { return nil }
            let ratio = rssi / Double(measuredPower)
            guard ratio >= 1 else { return Exponential.power(ratio, 10) }
            let one = curve.coefficient1.clamped(to: CurveFit.range)
            let two = curve.coefficient2.clamped(to: CurveFit.range)
            let three = curve.coefficient3.clamped(to: CurveFit.range)
            let power = Exponential.exp(two * Exponential.log(ratio))
            return min(max(one * power + three, 0), Self.distanceMax)
        }
    }
}

extension Double {
    /// Returns the nearest value within `range`; the lower bound if the value is not a number.
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        isNaN ? range.lowerBound : min(max(self, range.lowerBound), range.upperBound)
    }
}
