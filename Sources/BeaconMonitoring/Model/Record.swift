extension BeaconMonitor {
    /// A condition with its last event (Apple: `CLMonitor.Record`).
    public struct Record: Sendable, Hashable, Codable {
        /// What is monitored.
        public var condition: Condition
        /// The last event that has been handled (rule N3).
        ///
        /// Before there is one, a placeholder of the state that the condition started from, dated at the adding, which
        /// is delivered to nobody (rule C1).
        public var lastEvent: Event

        /// A condition with its last event.
        public init(condition: Condition, lastEvent: Event) {
            self.condition = condition
            self.lastEvent = lastEvent
        }
    }
}

extension BeaconMonitor.Record {
    /// The record of a condition that was added or replaced just now: its `lastEvent` is the placeholder (rule C1).
    public init(beginning change: ConditionChange) {
        condition = change.condition
        lastEvent = BeaconMonitor.Event(
            monitor: change.monitor, identifier: change.identifier, scope: .condition,
            state: change.assumed ?? .unknown, time: change.time, clockOffset: change.clockOffset,
            condition: change.condition, refinement: nil, previous: nil, sighting: nil, lastSeen: nil, diagnostics: [])
    }
}

extension Identifier {
    /// Text that is an identifier already, or that need only be looked up: what is none is found nowhere.
    package init(lookup text: String) { self.text = text }
}
