extension BeaconMonitor {
    /// A condition with its last event (Apple: `CLMonitor.Record`).
    public struct Record: Sendable, Hashable, Codable {
        /// The beacons or the circle that are monitored.
        public var condition: Condition
        /// The last event that has been handled (rule N3).
        ///
        /// Before the first event, it is a placeholder with the initial state and the date of adding, which is not
        /// delivered (rule C1).
        public var lastEvent: Event

        /// Creates a record.
        public init(condition: Condition, lastEvent: Event) {
            self.condition = condition
            self.lastEvent = lastEvent
        }
    }
}

extension BeaconMonitor.Record {
    /// Creates the record of a condition that was just added or replaced. Its `lastEvent` is the placeholder (rule C1).
    public init(beginning change: ConditionChange) {
        condition = change.condition
        lastEvent = BeaconMonitor.Event(
            monitor: change.monitor, identifier: change.identifier, scope: .condition,
            state: change.assumed ?? .unknown, time: change.time, clockOffset: change.clockOffset,
            condition: change.condition, refinement: nil, previous: nil, sighting: nil, lastSeen: nil, diagnostics: [])
    }
}

extension Identifier {
    /// Creates an identifier without checking it, for valid text and for lookups. An invalid identifier is never found.
    package init(lookup text: String) { self.text = text }
}
