/// Sine, cosine and arc tangent, which the standard library does not have.
///
/// Implemented here so that the core imports nothing and replays do not depend on the C library of the machine. The
/// error is about 10⁻¹⁵ for the angles that occur in geodesics.
enum Trigonometry {
    /// Returns the sine and the cosine of an angle in radians.
    static func sineCosine(_ angle: Double) -> (sine: Double, cosine: Double) {
        guard angle.isFinite else { return (.nan, .nan) }
        // Reduces the angle to −π/4 … π/4. π/2 is split into two parts; the first has 33 bits, so that its products
        // here are exact (W. J. Cody, W. Waite, “Software Manual for the Elementary Functions”, 1980).
        let quarters = (angle * 0.636_619_772_367_581_343).rounded()
        let rest = (angle - quarters * 1.570_796_326_734_125_614_17) - quarters * 6.077_100_506_506_192_249_32e-11
        let square = rest * rest
        // Taylor series; the omitted terms are below 10⁻¹⁷.
        var sine = 0.0
        var cosine = 0.0
        for index in oddFactors.indices {
            sine = sine * square + oddFactors[index]
            cosine = cosine * square + evenFactors[index]
        }
        sine *= rest
        switch quarters.truncatingRemainder(dividingBy: 4) {
        case 0: return (sine, cosine)
        case 1, -3: return (cosine, -sine)
        case 2, -2: return (-sine, -cosine)
        default: return (-cosine, sine)
        }
    }

    static func sin(_ angle: Double) -> Double { sineCosine(angle).sine }

    static func cos(_ angle: Double) -> Double { sineCosine(angle).cosine }

    /// Returns the angle of the direction (x, y), −π … π, with the arguments in the order of C.
    static func atan2(_ y: Double, _ x: Double) -> Double {
        let (width, height) = (abs(x), abs(y))
        guard width > 0 || height > 0, width.isFinite, height.isFinite else {
            return x.sign == .minus && y == 0 ? .pi : 0
        }
        // A first approximation with an error of 0.004. Rotating back by it leaves a small angle, for which a short
        // series suffices.
        let ratio = min(width, height) / max(width, height)
        let octant = ratio * (.pi / 4 + 0.273 * (1 - ratio))
        let first = height > width ? .pi / 2 - octant : octant
        let turn = sineCosine(first)
        let rest = (height * turn.cosine - width * turn.sine) / (width * turn.cosine + height * turn.sine)
        let square = rest * rest
        let angle = first + rest * (1 - square * (1 / 3 - square * (1 / 5 - square / 7)))
        let upper = x < 0 ? .pi - angle : angle
        return y < 0 ? -upper : upper
    }

    /// Returns the angle with the given sine, −π/2 … π/2. Values beyond ±1 count as ±1.
    static func asin(_ sine: Double) -> Double {
        let sine = min(max(sine, -1), 1)
        return atan2(sine, ((1 - sine) * (1 + sine)).squareRoot())
    }

    // ±1/n!, starting with the highest n.
    private static let oddFactors = factors(from: 17)
    private static let evenFactors = factors(from: 16)

    private static func factors(from highest: Int) -> InlineArray<9, Double> {
        InlineArray { index in
            let power = highest - 2 * index
            let factorial = stride(from: 2, through: power, by: 1).reduce(1.0) { $0 * Double($1) }
            return (power / 2).isMultiple(of: 2) ? 1 / factorial : -1 / factorial
        }
    }
}
