import BeaconMonitoring

/// `monitor` with `conditions`, or `monitors`.
extension Reader {
    /// A monitor as in the file, before its settings are compared with each other and with other monitors.
    struct MonitorDraft {
        /// The path, `monitor` or `monitors`, and the offset in the file.
        let path: String
        let offset: Int
        var name: Setting<Identifier> = .absent
        var outageTimeout: Setting<Duration> = .absent
        var forgetAfter: Setting<Duration> = .absent
        var deafAfter: Setting<EngineConfiguration.DeafAfter> = .absent
        var conditionLimit: Setting<Int> = .absent
        var maxBeacons: Setting<Int> = .absent
        var maxNewBeacons: Setting<Int> = .absent
        var defaults = Overridable()
        /// The node of its list of conditions.
        var conditions: Int?

        /// Its settings, with defaults for those that it does not have.
        var settings: MonitorSettings {
            var settings = MonitorSettings()
            if let value = outageTimeout.value { settings.outageTimeout = value }
            if let value = forgetAfter.value { settings.forgetAfter = value }
            return settings
        }
    }

    mutating func monitors(
        _ root: Section<RootKey>, hasLocation: Bool, accuracy: Double?
    ) -> (monitors: [MonitorConfiguration], engine: EngineConfiguration) {
        let drafts = monitorDrafts(root)
        let engine = engine(drafts)
        checkNames(drafts)
        var monitors: [MonitorConfiguration] = []
        for draft in drafts {
            let context = ConditionContext(
                draft, engine: engine, unlessSet: deafAfterUnlessSet, hasLocation: hasLocation, accuracy: accuracy)
            checkTimeouts(draft, deafAfter: context.deafAfter)
            let conditions = conditions(context)
            guard let name = name(of: draft) else { continue }
            monitors.append(
                MonitorConfiguration(
                    name: name, settings: draft.settings, conditions: conditions,
                    position: source.position(of: draft.offset)))
        }
        return (monitors, engine)
    }

    /// Returns the name of a monitor: `site` if the file has none; `nil` if the file has an invalid one.
    private mutating func name(of draft: MonitorDraft) -> Identifier? {
        guard draft.name.isAbsent else { return draft.name.value }
        do {
            return try Identifier("site")
        } catch {
            errors.report(at: draft.offset, "\(draft.path).name: \(error)")
            return nil
        }
    }

    private mutating func monitorDrafts(_ root: Section<RootKey>) -> [MonitorDraft] {
        var drafts: [MonitorDraft] = []
        if let node = root[.monitors] {
            for key in [RootKey.monitor, .conditions] {
                guard let other = root[key] else { continue }
                errors.report(
                    at: document.offset(of: other - 1), "\(key.name) is not allowed together with monitors",
                    hint: key == .monitor ? "move it to an entry of monitors" : "move them into an entry of monitors")
            }
            let entries = list(at: node, called: "monitors", example: "- name: north")
            for entry in entries.map({ Array($0) }) ?? [] {
                drafts.append(monitorDraft(entry, at: entry, path: "monitors", place: .listedMonitor, conditions: nil))
            }
            if entries != nil, drafts.isEmpty, isWhole {
                errors.report(
                    at: document.offset(of: node), "monitors is empty", hint: "add a monitor with conditions")
            }
        }
        guard root[.monitors] == nil || root[.monitor] != nil || root[.conditions] != nil else { return drafts }
        if root[.monitors] == nil, root[.conditions] == nil, isWhole {
            errors.report(
                at: document.offset(of: 0), "conditions are missing", hint: "add conditions: and a list of them")
        }
        let node = root[.monitor] ?? root[.conditions] ?? 0
        drafts.append(
            monitorDraft(root[.monitor], at: node, path: "monitor", place: .monitor, conditions: root[.conditions]))
        return drafts
    }

