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

    /// Two or more sightings of one advertiser by one adapter that are told together.
    ///
    /// All lie in one second of the gateway's clock (``BatchBounds/runTime``), and with none of the site's conditions does it
    /// matter which of them lie where in between: each reaches the same of their thresholds, and none could keep somebody
    /// there whom it could not have let in. So an engine is given the first, then the last, and what they come to (rule P3).
    package struct Run: Sendable, Hashable {
        /// The first of them.
        package let first: Sighting
        /// The last of them; same adapter and advertiser, and not before the first.
        package var last: Sighting {
            Sighting(at: lastTime, adapter: first.adapter, first.advertiser, rssi: lastRSSI)
        }
        /// When the last was.
        package let lastTime: Instant
        /// How strong the last was.
        package let lastRSSI: RSSI?
        /// What those between them come to.
        package let between: Between

        /// Sightings that are not told one by one.
        package struct Between: Sendable, Hashable {
            /// How many there are, 0 or more; at most 4,294,967,295.
            package let count: Int
            /// The RSSI of those that have one; absent where none has.
            package let strength: Strength?

            /// RSSI over some sightings, in dBm.
            package struct Strength: Sendable, Hashable {
                /// How many had one; at least 1.
                package let count: Int
                /// The weakest.
                package let minimum: RSSI
                /// The strongest.
                package let maximum: RSSI
                /// Their sum, of which the count makes the mean.
                package let sum: Int64

                /// Over so many.
                ///
                /// - Throws: ``BatchError/badRun``: no sightings come to that.
                package init(count: Int, minimum: RSSI, maximum: RSSI, sum: Int64) throws(BatchError) {
                    guard (1...Int(UInt32.max)).contains(count), minimum <= maximum,
                        Int64(count) * Int64(minimum.dBm) <= sum, sum <= Int64(count) * Int64(maximum.dBm)
                    else { throw .badRun }
                    self.count = count
                    self.minimum = minimum
                    self.maximum = maximum
                    self.sum = sum
                }
            }

            /// So many, of which some have an RSSI.
            ///
            /// - Throws: ``BatchError/badRun``.
            package init(count: Int, strength: Strength?) throws(BatchError) {
                guard (0...Int(UInt32.max)).contains(count), strength?.count ?? 0 <= count else { throw .badRun }
                self.count = count
                self.strength = strength
            }
        }

        /// A run from one sighting to another of the same advertiser by the same adapter.
        ///
        /// - Throws: ``BatchError/badRun``: the last is before the first, or not in its second.
        package init(first: Sighting, last time: Instant, rssi: RSSI?, between: Between) throws(BatchError) {
            self.first = first
            lastTime = time.wholeMicroseconds
            lastRSSI = rssi.flatMap { RSSI(reported: RSSI.octet($0)) }
            self.between = between
            let second = BatchBounds.runTime.nanoseconds
            guard first.time <= lastTime, first.time.nanoseconds / second == lastTime.nanoseconds / second else {
                throw .badRun
            }
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
    /// the absent one last. It follows from what they are, not from how they came, so that telling some together moves none.
    package static func < (left: Self, right: Self) -> Bool {
        if left.time != right.time { return left.time < right.time }
        if left.adapter != right.adapter { return left.adapter < right.adapter }
        if left.advertiser != right.advertiser { return left.advertiser < right.advertiser }
        return left.rssi.map { Int($0.dBm) } ?? .max < right.rssi.map { Int($0.dBm) } ?? .max
    }
}
