public import BaseTypes
public import BluetoothLE

extension BeaconMonitor {
    /// A change of the state of a condition, or of one beacon under it (Apple: `CLMonitor.Event`).
    ///
    ///     for try await event in monitor.subscribe() {
    ///         print(event.identifier, event.state, event.date, event.diagnostics)
    ///     }
    public struct Event: Sendable, Hashable {
        /// An earlier state, and the date of its event.
        public struct Previous: Sendable, Hashable, Codable {
            /// The state.
            public var state: State
            /// The date of the event with that state, as it was printed then.
            public var date: WallDate

            /// Creates a state with the date of its event.
            public init(state: State, date: WallDate) {
                self.state = state
                self.date = date
            }
        }

        /// The name of the monitor.
        public var monitor: String
        /// The identifier of the condition.
        public var identifier: String
        /// Whether the event is of the condition or of one beacon under it.
        public var scope: Scope
        /// The new state.
        public var state: State
        /// The start of the state, on the timeline.
        public var time: Instant
        /// How far the wall clock is ahead of the timeline when the event was made. All its dates are computed with it
        /// (rule T1).
        public var clockOffset: ClockOffset
        /// The monitored condition.
        public var condition: Condition
        /// The beacon that satisfied the condition. In the events of a beacon, it is always that beacon (rules E3, X2).
        public var refinement: BeaconIdentity?
        /// The previous event of the subject; `nil` if there was none, or only a placeholder.
        public var previous: Previous?
        /// The sighting that caused a `satisfied` event; in other events the last refresh, or `nil` if there was none.
        public var sighting: Sighting?
        /// The time of the last refresh, on the timeline; `nil` if there was none.
        public var lastSeen: Instant?
        /// The diagnostics when the event was made.
        public var diagnostics: Diagnostics

        /// The start of the state, on the wall clock.
        public var date: WallDate { WallDate(time, offset: clockOffset) }

        /// Creates an event like those of a monitor, for tests and for programs that read stored events.
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
