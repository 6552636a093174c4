internal import BeaconMonitoring

/// The values that all conditions of a monitor share.
struct ConditionContext {
    let monitor: Reader.MonitorDraft
    /// The defaults of the monitor, applied to the general ones.
    let settings: ConditionSettings
    let ranging: Bool
    /// The silence after which an adapter counts as not scanning (rule L5), live or in a replay; `nil` if that is
    /// disabled.
    let deafAfter: Duration?
    /// Whether circles can be evaluated.
    let hasLocation: Bool
    /// The accuracy of the location source in metres; `nil` if the file has none.
    let accuracy: Double?

    init(
        _ monitor: Reader.MonitorDraft, engine: EngineConfiguration, unlessSet: Duration?, hasLocation: Bool,
        accuracy: Double?
    ) {
        self.monitor = monitor
        settings = monitor.defaults.applied(to: ConditionSettings())
        ranging = monitor.defaults.ranging.value ?? false
        deafAfter = engine.effectiveDeafAfter(unlessSet: unlessSet)
        self.hasLocation = hasLocation
        self.accuracy = accuracy
    }
}

extension Reader {
    /// The states that can be assumed (rule C1).
    enum Assumption: String, CaseIterable { case unknown, satisfied, unsatisfied }

    mutating func conditions(_ context: ConditionContext) -> [ConditionConfiguration] {
        guard let node = context.monitor.conditions,
            let entries = list(at: node, called: "conditions", example: "- identifier: lobby")
        else { return [] }
        let count = entries.reduce(0) { (count: Int, _: Int) in count + 1 }
        identifiers.reserveCapacity(identifiers.count + count)
        var conditions: [ConditionConfiguration] = []
        conditions.reserveCapacity(count)
        var inherited = Inherited()
        for entry in entries {
            if let condition = condition(entry, context, &inherited) { conditions.append(condition) }
        }
        if count == 0, isWhole {
            inherited = Inherited(enterWindow: true, rssi: true, exitTimeout: false)
            warnings.report(at: document.offset(of: node), "conditions is empty", hint: "nothing is monitored")
        }
        checkInherited(inherited, context)
        return conditions
    }

    private mutating func condition(
        _ node: Int, _ context: ConditionContext, _ inherited: inout Inherited
    ) -> ConditionConfiguration? {
        let section = section(
            MonitoringKey.self, at: node, path: "conditions", called: "an entry of conditions",
            refusal: MonitoringPlace.condition.refusal(of:))
        guard section.node != nil else { return nil }
        let identifier = identifier(section, at: node)
        let assuming = setting(.assuming, of: section, Self.choice(Assumption.self)).value ?? .unknown
        let own = overridable(section)
        let what = what(section, at: node)

        var settings = own.applied(to: context.settings)
        var ranging = own.ranging.value ?? context.ranging
        if section[.uuid] == nil, section[.center] != nil || section[.radius] != nil {
            warnAboutCircle(section, at: node, context)
            (settings.enterRSSI, settings.exitRSSI, settings.perBeacon, ranging) = (nil, nil, false, false)
            settings.unnamed = .track
            checkWindow(own, context, &inherited)
        } else {
            checkCondition(own, context, &inherited)
        }
        guard let identifier, let what else { return nil }
        return ConditionConfiguration(
            identifier: identifier, condition: what, assuming: Self.state(assuming), settings: settings,
            ranging: ranging, position: source.position(of: document.offset(of: node)))
    }

    private static func state(_ assumption: Assumption) -> BeaconMonitor.Event.State {
        switch assumption {
        case .unknown: .unknown
        case .satisfied: .satisfied
        case .unsatisfied: .unsatisfied
        }
    }

    private mutating func identifier(_ section: Section<MonitoringKey>, at node: Int) -> Identifier? {
        switch setting(.identifier, of: section, Self.identifier) {
        case .invalid: return nil
        case .absent:
            if !document.nodes[node].isOpen {
                errors.report(
                    at: document.offset(of: node), "this condition has no identifier",
                    hint: "give it one, unique in the file")
            }
            return nil
        case .value(let identifier, let offset):
            if let first = identifiers[identifier] {
                let source = source
                let text = Self.shown(Array(identifier.text.utf8)[...])
                errors.report(
                    at: offset,
                    "the identifier \(text) is already used by the condition at line \(source.line(of: Int(first)))",
                    hint: "identifiers are unique over all monitors; choose another")
            } else {
                identifiers[identifier] = UInt32(clamping: offset)
            }
            return identifier
        }
    }

