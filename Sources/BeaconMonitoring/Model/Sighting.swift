public import BluetoothLE

/// One iBeacon frame that one adapter heard at one moment.
public struct Sighting: Sendable, Hashable {
    /// When it was heard, on the timeline.
    public var time: Instant
    /// The adapter that heard it.
    public var adapter: AdapterID
    /// Who advertised.
    public var beacon: BeaconIdentity
    /// The RSSI one metre away that the frame claims, in dBm.
    public var measuredPower: Int8
    /// How strong it was; absent where the controller did not know.
    public var rssi: RSSI?
    // The address as a word: a sighting is copied for each report.
    @usableFromInline var packedAddress: UInt64

    /// The advertiser's address, where the source tells it.
    public var address: DeviceAddress? {
        get { DeviceAddress(packed: packedAddress) }
        set { packedAddress = DeviceAddress.packed(newValue) }
    }

    /// Makes a sighting.
    public init(
        time: Instant, adapter: AdapterID, beacon: BeaconIdentity, measuredPower: Int8, rssi: RSSI?,
        address: DeviceAddress? = nil
    ) {
        self.time = time
        self.adapter = adapter
        self.beacon = beacon
        self.measuredPower = measuredPower
        self.rssi = rssi
        packedAddress = DeviceAddress.packed(address)
    }
}

/// A source of reports that an engine knows: the place of its name in the engine's table of adapters.
public struct AdapterID: Sendable, Hashable {
    /// The place in the table, from 1.
    public let index: UInt16

    /// The adapter at a place.
    @inlinable package init(index: Int) { self.index = UInt16(truncatingIfNeeded: index) }
}
