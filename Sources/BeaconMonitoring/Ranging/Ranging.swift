public import BaseTypes
public import BluetoothLE

/// A beacon in range at one moment. Source: Apple, `CLBeacon`.
public struct RangedBeacon: Sendable, Hashable {
    /// The identity of the beacon.
    public var beacon: BeaconIdentity
    /// The UUID of the beacon (`CLBeacon.uuid`).
    ///
    ///     for beacon in ranging.beacons { print(beacon.uuid, beacon.major, beacon.minor, beacon.proximity) }
    public var uuid: ProximityUUID { beacon.uuid }
    /// The major of the beacon (`CLBeacon.major`).
    ///
    ///     for beacon in ranging.beacons where beacon.major == 2 { print("visitor", beacon.minor) }
    public var major: UInt16 { beacon.major }
    /// The minor of the beacon (`CLBeacon.minor`).
    ///
    ///     if let nearest = ranging.beacons.first { print("badge \(nearest.minor) is the nearest") }
    public var minor: UInt16 { beacon.minor }
    /// The mean RSSI of the window in dBm; `nil` if no sighting had an RSSI.
    public var rssi: Double?
    /// The proximity of the beacon.
    public var proximity: Proximity
    /// The estimated distance in metres (`CLBeacon.accuracy`); `nil` if ``proximity`` is `unknown`.
    public var accuracy: Double?
    /// The number of sightings in the window; at least 1.
    public var count: Int
    /// The time of the last sighting, on the timeline (`CLBeacon.timestamp`).
    public var lastSighting: Instant

    /// Creates a ranged beacon, as a ranger does.
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

/// The beacons in range of a condition at a whole second, the nearest first.
public struct Ranging: Sendable, Hashable {
    /// The condition that the beacons match.
    public var condition: BeaconMonitor.BeaconIdentityCondition
    /// The end of the second, on the timeline.
    public var time: Instant
    /// How far the wall clock is ahead of the timeline at that time.
    public var clockOffset: ClockOffset
    /// The beacons, at most ``Ranger/listedMax``. Beacons without a distance are last, and equal distances are ordered
    /// by identity. It is empty once, after the last beacon is out of range.
    public var beacons: [RangedBeacon]

    /// The end of the second, on the wall clock.
    public var date: WallDate { WallDate(time, offset: clockOffset) }

    /// Creates a ranging, as a ranger does.
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
