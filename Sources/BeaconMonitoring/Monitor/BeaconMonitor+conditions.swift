public import BluetoothLE

extension MonitorSetup.Condition {
    /// A condition under an identifier that is given as text.
    /// - Throws: ``MonitorError/identifierInvalid(_:_:)`` where the text can't be one (rule C6).
    public init(
        _ condition: Condition, identifier: String, assuming: BeaconMonitor.Event.State = .unknown,
        settings: ConditionSettings = ConditionSettings()
    ) throws(MonitorError) {
        self.init(
            identifier: try Identifier(identifier), condition: condition, assuming: assuming, settings: settings)
    }
}

extension BeaconMonitor {
    /// Makes the conditions these and no others, and changes as little as possible for it.
    ///
    /// What is the same as before keeps its state, its record and its place, and says nothing; other settings move
    /// deadlines alone, another identity starts afresh (rule C2). What is gone is removed before anything is added, and
    /// those past the limit first, so that none is given a place only to lose it (rule C4). All of it happens at one
    /// moment: nothing that is heard comes between.
    ///
    /// - Parameter wanted: the conditions; those that are new are added in this order.
    /// - Returns: what changed, in the order in which it did; nothing where nothing did.
    /// - Throws: ``MonitorError`` where a setting is out of bounds, two have one identifier, or the monitor has ended;
    ///   nothing has changed then.
    @discardableResult
    public func setConditions(_ wanted: [MonitorSetup.Condition]) throws(MonitorError) -> [ConditionChange] {
        var stays: Set<Identifier> = []
        for condition in wanted {
            guard stays.insert(condition.identifier).inserted else {
                throw .identifierRepeated(condition.identifier.text)
            }
        }
        return try exchange(removing: engine.identifiers.filter { !stays.contains($0) }, adding: wanted)
    }

    /// Says which beacons have names (rule P4): they never lose their place to others, and enter without a token.
    ///
    /// What ``ConditionSettings/strangers`` says of the rest holds for those that are present too: where it is not
    /// `track`, their stays end.
    /// - Throws: ``MonitorError/ended(_:)``.
    public func setNamedBeacons(_ beacons: Set<BeaconIdentity>) throws(MonitorError) {
        try input { engine, time, actions in engine.name(beacons, at: time, into: &actions) }
    }

    /// A condition's present state, `unknown` too (Apple: `CLLocationManager.requestState(for:)`).
    ///
    /// It is what the last of the events says, those included that subscribers have not handled, so it may be ahead of
    /// ``record(for:)``; every change after the answer is an event after it. To ask makes no event, and handles none:
    /// what is due waits for what the scanners have still to hand over (rule T5).
    ///
    /// - Throws: ``MonitorError/identifierUnknown(_:)``, and ``MonitorError/ended(_:)``.
    public func requestState(for identifier: String) throws(MonitorError) -> Event.State {
        guard !isEnded else { throw .ended(name) }
        guard let state = engine.state(of: Identifier(lookup: identifier)) else { throw .identifierUnknown(identifier) }
        return state
    }

    /// Removes and adds at one moment.
    ///
    /// - Returns: what changed.
    func exchange(
        removing: [Identifier], adding: [MonitorSetup.Condition]
    ) throws(MonitorError) -> [ConditionChange] {
        let monitor = lease.name
        for condition in adding {
            try engine.validate(
                condition.settings, assuming: condition.assuming, identifier: condition.identifier, monitor: monitor)
        }
        var changes: [ConditionChange] = []
        try input { engine, time, actions throws(MonitorError) in
            // Stable: within each half they stay in the order in which they were added.
            let removing =
                removing.filter { engine.state(of: $0) == .unmonitored }
                + removing.filter { engine.state(of: $0) != .unmonitored }
            for identifier in removing { try engine.remove(identifier, at: time, into: &actions) }
            for condition in adding {
                try engine.add(
                    condition.condition, identifier: condition.identifier, monitor: monitor,
                    assuming: condition.assuming, settings: condition.settings, at: time, into: &actions)
            }
            for action in actions.actions {
                if case .condition(let change) = action { changes.append(change) }
            }
        }
        return changes
    }
}
