import Foundation
import Testing

@testable import BeaconMonitoring

@Suite struct ExponentialTests {
    @Test func `exponential, logarithm and power agree with the C library`() {
        for step in -700...700 {
            let x = Double(step) / 7.3
            #expect(abs(Exponential.exp(x) - exp(x)) <= 1e-13 * exp(x), "\(x)")
            let base = exp(x)
            #expect(abs(Exponential.log(base) - log(base)) <= 1e-14 * max(1, abs(log(base))), "\(base)")
        }
        for base in stride(from: 0.01, through: 20, by: 0.37) {
            for power in [0.1, 1, 2.5, 6.9476, 10] {
                let expected = pow(base, power)
                #expect(abs(Exponential.power(base, power) - expected) <= 1e-12 * expected, "\(base) \(power)")
            }
        }
        #expect(Exponential.exp(0) == 1)
        #expect(Exponential.log(1) == 0)
        #expect(Exponential.power(0, 10) == 0)
        #expect(Exponential.exp(-701) == 0)
        #expect(Exponential.exp(.infinity).isFinite)
        for hostile in [0, -1, .infinity, .nan] { #expect(Exponential.log(hostile).isFinite) }
    }
}

@Suite struct DistanceModelTests {
    /// Free space loses 20 dB for each tenfold distance (ITU-R P.525, equation 4), and 6.02 dB for each doubling.
    @Test(arguments: [
        (-59, -59.0, 1.0), (-59, -65.020_599_913, 2), (-59, -79, 10), (-59, -39, 0.1), (-59, -99, 100), (0, -60, 1000),
    ])
    func `path loss with the default exponent is that of free space`(
        power: Int, rssi: Double, metres: Double
    ) throws {
        let distance = try #require(DistanceModel.standard.distance(measuredPower: Int8(power), rssi: rssi))
        #expect(abs(distance - metres) < 1e-9 * metres)
    }

    /// The exponents are from Rappaport, table 4.2. RSSI falls by 10 n dB for each tenfold distance.
    @Test(arguments: [1.6, 1.8, 2, 2.7, 3, 3.5, 4, 5, 6])
    func `the exponent n loses 10 n dB for each tenfold distance`(exponent: Double) throws {
        let model = DistanceModel.pathLoss(exponent: exponent)
        for decade in 0...3 {
            let rssi = -59 - 10 * exponent * Double(decade)
            let distance = try #require(model.distance(measuredPower: -59, rssi: rssi))
            let expected = pow(10, Double(decade))
            #expect(abs(distance - expected) < 1e-9 * expected)
        }
    }

    /// Published results of the curves, from the tests of the Android Beacon Library and from articles.
    ///
    /// - Nexus 5 (0.42093, 6.9476, 0.54992): "Distance should be 1.0 for same power and rssi", within 0.1
    ///   (`ModelSpecificDistanceCalculatorTest.testCalculatesDistance`).
    /// - Moto X Pro (0.9401940951, 6.170094565, 0): 2.661125466 m at −58 dBm for −49 dBm
    ///   (`testCalculatesDistanceForMotoXPro` of the same test).
    /// - The first curve of the library (0.89976, 7.7095, 0.111), published in "Understanding iBeacon distancing"
    ///   (stackoverflow.com/a/20434019): 1.01 m at −55 for −55 dBm, 16.27 m at −80, as its readers calculated.
    @Test(arguments: [
        (DistanceModel.CurveFit.nexus5, -59, -59.0, 1.0, 0.1),
        (DistanceModel.CurveFit(0.9401940951, 6.170094565, 0), -49, -58, 2.661125466, 1e-6),
        (DistanceModel.CurveFit(0.89976, 7.7095, 0.111), -55, -55, 1.01, 0.005),
        (DistanceModel.CurveFit(0.89976, 7.7095, 0.111), -55, -80, 16.27, 0.01),
    ])
    func `the curve gives the published distances`(
        curve: DistanceModel.CurveFit, power: Int, rssi: Double, metres: Double, tolerance: Double
    ) throws {
        let distance = try #require(DistanceModel.curveFit(curve).distance(measuredPower: Int8(power), rssi: rssi))
        #expect(abs(distance - metres) <= tolerance, "\(distance)")
    }

    @Test func `if the ratio of RSSI to measured power is below 1, the distance is its tenth power`() throws {
        let model = DistanceModel.curveFit(.nexus5)
        let near = try #require(model.distance(measuredPower: -60, rssi: -30))
        #expect(abs(near - pow(0.5, 10)) < 1e-15)
    }

    @Test(arguments: [(-59, 0.0), (-59, 3), (0, -60), (7, -60), (0, 0)])
    func `the curve gives no distance if RSSI or measured power is not negative`(power: Int, rssi: Double) {
        #expect(DistanceModel.curveFit(.nexus5).distance(measuredPower: Int8(power), rssi: rssi) == nil)
    }

    @Test func `for any bytes of a beacon and any curve, a distance is a number within its bounds`() {
        let models: [DistanceModel] = [
            .standard, .pathLoss(exponent: 1), .pathLoss(exponent: 0), .pathLoss(exponent: .nan),
            .curveFit(.nexus5), .curveFit(DistanceModel.CurveFit(1e9, 1e9, 1e9)),
            .curveFit(DistanceModel.CurveFit(-5, -7, -100)), .curveFit(DistanceModel.CurveFit(.nan, .infinity, .nan)),
        ]
        for model in models {
            for power in Int8.min...Int8.max {
                for rssi in [-128.0, -127, -59.5, -1, 0, 20, 127] {
                    guard let distance = model.distance(measuredPower: power, rssi: rssi) else { continue }
                    #expect((0...DistanceModel.distanceMax).contains(distance), "\(model) \(power) \(rssi)")
                }
            }
        }
        #expect(DistanceModel.standard.distance(measuredPower: 0, rssi: .nan) == nil)
    }
}

@Suite struct ProximityTests {
    @Test func `the bounds of proximity are 0.5 m and 4 m`() {
        let settings = RangingSettings()
        #expect(settings.proximity(of: 0.4999) == .immediate)
        #expect(settings.proximity(of: 0.5) == .near)
        #expect(settings.proximity(of: 3.9999) == .near)
        #expect(settings.proximity(of: 4) == .far)
        #expect(settings.proximity(of: nil) == .unknown)
    }

    @Test func `the bounds of proximity can be changed`() {
        let settings = RangingSettings(immediateBelow: 1, nearBelow: 3)
        #expect(settings.proximity(of: 0.9) == .immediate)
        #expect(settings.proximity(of: 2.9) == .near)
        #expect(settings.proximity(of: 3) == .far)
    }

    @Test func `the window is clamped to 1 to 10 whole seconds`() {
        #expect(RangingSettings(window: 0).window == 1)
        #expect(RangingSettings(window: 10).window == 10)
        #expect(RangingSettings(window: 11).window == 10)
    }
}