    /// Reads the beacons or the circle to monitor.
    private mutating func what(_ section: Section<MonitoringKey>, at node: Int) -> Condition? {
        let uuid = setting(.uuid, of: section, ScalarSyntax.uuid)
        let major = setting(.major, of: section, Self.major)
        let minor = setting(.minor, of: section, Self.major)
        let beacon = beacon(uuid: uuid, major: major, minor: minor, in: node, path: "conditions")
        let circle = circle(section, at: node)
        guard !document.nodes[node].isOpen else { return nil }
        switch (section[.uuid] != nil, section[.center] ?? section[.radius]) {
        case (true, nil): return beacon.map(Condition.beacon)
        case (true, let place?):
            errors.report(
                at: document.offset(of: place - 1), "this condition has a uuid and a circle",
                hint: "split it into two conditions")
            return nil
        case (false, nil):
            errors.report(
                at: document.offset(of: node), "this condition has nothing to monitor",
                hint: "give it a uuid, or a center and a radius")
            return nil
        case (false, .some):
            for (key, setting) in [(MonitoringKey.major, major), (.minor, minor)] {
                guard let offset = setting.offset else { continue }
                errors.report(at: offset, "conditions.\(key.name) is not a setting of a circle", hint: "remove it")
            }
            return circle.map(Condition.circle)
        }
    }

    private mutating func circle(
        _ section: Section<MonitoringKey>, at node: Int
    ) -> BeaconMonitor.CircularGeographicCondition? {
        let center = center(section)
        let radius = setting(.radius, of: section) { (text) throws(ScalarProblem) in
            let radius = try ScalarSyntax.number(text)
            guard radius > 0 else { throw ScalarProblem("expected a number of metres above 0") }
            return radius
        }
        if section[.uuid] == nil, !document.nodes[node].isOpen {
            if section[.center] != nil, radius.isAbsent {
                errors.report(
                    at: document.offset(of: node), "this condition has a center but no radius",
                    hint: "add radius, in metres")
            }
            if let offset = radius.offset, section[.center] == nil {
                errors.report(
                    at: offset, "this condition has a radius but no center", hint: "add center: [latitude, longitude]")
            }
        }
        guard let center, let radius = radius.value else { return nil }
        do {
            return try BeaconMonitor.CircularGeographicCondition(
                latitude: center.latitude, longitude: center.longitude, radius: radius)
        } catch {
            errors.report(at: document.offset(of: node), error.description)
            return nil
        }
    }

    private mutating func center(_ section: Section<MonitoringKey>) -> (latitude: Double, longitude: Double)? {
        guard let node = section[.center] else { return nil }
        let example = "[48.2082, 16.3738], latitude and longitude in degrees"
        let entries = list(at: node, of: 2, "two", called: "conditions.center", example: example)
        guard let entries else { return nil }
        let latitude = value(at: entries[0], called: "the latitude of conditions.center", Self.degrees(90))
        let longitude = value(at: entries[1], called: "the longitude of conditions.center", Self.degrees(180))
        guard let latitude = latitude.value, let longitude = longitude.value else { return nil }
        return (latitude, longitude)
    }

    private static func degrees(_ most: Double) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Double {
        { (text) throws(ScalarProblem) in
            let degrees = try ScalarSyntax.number(text)
            guard (-most...most).contains(degrees) else {
                throw ScalarProblem("expected −\(Int(most))…\(Int(most)) degrees")
            }
            return degrees
        }
    }

    private mutating func warnAboutCircle(
        _ section: Section<MonitoringKey>, at node: Int, _ context: ConditionContext
    ) {
        if let value = section[.radius], let accuracy = context.accuracy,
            let radius = try? ScalarSyntax.number(document.text(of: value)), radius > 0, radius < accuracy
        {
            warnings.report(
                at: document.offset(of: value),
                "conditions.radius is \(String(decoding: document.text(of: value), as: UTF8.self)), less than the accuracy of the "
                    + "location source",
                hint:
                    "the circle is entered only at a fix whose accuracy is at most the radius; set a radius of \(Int(accuracy)) m or more"
            )
        }
        if !context.hasLocation {
            warnings.report(
                at: document.offset(of: node),
                "this circle will be unmonitored because the file has no location source",
                hint: "add location, or remove the circle")
        }
        for key in [MonitoringKey.exitTimeout, .enterRSSI, .exitRSSI, .perBeacon, .unnamed, .ranging] {
            guard let value = section[key] else { continue }
            warnings.report(
                at: document.offset(of: value - 1), "\(section.path(of: key)) is not a setting of a circle",
                hint: "remove it")
        }
    }
}
