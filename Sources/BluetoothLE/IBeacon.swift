/// One iBeacon frame: who advertises, and how strong it is at one metre.
///
/// Source: Apple, "Proximity Beacon Specification" R1; rule B1.
public struct IBeacon: Sendable, Hashable {
    /// UUID, major, minor.
    public let identity: BeaconIdentity
    /// The RSSI that a phone measures one metre away, in dBm, as the beacon's maker calibrated it.
    public let measuredPower: Int8

    /// Makes a frame of its fields.
    @inlinable public init(identity: BeaconIdentity, measuredPower: Int8) {
        self.identity = identity
        self.measuredPower = measuredPower
    }

    /// The company identifier 0x004C (Apple, little endian) and the proximity beacon's type and length: the first four
    /// octets of its manufacturer specific data, read as a big-endian number.
    @inlinable static var prefix: UInt32 { 0x4C00_0215 }

    /// The octets of manufacturer specific data that make an iBeacon: company identifier (2), type, length, UUID (16),
    /// major (2), minor (2), measured power (1).
    @inlinable public static var manufacturerDataLength: Int { 25 }

    /// The frame in manufacturer specific data (company identifier first); `nil` where they are not an iBeacon.
    ///
    /// Octets after the frame are ignored: beacons in the field append a battery level (rule B1).
    @inlinable public init?(manufacturerData bytes: Span<UInt8>) {
        guard bytes.count >= Self.manufacturerDataLength else { return nil }
        let raw = unsafe bytes.bytes
        let prefix = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt32.self)
        guard UInt32(bigEndian: prefix) == Self.prefix else { return nil }
        unsafe self.init(uncheckedFrame: raw, at: 0)
    }

    /// The frame whose 25 octets, the prefix first, stand at `start`: the caller has checked that they do.
    @unsafe @inlinable @inline(__always) init(uncheckedFrame raw: RawSpan, at start: Int) {
        let high = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 4, as: UInt64.self)
        let low = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 12, as: UInt64.self)
        let major = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 20, as: UInt16.self)
        let minor = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 22, as: UInt16.self)
        let uuid = ProximityUUID(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        identity = BeaconIdentity(uuid: uuid, major: UInt16(bigEndian: major), minor: UInt16(bigEndian: minor))
        measuredPower = unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ 24, as: Int8.self)
    }

    /// The frame's manufacturer specific data, company identifier first: 25 octets.
    public var manufacturerData: [UInt8] {
        var bytes: [UInt8] = [0x4C, 0x00, 0x02, 0x15]
        bytes.reserveCapacity(Self.manufacturerDataLength)
        for half in [identity.uuid.high, identity.uuid.low] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
            }
        }
        for number in [identity.major, identity.minor] {
            bytes.append(UInt8(truncatingIfNeeded: number >> 8))
            bytes.append(UInt8(truncatingIfNeeded: number))
        }
        bytes.append(UInt8(bitPattern: measuredPower))
        return bytes
    }
}
