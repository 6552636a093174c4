/// How far a beacon is, by what its frame claims for one metre and how strong it is heard.
///
/// A guess: a body between beacon and gateway costs 10 dB, which is three times the distance in free space. What it is good
/// for is to tell which of several beacons is nearest.
public enum DistanceModel: Sendable, Hashable {
    /// The log-distance path loss model: RSSI falls by `10 × exponent` dB for each tenfold distance, so the distance is
    /// `10 ^ ((measuredPower − rssi) / (10 × exponent))`.
    ///
    /// Source: T. S. Rappaport, "Wireless Communications: Principles and Practice", 2nd edition, §4.9.1; its table 4.2 has
    /// 2 for free space, 1.6 to 1.8 along a line of sight in buildings, 2 to 3 in factories, 4 to 6 behind walls.
    case pathLoss(exponent: Double)
    /// A curve that was fitted to measurements of one receiver.
    case curveFit(CurveFit)

    /// The path loss of free space: measured power is calibrated in the open, and a beacon that can be seen from the
    /// gateway is the case that distances are looked at for.
    public static let standard = DistanceModel.pathLoss(exponent: 2)

    /// What an exponent may be: Rappaport's table with room on either side.
    public static let exponentRange: ClosedRange<Double> = 1...8

    /// The coefficients of the AltBeacon project's curve: with `ratio = rssi / measuredPower` the distance is
    /// `coefficient1 × ratio ^ coefficient2 + coefficient3`, and `ratio ^ 10` where the ratio is below 1.
    ///
    /// Source: the Android Beacon Library, `CurveFittedDistanceCalculator` and `model-distance-calculations.json`; how to
    /// measure them for a receiver is in its article "Calculating formula constants".
    public struct CurveFit: Sendable, Hashable {
        /// What the power is multiplied by.
        public var coefficient1: Double
        /// The power that the ratio is raised to.
        public var coefficient2: Double
        /// What is added, in metres.
        public var coefficient3: Double

        /// What a coefficient may be.
        public static let range: ClosedRange<Double> = -100...100

        /// A curve of these three coefficients, each within ``range``.
        public init(_ coefficient1: Double, _ coefficient2: Double, _ coefficient3: Double) {
            self.coefficient1 = coefficient1
            self.coefficient2 = coefficient2
            self.coefficient3 = coefficient3
        }

        /// Those of the Nexus 5, which the Android Beacon Library takes for every receiver that it does not know.
        public static let nexus5 = CurveFit(0.42093, 6.9476, 0.54992)
    }

    /// The farthest distance that is told: half of the Earth's girth, beyond which an octet of RSSI proves only a mistake.
    public static let distanceMax = 2e7

    /// The distance in metres of a beacon that is `measuredPower` dBm strong at one metre and is heard with `rssi` dBm:
    /// 0 … ``distanceMax``; absent where the model has no answer.
    ///
    /// Both may be anything that an octet holds. The path loss model answers always; the curve only where both are below
    /// 0 dBm, for a ratio of anything else means nothing.
    public func distance(measuredPower: Int8, rssi: Double) -> Double? {
        guard rssi.isFinite else { return nil }
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
    /// The nearest value within `range`; its lower bound where there is none.
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        isNaN ? range.lowerBound : min(max(self, range.lowerBound), range.upperBound)
    }
}
