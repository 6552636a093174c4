public import BluetoothLE

/// A subject's new state.
public struct Event: Sendable, Hashable {
    /// A state that a subject had, and since when.
    public struct Previous: Sendable, Hashable {
        /// The state.
        public var state: State
        /// Its event's date, as it was printed then.
        public var date: WallDate

        /// Makes one.
        package init(state: State, date: WallDate) {
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

    /// Makes one, as an engine does or a line says.
    package init(
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

/// A subject's time from `satisfied` to `unsatisfied` (rule P3).
public struct Visit: Sendable, Hashable {
    /// What ended a visit.
    public enum Reason: UInt8, Sendable, Hashable {
        /// The last hold ran out (rule X2).
        case exitTimeout
        /// A fix lay outside of the circle (rule G2).
        case left
        /// The condition was removed (rule C3).
        case removed
        /// The condition was replaced by one of another identity (rule C2).
        case replaced
        /// A named beacon took its place (rule P4).
        case displaced

        /// Whether the subject left: the visit stands behind its leaving event.
        public var isLeaving: Bool { self == .exitTimeout || self == .left }
    }

    /// RSSI over the refreshes that had one.
    public struct Strength: Sendable, Hashable {
        /// dBm.
        public var minimum: Int8
        /// The sum in dBm, of which ``count`` makes the mean.
        public var sum: Int64
        /// How many had one; at least 1.
        public var count: Int
        /// dBm.
        public var maximum: Int8

        /// Makes one; `count` is at least 1.
        package init(minimum: Int8, sum: Int64, count: Int, maximum: Int8) {
            self.minimum = minimum
            self.sum = sum
            self.count = count
            self.maximum = maximum
        }
    }

    /// The monitor's name.
    public var monitor: String
    /// The condition's identifier.
    public var identifier: String
    /// Whether the subject is the condition or one beacon under it.
    public var scope: Scope
    /// When the visit's end was established, on the timeline: its leaving event's.
    public var time: Instant
    /// The wall clock against the timeline then.
    public var clockOffset: ClockOffset
    /// What is monitored.
    public var condition: Condition
    /// The beacon, in a beacon's own visits.
    public var refinement: BeaconIdentity?
    /// The entering event's time; absent where the entry was assumed.
    public var arrival: Instant?
    /// The last refresh; absent where there was none.
    public var departure: Instant?
    /// How many refreshes, the entering sighting included.
    public var sightings: Int
    /// RSSI over them; absent where none had one.
    public var strength: Strength?
    /// What ended it.
    public var reason: Reason

    /// When its end was established, on the wall clock.
    public var date: WallDate { WallDate(time, offset: clockOffset) }

    /// Makes one, as an engine does or a line says.
    package init(
        monitor: String, identifier: String, scope: Scope, time: Instant, clockOffset: ClockOffset,
        condition: Condition, refinement: BeaconIdentity?, arrival: Instant?, departure: Instant?, sightings: Int,
        strength: Strength?, reason: Reason
    ) {
        self.monitor = monitor
        self.identifier = identifier
        self.scope = scope
        self.time = time
        self.clockOffset = clockOffset
        self.condition = condition
        self.refinement = refinement
        self.arrival = arrival
        self.departure = departure
        self.sightings = sightings
        self.strength = strength
        self.reason = reason
    }
}
