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
        return try exchange(removing: identifiersInOrder.filter { !stays.contains($0) }, adding: wanted)
    }
}
