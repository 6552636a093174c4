public import BaseTypes
public import BluetoothLE

/// A beacon in view at a moment. Source: Apple, `CLBeacon`.
public struct RangedBeacon: Sendable, Hashable {
    /// The beacon that advertises.
    public var beacon: BeaconIdentity
    /// The mean RSSI of the window in dBm; absent where no sighting told one.
    public var rssi: Double?
    /// How near it is.
    public var proximity: Proximity
    /// How far it is, in metres, as the model has it (`CLBeacon.accuracy`); absent where ``proximity`` is `unknown`.
    public var accuracy: Double?
    /// How many times it was sighted in the window; 1 at least.
    public var count: Int
    /// When it was sighted last, on the timeline (`CLBeacon.timestamp`).
    public var lastSighting: Instant

    /// A beacon with what a ranger makes of its sightings.
    public init(
        beacon: BeaconIdentity, rssi: Double?, proximity: Proximity, accuracy: Double?, count: Int,
        lastSighting: Instant
    ) {
        self.beacon = beacon
        self.rssi = rssi
        self.proximity = proximity
        self.accuracy = accuracy
        self.count = count
        self.lastSighting = lastSighting
    }
}

/// The beacons in view of a condition at a whole second, the nearest first.
public struct Ranging: Sendable, Hashable {
    /// What the beacons match.
    public var condition: BeaconMonitor.BeaconIdentityCondition
    /// The second's end, on the timeline.
    public var time: Instant
    /// The wall clock against the timeline then.
    public var clockOffset: ClockOffset
    /// The beacons, at most ``Ranger/listedMax``; those without a distance last, equals by identity. Empty once, when the
    /// last of them is out of view.
    public var beacons: [RangedBeacon]

    /// The second's end by the wall clock.
    public var date: WallDate { WallDate(time, offset: clockOffset) }

    /// The beacons that a ranger tells for a condition and second.
    public init(
        condition: BeaconMonitor.BeaconIdentityCondition, time: Instant, clockOffset: ClockOffset,
        beacons: [RangedBeacon]
    ) {
        self.condition = condition
        self.time = time
        self.clockOffset = clockOffset
        self.beacons = beacons
    }
}
