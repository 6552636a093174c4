import BeaconMonitoring
import Testing

@testable import GatewayConfiguration

@Suite struct RangingTests {
    private func ranging(_ text: String) throws -> RangingSettings {
        try configuration(file("ranging: {\(text)}")).ranging
    }

    @Test func `the defaults are the model of free space and a window of 5 s`() throws {
        #expect(try configuration(file("")).ranging == RangingSettings())
        #expect(RangingSettings().model == .pathLoss(exponent: 2))
        #expect(RangingSettings().window == 5)
    }

    @Test func `model, exponent, coefficients and window can be set`() throws {
        #expect(try ranging("exponent: 2.7").model == .pathLoss(exponent: 2.7))
        #expect(try ranging("model: path_loss, exponent: 1").model == .pathLoss(exponent: 1))
        #expect(try ranging("exponent: 8").model == .pathLoss(exponent: 8))
        #expect(try ranging("model: curve_fit").model == .curveFit(.nexus5))
        #expect(
            try ranging("model: curve_fit, coefficients: [0.89976, 7.7095, -0.111]").model
                == .curveFit(DistanceModel.CurveFit(0.89976, 7.7095, -0.111)))
        #expect(try ranging("window: 1s").window == 1)
        #expect(try ranging("window: 10s").window == 10)
        #expect(try ranging("window: 2000ms").window == 2)
    }

    @Test(arguments: [
        ("exponent: 0.99", "ranging.exponent is 0.99; expected 1…8"),
        ("exponent: 8.01", "ranging.exponent is 8.01; expected 1…8"),
        ("exponent: nan", "ranging.exponent is nan; expected a decimal number, with a point before the fraction"),
        ("model: kalman", "ranging.model is kalman; expected path_loss or curve_fit"),
        ("window: 1500ms", "ranging.window is 1500ms; expected whole seconds, 1s…10s"),
        (
            "coefficients: [1, 2, 3]",
            "ranging.coefficients are only for curve_fit; write model: curve_fit, or remove them"
        ),
        (
            "model: curve_fit, exponent: 2",
            "ranging.exponent is only for path_loss; write model: path_loss, or remove it"
        ),
        (
            "model: curve_fit, coefficients: [1, 2]",
            "ranging.coefficients has 2 entries; expected three, such as [0.42093, 6.9476, 0.54992]"
        ),
        (
            "model: curve_fit, coefficients: [1, 2, 3, 4]",
            "ranging.coefficients has more than 3 entries; expected three, such as [0.42093, 6.9476, 0.54992]"
        ),
        ("model: curve_fit, coefficients: [1, 2, 101]", "a coefficient is 101; expected −100…100"),
        ("modell: curve_fit", "the key modell in ranging is unknown; did you mean “model”?"),
    ])
    func `an invalid setting is an error with the expected value`(text: String, message: String) {
        let found = errors(file("ranging: {\(text)}"))
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(message) == true, "\(found)")
    }

    @Test(arguments: ["0s", "999ms", "11s"]) func `a window out of bounds is an error`(window: String) {
        #expect(errors(file("ranging: {window: \(window)}")).count == 1)
    }
}

@Suite struct ScanningDemandTests {
    private func scanner(_ text: String) throws -> ScannerConfiguration {
        try configuration(file("scanner: {\(text)}")).scanner
    }

    @Test func `each scanning mode gives its demand`() throws {
        #expect(try configuration(file("")).scanner.demand == ServiceDemand(.passive, needsFullAccuracy: true))
        #expect(try scanner("mode: passive").demand == ServiceDemand(.passive, needsFullAccuracy: true))
        #expect(
            try scanner("mode: active, adapters: [hci1]").demand
                == ServiceDemand(.active, needsFullAccuracy: true, adapters: .only(["hci1"])))
        #expect(try scanner("mode: low_power").demand == ServiceDemand(.lowPower(.low)))
        #expect(
            try scanner("mode: low_power, duty_cycle: 0.25").demand
                == ServiceDemand(.lowPower(DutyCycle(part: 0.25))))
    }

    @Test(arguments: [
        ("mode: low_power, duty_cycle: 0", "scanner.duty_cycle is 0; expected 0.01…1"),
        ("mode: low_power, duty_cycle: 1.1", "scanner.duty_cycle is 1.1; expected 0.01…1"),
        (
            "duty_cycle: 0.1",
            "scanner.duty_cycle is only for low_power; write mode: low_power, or remove it"
        ),
    ])
    func `a duty cycle must be 0.01 to 1, and only low_power can have one`(text: String, message: String) {
        let found = errors(file("scanner: {\(text)}"))
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(message) == true, "\(found)")
    }
}
