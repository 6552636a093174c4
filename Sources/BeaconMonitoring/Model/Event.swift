public import BaseTypes
public import BluetoothLE

extension BeaconMonitor {
    /// A subject's new state.
    public struct Event: Sendable, Hashable {
        /// A state that a subject had, and since when.
        public struct Previous: Sendable, Hashable, Codable {
            /// The state.
            public var state: State
            /// Its event's date, as it was printed then.
            public var date: WallDate

            /// A state, and the date of the event that it began with.
            public init(state: State, date: WallDate) {
                self.state = state
                self.date = date
            }
        }

        /// The monitor's name.
        public var monitor: String
        /// The condition's identifier.
        public var identifier: String
        /// Whether the subject is the condition or one beacon under it.
        public var scope: Scope
        /// The new state.
        public var state: State
        /// When it began, on the timeline.
        public var time: Instant
        /// The wall clock against the timeline when the event was made: all its dates are printed with it (rule T1).
        public var clockOffset: ClockOffset
        /// What is monitored.
        public var condition: Condition
        /// The beacon that satisfied the condition; in a beacon's own events always that beacon (rules E3, X2).
        public var refinement: BeaconIdentity?
        /// The subject's event before this one; absent where there was none, or only a placeholder.
        public var previous: Previous?
        /// The sighting that made a `satisfied` event; in the others the last refresh, where there was one.
        public var sighting: Sighting?
        /// The last refresh ever.
        public var lastSeen: Instant?
        /// The flags that held when the event was made.
        public var diagnostics: Diagnostics

        /// When it began, on the wall clock.
        public var date: WallDate { WallDate(time, offset: clockOffset) }

        /// An event of the kind that a monitor makes: for tests, and for whoever reads events back.
        public init(
            monitor: String, identifier: String, scope: Scope, state: State, time: Instant, clockOffset: ClockOffset,
            condition: Condition, refinement: BeaconIdentity?, previous: Previous?, sighting: Sighting?,
            lastSeen: Instant?, diagnostics: Diagnostics
        ) {
            self.monitor = monitor
            self.identifier = identifier
            self.scope = scope
            self.state = state
            self.time = time
            self.clockOffset = clockOffset
            self.condition = condition
            self.refinement = refinement
            self.previous = previous
            self.sighting = sighting
            self.lastSeen = lastSeen
            self.diagnostics = diagnostics
        }
    }
}
