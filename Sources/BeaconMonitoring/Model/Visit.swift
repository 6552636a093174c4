public import BaseTypes
public import BluetoothLE

/// The time of a subject from `satisfied` to `unsatisfied` (rule P3).
public struct Visit: Sendable, Hashable {
    /// The reasons for the end of a visit.
    public enum Reason: UInt8, Sendable, Hashable, CaseIterable {
        /// The last hold expired (rule X2).
        case exitTimeout
        /// A fix was outside the circle (rule G2).
        case left
        /// The condition was removed (rule C3).
        case removed
        /// The condition was replaced by one with other beacons, another circle or another `perBeacon` (rule C2).
        case replaced
        /// A beacon with a name needed its place (rule P4).
        case displaced

        /// Whether the subject left, so that the visit follows an event of its exit.
        public var isLeaving: Bool { self == .exitTimeout || self == .left }
    }

    /// The RSSI values of the refreshes.
    public struct Strength: Sendable, Hashable {
        /// The weakest RSSI in dBm.
        public var minimum: Int8
        /// The sum of the RSSI values in dBm. Divided by ``count``, it is the mean.
        public var sum: Int64
        /// The number of refreshes with an RSSI; at least 1.
        public var count: Int
        /// The strongest RSSI in dBm.
        public var maximum: Int8

        /// Creates the values of a visit. `count` must be at least 1.
        public init(minimum: Int8, sum: Int64, count: Int, maximum: Int8) {
            self.minimum = minimum
            self.sum = sum
            self.count = count
            self.maximum = maximum
        }
    }

    /// The name of the monitor.
    public var monitor: String
    /// The identifier of the condition.
    public var identifier: String
    /// Whether the subject is the condition or one beacon under it.
    public var scope: Scope
    /// The time at which the end was detected, on the timeline: that of the leaving event.
    public var time: Instant
    /// How far the wall clock is ahead of the timeline at that time.
    public var clockOffset: ClockOffset
    /// The beacons or the circle that are monitored.
    public var condition: Condition
    /// The beacon, in visits of a beacon.
    public var refinement: BeaconIdentity?
    /// The time of the entering event; `nil` if the entry was assumed.
    public var arrival: Instant?
    /// The time of the last refresh; `nil` if there was none.
    public var departure: Instant?
    /// The number of refreshes, including the entering sighting.
    public var sightings: Int
    /// The RSSI values of the refreshes; `nil` if none had one.
    public var strength: Strength?
    /// The reason for the end.
    public var reason: Reason

    /// The time at which the end was detected, on the wall clock.
    public var date: WallDate { WallDate(time, offset: clockOffset) }

    /// Creates a visit like those of a monitor, for tests and for programs that read stored visits.
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
