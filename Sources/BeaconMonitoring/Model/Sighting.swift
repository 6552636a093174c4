public import BaseTypes
public import BluetoothLE

/// One iBeacon frame that an adapter received.
///
///     let sighting = Sighting(
///         time: clock.now, adapter: adapter, beacon: badge, measuredPower: -59, rssi: RSSI(dBm: -70))
///     await monitor.sighted(sighting)
public struct Sighting: Sendable, Hashable {
    /// The time of the advertisement, on the timeline.
    public var time: Instant
    /// The adapter that received it.
    public var adapter: AdapterID
    /// The beacon that advertised.
    public var beacon: BeaconIdentity
    /// The RSSI at one metre that the frame declares, in dBm; `nil` if it is unknown. −128 counts as `nil`.
    public var measuredPower: Int8?
    /// The signal strength; `nil` if the controller did not report it.
    public var rssi: RSSI?
    // The address as a word, because a sighting is copied for each report.
    @usableFromInline var packedAddress: UInt64

    /// The address of the advertiser; `nil` if the source does not report it.
    public var address: DeviceAddress? {
        get { DeviceAddress(packed: packedAddress) }
        set { packedAddress = DeviceAddress.packed(newValue) }
    }

    /// Creates a sighting, for sources outside this package.
    public init(
        time: Instant, adapter: AdapterID, beacon: BeaconIdentity, measuredPower: Int8?, rssi: RSSI?,
        address: DeviceAddress? = nil
    ) {
        self.time = time
        self.adapter = adapter
        self.beacon = beacon
        self.measuredPower = IBeacon.knownPower(measuredPower)
        self.rssi = rssi
        packedAddress = DeviceAddress.packed(address)
    }
}

/// An adapter in the table of a monitor.
///
/// It is valid only for the monitor that returned it. Other monitors drop inputs with it and count them
/// (``BeaconMonitor/Counters/foreignInputs``).
public struct AdapterID: Sendable, Hashable {
    /// The index in the table, starting at 1.
    public let index: UInt16
    /// A number of the monitor, unique in this process; 0 for an engine without a monitor.
    package var owner: UInt32 = 0

    /// Creates the ID of an adapter without a monitor.
    @inlinable package init(index: Int) { self.index = UInt16(truncatingIfNeeded: index) }
}
