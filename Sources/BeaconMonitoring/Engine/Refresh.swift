import BaseTypes
import BluetoothLE

/// The last refresh of a subject: a sighting in three words. The UUID is omitted, because the condition has it.
struct Refresh: Sendable {
    var time: Int64 = 0
    /// The address as a word, as in a sighting.
    private var packedAddress: UInt64 = 0
    // Major, minor, adapter, RSSI and measured power, starting at the lowest bit: written as one word for each
    // sighting.
    private var packed: UInt64

    init(major: UInt16, minor: UInt16) { packed = UInt64(major) | UInt64(minor) << 16 }

    @inline(__always)
    init(_ sighting: Sighting, at time: Int64) {
        self.time = time
        packedAddress = sighting.packedAddress
        packed =
            UInt64(sighting.beacon.major) | UInt64(sighting.beacon.minor) << 16
            | UInt64(sighting.adapter.index) << 32 | UInt64(RSSI.byte(sighting.rssi)) << 48
            | UInt64(IBeacon.byte(ofPower: sighting.measuredPower)) << 56
    }

    /// Creates a refresh from a frame, whose words have the same layout except for the adapter.
    @inline(__always)
    init(_ frame: BeaconFrame, by adapter: AdapterIndex, at time: Int64) {
        self.time = time
        packedAddress = frame.packedAddress
        packed = frame.packed | UInt64(adapter.number) << 32
    }

    /// Minor and major, which together with the UUID are the key of the cache.
    var number: UInt32 { UInt32(truncatingIfNeeded: packed) }
    var adapter: AdapterIndex { AdapterIndex(UInt16(truncatingIfNeeded: packed >> 32)) }
    private var major: UInt16 { UInt16(truncatingIfNeeded: packed) }
    private var minor: UInt16 { UInt16(truncatingIfNeeded: packed >> 16) }

    func beacon(uuid: ProximityUUID) -> BeaconIdentity { BeaconIdentity(uuid: uuid, major: major, minor: minor) }

    /// Returns the sighting. `uuid` must be that of the condition.
    func sighting(uuid: ProximityUUID) -> Sighting {
        var sighting = Sighting(
            time: Instant(nanoseconds: time), adapter: adapter.id, beacon: beacon(uuid: uuid),
            measuredPower: Int8(truncatingIfNeeded: packed >> 56),
            rssi: RSSI(reported: UInt8(truncatingIfNeeded: packed >> 48)))
        sighting.packedAddress = packedAddress
        return sighting
    }
}

extension BeaconFrame {
    /// Minor and major, as in the cache.
    @inline(__always)
    var number: UInt32 { UInt32(truncatingIfNeeded: packed) }

    /// The RSSI. An absent one is below every threshold (rule E2).
    @inline(__always)
    var strength: Int16 {
        let byte = UInt8(truncatingIfNeeded: packed >> 48)
        return byte == 0x7F ? ConditionMatch.absentRSSI : Int16(Int8(bitPattern: byte))
    }
}

extension Sighting {
    /// The RSSI. An absent one is below every threshold (rule E2).
    @inline(__always)
    var strength: Int16 { rssi.map { Int16($0.dBm) } ?? ConditionMatch.absentRSSI }
}
