internal import BeaconMonitoring

/// `ranging`: how distances are guessed.
extension Reader {
    enum Model: String, CaseIterable { case pathLoss = "path_loss", curveFit = "curve_fit" }

    mutating func ranging(_ root: Section<RootKey>) -> RangingSettings {
        var settings = RangingSettings()
        let section = section(RangingKey.self, at: root[.ranging], path: "ranging")
        let model = setting(.model, of: section, Self.choice(Model.self))
        let exponent = setting(.exponent, of: section) { (text) throws(ScalarProblem) in
            let number = try ScalarSyntax.number(text)
            guard DistanceModel.exponentRange.contains(number) else { throw ScalarProblem("expected 1…8") }
            return number
        }
        let curve = coefficients(section)
        let window = setting(.window, of: section, Self.window)
        if let window = window.value { settings.window = window }
        guard section.node != nil, !model.isMistaken else { return settings }
        switch model.value ?? .pathLoss {
        case .pathLoss:
            if let node = section[.coefficients] {
                mistakes.report(
                    at: document.offset(of: node - 1), "ranging.coefficients have no part in path_loss",
                    hint: "write model: curve_fit, or take them out")
            }
            if let exponent = exponent.value { settings.model = .pathLoss(exponent: exponent) }
        case .curveFit:
            if let offset = exponent.offset {
                mistakes.report(
                    at: offset, "ranging.exponent has no part in curve_fit",
                    hint: "write model: path_loss, or take it out")
            }
            settings.model = .curveFit(curve ?? .nexus5)
        }
        return settings
    }

    private mutating func coefficients(_ section: Section<RangingKey>) -> DistanceModel.CurveFit? {
        guard let node = section[.coefficients] else { return nil }
        let example = "[0.42093, 6.9476, 0.54992]"
        guard let list = list(at: node, called: "ranging.coefficients", example: example) else { return nil }
        // A fourth is one too many already: the list may be long.
        let entries = Array(list.prefix(4))
        guard entries.count == 3 else {
            if !document.nodes[node].isOpen {
                mistakes.report(
                    at: document.offset(of: node),
                    "ranging.coefficients has \(entries.count == 4 ? "more than 3" : "\(entries.count)") entries",
                    hint: "expected three, such as \(example)")
            }
            return nil
        }
        let numbers = entries.compactMap { entry in
            value(at: entry, called: "a coefficient", Self.coefficient).value
        }
        return numbers.count == 3 ? DistanceModel.CurveFit(numbers[0], numbers[1], numbers[2]) : nil
    }

    private static func coefficient(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> Double {
        let number = try ScalarSyntax.number(text)
        guard DistanceModel.CurveFit.range.contains(number) else { throw ScalarProblem("expected −100…100") }
        return number
    }

    /// What `ranging.window` may be.
    static var rangingWindow: ClosedRange<Duration> {
        .seconds(RangingSettings.windowRange.lowerBound) ... .seconds(RangingSettings.windowRange.upperBound)
    }

    private static func window(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> Int {
        let most = RangingSettings.windowRange.upperBound
        let duration = try duration(in: rangingWindow)(text)
        let (seconds, rest) = duration.components
        guard rest == 0 else { throw ScalarProblem("expected whole seconds, 1s…\(most)s") }
        return Int(seconds)
    }
}
