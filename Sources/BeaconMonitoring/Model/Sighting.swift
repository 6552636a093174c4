public import BaseTypes
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

    /// A sighting as a source of one's own makes it.
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

/// A source of reports that a monitor knows: the place of its name in the monitor's table of adapters.
///
/// It means something to the monitor alone that gave it, for as long as that lives: another takes nothing that comes under
/// it, and counts that (``BeaconMonitor/Counters/foreignInputs``).
public struct AdapterID: Sendable, Hashable {
    /// The place in the table, from 1.
    public let index: UInt16
    /// The monitor that gave it, by a number that no other in this process has; 0: an engine without one.
    package var owner: UInt32 = 0

    /// The adapter at a place, of no monitor yet.
    @inlinable package init(index: Int) { self.index = UInt16(truncatingIfNeeded: index) }
}
