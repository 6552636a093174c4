/// An ellipsoid of revolution, and the shortest lines on it.
///
/// Source: T. Vincenty, “Direct and inverse solutions of geodesics on the ellipsoid with application of nested
/// equations”, Survey Review XXIII 176 (1975), pp. 88–93. The error on the Earth is below 0.5 mm. The inverse solution
/// does not converge between points that are nearly antipodal: see ``throughCircle(_:_:)``.
struct Ellipsoid {
    /// The equatorial radius in metres.
    let equatorialRadius: Double
    /// The difference of the equatorial and the polar radius, divided by the equatorial radius.
    let flattening: Double

    /// World Geodetic System 1984 (NGA.STND.0036, table 3.1).
    static let wgs84 = Ellipsoid(equatorialRadius: 6_378_137, flattening: 1 / 298.257223563)

    var polarRadius: Double { equatorialRadius * (1 - flattening) }

    /// Returns the minimum distance in metres of two places with the given difference in latitude, in degrees. It is
    /// the length along a meridian, whose radius of curvature is smallest at the equator: a(1 − e²).
    func distanceMinimum(latitudes degrees: Double) -> Double {
        let curvature = equatorialRadius * (1 - flattening) * (1 - flattening)
        return abs(degrees) * .pi / 180 * curvature
    }

    /// Returns the shortest line between two places: its length in metres, and its direction at the start, in degrees
    /// from north, −180 … 180, east positive.
    func inverse(_ from: Coordinate, _ to: Coordinate) -> (distance: Double, azimuth: Double) {
        if from == to { return (0, 0) }
        return converged(from, to) ?? throughCircle(from, to)
    }

    /// Vincenty's inverse solution; `nil` if the points are so nearly antipodal that it does not converge, or is
    /// inaccurate.
    private func converged(_ from: Coordinate, _ to: Coordinate) -> (distance: Double, azimuth: Double)? {
        let (sinU1, cosU1) = reduced(from.latitude)
        let (sinU2, cosU2) = reduced(to.latitude)
        let difference = Self.normalized(to.longitude - from.longitude) * .pi / 180
        var lambda = difference
        for _ in 0..<100 {
            let (sinLambda, cosLambda) = Trigonometry.sineCosine(lambda)
            let east = cosU2 * sinLambda
            let north = cosU1 * sinU2 - sinU1 * cosU2 * cosLambda
            let sinSigma = (east * east + north * north).squareRoot()
            let cosSigma = sinU1 * sinU2 + cosU1 * cosU2 * cosLambda
            let sigma = Trigonometry.atan2(sinSigma, cosSigma)
            // 177.6°. Beyond it, the iteration is slow and then wrong.
            guard sigma < 3.1 else { return nil }
            guard sinSigma > 0 else { return (0, 0) }
            let line = Line(sinAlpha: cosU1 * cosU2 * sinLambda / sinSigma, self)
            let cosMiddle = line.cosAlpha2 > 1e-15 ? cosSigma - 2 * sinU1 * sinU2 / line.cosAlpha2 : 0
            let next = difference + line.longitude(sigma, sinSigma, cosSigma, cosMiddle)
            let change = abs(next - lambda)
            lambda = next
            guard abs(lambda) <= .pi else { return nil }
            if change < 1e-13 {
                let distance = polarRadius * line.a * (sigma - line.deltaSigma(sinSigma, cosSigma, cosMiddle))
                return (distance, Trigonometry.atan2(east, north) * 180 / .pi)
            }
        }
        return nil
    }

    /// Returns the shortest line between nearly antipodal points, through a point on the circle at 90° from the first.
    ///
    /// Each line between the points crosses that circle. Therefore the minimum of the sum of both parts over all points
    /// of the circle is the length. Each part is a quarter of the Earth's circumference, where Vincenty's solution
    /// converges quickly.
    private func throughCircle(_ from: Coordinate, _ to: Coordinate) -> (distance: Double, azimuth: Double) {
        let (latitude, longitude) = (from.latitude * .pi / 180, from.longitude * .pi / 180)
        func point(_ angle: Double) -> Coordinate {
            // Directions from `from` as on a sphere. The exact position of the circle does not matter.
            let sinLatitude = Trigonometry.cos(latitude) * Trigonometry.cos(angle)
            let turn = Trigonometry.atan2(
                Trigonometry.sin(angle), -Trigonometry.sin(latitude) * Trigonometry.cos(angle))
            return Coordinate(
                computedLatitude: Trigonometry.asin(min(max(sinLatitude, -1), 1)) * 180 / .pi,
                longitude: Self.normalized((longitude + turn) * 180 / .pi))
        }
        func length(_ angle: Double) -> Double {
            let middle = point(angle)
            guard let first = converged(from, middle), let second = converged(middle, to) else { return .infinity }
            return first.distance + second.distance
        }
        let step = 2 * Double.pi / 64
        let coarse = (0..<64).map { length(Double($0) * step) }
        let best = coarse.indices.min { coarse[$0] < coarse[$1] } ?? 0
        var (low, high) = (Double(best - 1) * step, Double(best + 1) * step)
        let golden = (5.0.squareRoot() - 1) / 2
        var (left, right) = (high - golden * (high - low), low + golden * (high - low))
        var (atLeft, atRight) = (length(left), length(right))
        // Golden-section search: each step leaves 0.618 of the interval, so that 50 steps reach the precision of a
        // `Double`.
        for _ in 0..<50 {
            if atLeft < atRight {
                (high, right, atRight) = (right, left, atLeft)
                left = high - golden * (high - low)
                atLeft = length(left)
            } else {
                (low, left, atLeft) = (left, right, atRight)
                right = low + golden * (high - low)
                atRight = length(right)
            }
        }
        let angle = (low + high) / 2
        return (length(angle), converged(from, point(angle))?.azimuth ?? 0)
    }

