public import BaseTypes
public import BluetoothLE

/// A subject's time from `satisfied` to `unsatisfied` (rule P3).
public struct Visit: Sendable, Hashable {
    /// Why a visit ended.
    public enum Reason: UInt8, Sendable, Hashable, CaseIterable {
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
        /// The weakest, in dBm.
        public var minimum: Int8
        /// The sum in dBm, of which ``count`` makes the mean.
        public var sum: Int64
        /// How many of the refreshes had an RSSI; at least 1.
        public var count: Int
        /// The strongest, in dBm.
        public var maximum: Int8

        /// What a visit's refreshes had; `count` is at least 1.
        public init(minimum: Int8, sum: Int64, count: Int, maximum: Int8) {
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
    /// Why it ended.
    public var reason: Reason

    /// When its end was established, on the wall clock.
    public var date: WallDate { WallDate(time, offset: clockOffset) }

    /// A visit of the kind that a monitor makes: for tests, and for whoever reads visits back.
    public init(
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
