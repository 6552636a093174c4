/// Exponential function, logarithm and powers, for distances from signal strengths.
///
/// The core imports no C library, and the standard library has no transcendental functions. Relative errors are below
/// 10⁻¹³ for the values of ranging (exponents within ±700), and the results are the same on every machine.
enum Exponential {
    static let ln10 = 2.302_585_092_994_045_7
    // ln 2 in two parts. The first ends with zero bits, so that its integer multiples are exact.
    private static let ln2High = 6.931_471_803_691_238_2e-1
    private static let ln2Low = 1.908_214_929_270_587_7e-10

    /// Returns e to the power of `x`. It is 0 below −700; above 700, it is the value at 700.
    static func exp(_ x: Double) -> Double {
        guard x > -700 else { return 0 }
        let x = min(x, 700)
        let scale = (x / (ln2High + ln2Low)).rounded()
        let rest = (x - scale * ln2High) - scale * ln2Low
        // |rest| ≤ ln 2 / 2, so the fifteenth term is below 10⁻¹⁸.
        var sum = 1.0
        for term in stride(from: 15.0, through: 1, by: -1) { sum = 1 + rest / term * sum }
        return Double(sign: .plus, exponent: Int(scale), significand: sum)
    }

    /// Returns the natural logarithm of `x`, which should be above 0 and finite. Other values count as the least
    /// positive number.
    static func log(_ x: Double) -> Double {
        let x = x > 0 && x.isFinite ? x : .leastNormalMagnitude
        var (exponent, part) = (Double(x.exponent), x.significand)
        if part > 1.414_213_562_373_095 {
            part /= 2
            exponent += 1
        }
        // ln m = 2 artanh((m − 1) / (m + 1)). The argument is below 0.172, so the thirteenth term is below 10⁻¹⁸.
        let ratio = (part - 1) / (part + 1)
        let square = ratio * ratio
        var sum = 0.0
        for power in stride(from: 25.0, through: 1, by: -2) { sum = sum * square + 1 / power }
        return exponent * ln2High + (2 * ratio * sum + exponent * ln2Low)
    }

    /// Returns 10 to the power of `x`.
    static func exp10(_ x: Double) -> Double { exp(x * ln10) }

    /// Returns `base`, 0 or more, to the power of `exponent`, above 0.
    static func power(_ base: Double, _ exponent: Double) -> Double {
        base > 0 ? exp(exponent * log(base)) : 0
    }
}