    private mutating func monitorDraft(
        _ map: Int?, at node: Int, path: String, place: MonitoringPlace, conditions: Int?
    ) -> MonitorDraft {
        let section = section(
            MonitoringKey.self, at: map, path: path, called: place == .monitor ? path : "an entry of monitors",
            refusal: place.refusal(of:))
        var draft = MonitorDraft(path: path, offset: document.offset(of: node))
        draft.name = setting(.name, of: section, Self.identifier)
        draft.outageTimeout = setting(.outageTimeout, of: section, Self.duration(in: SettingBounds.duration))
        draft.forgetAfter = setting(.forgetAfter, of: section, Self.duration(in: SettingBounds.duration))
        draft.deafAfter = setting(.deafAfter, of: section, Self.deafAfter)
        draft.conditionLimit = setting(.conditionLimit, of: section, Self.integer(in: SettingLimits.conditionLimit))
        draft.maxBeacons = setting(.maxBeacons, of: section, Self.integer(in: SettingLimits.maxBeacons))
        draft.maxNewBeacons = setting(.maxNewBeacons, of: section, Self.integer(in: SettingLimits.maxNewBeacons))
        draft.defaults = overridable(section)
        draft.conditions = conditions ?? section[.conditions]
        if place == .listedMonitor, let map = section.node, draft.conditions == nil, !document.nodes[map].isOpen {
            errors.report(
                at: document.offset(of: map), "this monitor has no conditions",
                hint: "add conditions: and a list of them")
        }
        return draft
    }

    private static func deafAfter(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> EngineConfiguration.DeafAfter {
        if ScalarSyntax.matches(text, "off") { return .off }
        guard let first = text.first, ScalarSyntax.isDigit(first) else {
            throw ScalarProblem("expected off, or a duration such as 10s")
        }
        return .after(try ScalarSyntax.duration(text, in: SettingBounds.duration))
    }

    /// Returns the settings for all monitors. Monitors that have one must have the same value.
    private mutating func engine(_ drafts: [MonitorDraft]) -> EngineConfiguration {
        var engine = EngineConfiguration()
        if let value = agreed(drafts, \.deafAfter, .deafAfter) { engine.deafAfter = value }
        if let value = agreed(drafts, \.conditionLimit, .conditionLimit) { engine.conditionLimit = value }
        if let value = agreed(drafts, \.maxBeacons, .maxBeacons) { engine.maxBeacons = value }
        engine.maxNewBeacons = agreed(drafts, \.maxNewBeacons, .maxNewBeacons)
        return engine
    }

    private mutating func agreed<Value: Equatable>(
        _ drafts: [MonitorDraft], _ setting: KeyPath<MonitorDraft, Setting<Value>>, _ key: MonitoringKey
    ) -> Value? {
        var first: (value: Value, offset: Int)?
        for draft in drafts {
            guard case .value(let value, let offset) = draft[keyPath: setting] else { continue }
            guard let known = first else {
                first = (value, offset)
                continue
            }
            guard value != known.value else { continue }
            let source = source
            errors.report(
                at: offset, "\(draft.path).\(key.name) differs from the one at line \(source.line(of: known.offset))",
                hint: "it applies to the whole gateway; set it once, or to the same value")
        }
        return first?.value
    }

    private mutating func checkNames(_ drafts: [MonitorDraft]) {
        var first: [Identifier: Int] = [:]
        // A `monitor` next to `monitors` is already an error, whatever its name is.
        for draft in drafts where draft.path == drafts.first?.path {
            guard let name = name(of: draft) else { continue }
            let offset = draft.name.offset ?? draft.offset
            if let other = first[name] {
                let source = source
                let unnamed = draft.name.isAbsent ? ", which is the default," : ""
                errors.report(
                    at: offset,
                    "the name \(name)\(unnamed) is already used by the monitor at line \(source.line(of: other))",
                    hint: "give each monitor its own name")
            } else {
                first[name] = offset
            }
        }
    }
}

/// `ranging`: the estimation of distances.
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
        guard section.node != nil, !model.isInvalid else { return settings }
        switch model.value ?? .pathLoss {
        case .pathLoss:
            if let node = section[.coefficients] {
                errors.report(
                    at: document.offset(of: node - 1), "ranging.coefficients are only for curve_fit",
                    hint: "write model: curve_fit, or remove them")
            }
            if let exponent = exponent.value { settings.model = .pathLoss(exponent: exponent) }
        case .curveFit:
            if let offset = exponent.offset {
                errors.report(
                    at: offset, "ranging.exponent is only for path_loss",
                    hint: "write model: path_loss, or remove it")
            }
            settings.model = .curveFit(curve ?? .nexus5)
        }
        return settings
    }

    private mutating func coefficients(_ section: Section<RangingKey>) -> DistanceModel.CurveFit? {
        guard let node = section[.coefficients] else { return nil }
        let example = "[0.42093, 6.9476, 0.54992]"
        let entries = list(at: node, of: 3, "three", called: "ranging.coefficients", example: example)
        guard let entries else { return nil }
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

    /// The range of `ranging.window`.
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
