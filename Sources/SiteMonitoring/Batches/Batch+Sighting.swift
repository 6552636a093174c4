package import BaseTypes
package import BluetoothLE

extension Batch {
    /// The advertised values and the advertiser's address, which all sightings of one advertisement have in common.
    package struct Advertiser: Sendable, Hashable {
        /// UUID, major and minor.
        package let beacon: BeaconIdentity
        /// The RSSI at a distance of 1 m that the frame contains, in dBm; −128 if it is unknown.
        package let measuredPower: Int8
        /// The advertiser's address, if the source reports it. No decision depends on it (rule B5); lines contain it.
        package let address: DeviceAddress?

        /// Creates an advertiser of a frame's values and its sender's address.
        package init(_ beacon: BeaconIdentity, measuredPower: Int8, address: DeviceAddress?) {
            self.beacon = beacon
            self.measuredPower = measuredPower
            self.address = address
        }
    }

    /// One iBeacon frame that one adapter received at one time.
    package struct Sighting: Sendable, Hashable {
        /// The time of the sighting.
        package let time: Instant
        /// The adapter's index in ``Batch/adapters``.
        package let adapter: Int
        /// The advertised values and the advertiser's address.
        package let advertiser: Advertiser
        /// The received signal strength; `nil` if the controller did not know it.
        package let rssi: RSSI?

        /// Creates a sighting. Its time is rounded down to whole microseconds.
        package init(at time: Instant, adapter: Int, _ advertiser: Advertiser, rssi: RSSI?) {
            self.time = time.wholeMicroseconds
            self.adapter = adapter
            self.advertiser = advertiser
            // The value 127 means unknown (``RSSI/init(reported:)``).
            self.rssi = rssi.flatMap { RSSI(reported: RSSI.byte($0)) }
        }
    }
}

extension Batch.Advertiser: Comparable {
    /// Sorts by beacon, then measured power, then address; an unknown address is last.
    package static func < (left: Self, right: Self) -> Bool {
        guard left.beacon == right.beacon else { return left.beacon < right.beacon }
        guard left.measuredPower == right.measuredPower else { return left.measuredPower < right.measuredPower }
        guard let one = left.address else { return false }
        guard let other = right.address else { return true }
        return one.kind == other.kind ? one.value < other.value : one.kind.rawValue < other.kind.rawValue
    }
}

extension Batch.Sighting: Comparable {
    /// Sorts in the order in which a site's engine receives the sightings of one gateway: by time, then adapter, then
    /// advertiser, then RSSI; an unknown RSSI is last. The order depends on the values only, not on the order of
    /// arrival.
    package static func < (left: Self, right: Self) -> Bool {
        if left.time != right.time { return left.time < right.time }
        if left.adapter != right.adapter { return left.adapter < right.adapter }
        if left.advertiser != right.advertiser { return left.advertiser < right.advertiser }
        return left.rssi.map { Int($0.dBm) } ?? .max < right.rssi.map { Int($0.dBm) } ?? .max
    }
}
