package import BaseTypes
package import BluetoothLE

extension Batch {
    /// Who advertises, and how: what sightings have in common that come of one advertisement.
    package struct Advertiser: Sendable, Hashable {
        /// UUID, major and minor.
        package let beacon: BeaconIdentity
        /// The RSSI one metre away that the frame claims, in dBm.
        package let measuredPower: Int8
        /// The advertiser's address, where the source tells it. It has no part in any decision (rule B5), and stands in lines.
        package let address: DeviceAddress?

        /// Of a frame and who sent it.
        package init(_ beacon: BeaconIdentity, measuredPower: Int8, address: DeviceAddress?) {
            self.beacon = beacon
            self.measuredPower = measuredPower
            self.address = address
        }
    }

    /// One iBeacon frame that one adapter heard at one moment.
    package struct Sighting: Sendable, Hashable {
        /// When.
        package let time: Instant
        /// The adapter's place in ``Batch/adapters``.
        package let adapter: Int
        /// Who advertised, and how.
        package let advertiser: Advertiser
        /// How strong it was; absent where the controller did not know.
        package let rssi: RSSI?

        /// A sighting; what is finer than a microsecond is cut off.
        package init(at time: Instant, adapter: Int, _ advertiser: Advertiser, rssi: RSSI?) {
            self.time = time.wholeMicroseconds
            self.adapter = adapter
            self.advertiser = advertiser
            // What says 127 says that nobody knows (``RSSI/init(reported:)``).
            self.rssi = rssi.flatMap { RSSI(reported: RSSI.octet($0)) }
        }
    }
}

extension Batch.Advertiser: Comparable {
    /// By beacon, then measured power, then address, the absent one last.
    package static func < (left: Self, right: Self) -> Bool {
        guard left.beacon == right.beacon else { return left.beacon < right.beacon }
        guard left.measuredPower == right.measuredPower else { return left.measuredPower < right.measuredPower }
        guard let one = left.address else { return false }
        guard let other = right.address else { return true }
        return one.kind == other.kind ? one.value < other.value : one.kind.rawValue < other.kind.rawValue
    }
}

extension Batch.Sighting: Comparable {
    /// The order in which a site's engine takes the sightings of one gateway: by time, then adapter, then advertiser, then RSSI,
    /// the absent one last. It depends on what they are, not on the order in which they came.
    package static func < (left: Self, right: Self) -> Bool {
        if left.time != right.time { return left.time < right.time }
        if left.adapter != right.adapter { return left.adapter < right.adapter }
        if left.advertiser != right.advertiser { return left.advertiser < right.advertiser }
        return left.rssi.map { Int($0.dBm) } ?? .max < right.rssi.map { Int($0.dBm) } ?? .max
    }
}