    /// Vincenty's direct solution: returns the end of a line.
    func direct(_ from: Coordinate, azimuth: Double, distance: Double) -> Coordinate {
        guard distance != 0, distance.isFinite, azimuth.isFinite else { return from }
        let alpha = azimuth * .pi / 180
        let (sinAlpha, cosAlpha) = Trigonometry.sineCosine(alpha)
        let (sinU, cosU) = reduced(from.latitude)
        let line = Line(sinAlpha: cosU * sinAlpha, self)
        let start = Trigonometry.atan2(sinU, cosU * cosAlpha)
        let straight = distance / (polarRadius * line.a)
        var sigma = straight
        for _ in 0..<100 {
            let delta = line.deltaSigma(
                Trigonometry.sin(sigma), Trigonometry.cos(sigma), Trigonometry.cos(2 * start + sigma))
            let change = abs(straight + delta - sigma)
            sigma = straight + delta
            if change < 1e-13 { break }
        }
        let (sinSigma, cosSigma) = Trigonometry.sineCosine(sigma)
        let across = sinU * sinSigma - cosU * cosSigma * cosAlpha
        let latitude = Trigonometry.atan2(
            sinU * cosSigma + cosU * sinSigma * cosAlpha,
            (1 - flattening) * (line.sinAlpha * line.sinAlpha + across * across).squareRoot())
        let lambda = Trigonometry.atan2(sinSigma * sinAlpha, cosU * cosSigma - sinU * sinSigma * cosAlpha)
        let turn = lambda - line.longitude(sigma, sinSigma, cosSigma, Trigonometry.cos(2 * start + sigma))
        return Coordinate(
            computedLatitude: latitude * 180 / .pi,
            longitude: Self.normalized(from.longitude + turn * 180 / .pi))
    }

    /// Returns sine and cosine of the reduced latitude.
    private func reduced(_ degrees: Double) -> (sin: Double, cos: Double) {
        let radians = degrees * .pi / 180
        let (sine, cosine) = ((1 - flattening) * Trigonometry.sin(radians), Trigonometry.cos(radians))
        let length = (sine * sine + cosine * cosine).squareRoot()
        return (sine / length, cosine / length)
    }

    /// Returns degrees of longitude in −180 … 180.
    static func normalized(_ degrees: Double) -> Double {
        guard abs(degrees) > 180, degrees.isFinite else { return degrees }
        return degrees.remainder(dividingBy: 360)
    }

    /// The values of a line that Vincenty's series use, with the names of the paper: α is the azimuth at the equator.
    private struct Line {
        let sinAlpha: Double
        let cosAlpha2: Double
        let a: Double
        let b: Double
        private let c: Double
        private let flattening: Double

        init(sinAlpha: Double, _ ellipsoid: Ellipsoid) {
            self.sinAlpha = sinAlpha
            cosAlpha2 = max(0, 1 - sinAlpha * sinAlpha)
            flattening = ellipsoid.flattening
            let ratio = 1 / (1 - flattening)
            let u2 = cosAlpha2 * (ratio * ratio - 1)
            a = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
            b = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
            c = flattening / 16 * cosAlpha2 * (4 + flattening * (4 - 3 * cosAlpha2))
        }

        /// Equation 6.
        func deltaSigma(_ sinSigma: Double, _ cosSigma: Double, _ cosMiddle: Double) -> Double {
            let twice = -1 + 2 * cosMiddle * cosMiddle
            let last = b / 6 * cosMiddle * (-3 + 4 * sinSigma * sinSigma) * (-3 + 4 * cosMiddle * cosMiddle)
            return b * sinSigma * (cosMiddle + b / 4 * (cosSigma * twice - last))
        }

        /// Equation 11: the difference of the longitude on the auxiliary sphere and that on the ellipsoid.
        func longitude(_ sigma: Double, _ sinSigma: Double, _ cosSigma: Double, _ cosMiddle: Double) -> Double {
            let twice = -1 + 2 * cosMiddle * cosMiddle
            return (1 - c) * flattening * sinAlpha * (sigma + c * sinSigma * (cosMiddle + c * cosSigma * twice))
        }
    }
}
