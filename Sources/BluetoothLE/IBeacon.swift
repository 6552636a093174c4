/// One iBeacon frame: the identity of the beacon and its calibrated signal strength.
///
///     let frame = IBeacon(manufacturerData: bytes.span)
///     #expect(frame?.identity == badge)
///     #expect(frame?.measuredPower == -59)
///
/// Source: Apple, "Proximity Beacon Specification" R1; rule B1.
public struct IBeacon: Sendable, Hashable {
    /// UUID, major and minor.
    public let identity: BeaconIdentity
    /// The RSSI at a distance of one metre, in dBm, as calibrated by the manufacturer of the beacon; `nil` if it is
    /// unknown. The byte 0x80 of a frame stands for `nil`, because −128 dBm at one metre is not possible.
    public let measuredPower: Int8?

    /// Creates a frame from its fields. A measured power of −128 is stored as `nil`.
    @inlinable public init(identity: BeaconIdentity, measuredPower: Int8?) {
        self.identity = identity
        self.measuredPower = Self.knownPower(measuredPower)
    }

    /// Returns `power`, but `nil` for −128, which stands for an unknown measured power.
    @inlinable package static func knownPower(_ power: Int8?) -> Int8? { power == .min ? nil : power }

    /// Returns the byte of a frame for a measured power: 0x80 (−128) for `nil`.
    @inlinable package static func byte(ofPower power: Int8?) -> UInt8 { UInt8(bitPattern: power ?? .min) }

    /// The company identifier 0x004C (Apple, little endian), the type and the length of a proximity beacon: the first
    /// four bytes of its manufacturer specific data, read as a big-endian number.
    @inlinable static var prefix: UInt32 { 0x4C00_0215 }

    /// The number of bytes of an iBeacon's manufacturer specific data, 25: company identifier (2), type (1), length
    /// (1), UUID (16), major (2), minor (2), measured power (1).
    @inlinable public static var manufacturerDataLength: Int { 25 }

    /// Creates the frame in manufacturer specific data, which start with the company identifier; `nil` if they are not
    /// an iBeacon.
    ///
    /// Bytes after the frame are ignored, because some beacons append a battery level (rule B1).
    @inlinable public init?(manufacturerData bytes: Span<UInt8>) {
        guard bytes.count >= Self.manufacturerDataLength else { return nil }
        let raw = unsafe bytes.bytes
        let prefix = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt32.self)
        guard UInt32(bigEndian: prefix) == Self.prefix else { return nil }
        unsafe self.init(uncheckedFrame: raw, at: 0)
    }

    /// Creates the frame whose 25 bytes, including the prefix, are at `start`. The caller must have checked that they
    /// are there.
    @unsafe @inlinable @inline(__always) init(uncheckedFrame raw: RawSpan, at start: Int) {
        let high = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 4, as: UInt64.self)
        let low = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 12, as: UInt64.self)
        let major = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 20, as: UInt16.self)
        let minor = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 22, as: UInt16.self)
        let uuid = ProximityUUID(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        identity = BeaconIdentity(uuid: uuid, major: UInt16(bigEndian: major), minor: UInt16(bigEndian: minor))
        measuredPower = Self.knownPower(unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ 24, as: Int8.self))
    }

    /// The manufacturer specific data of the frame: 25 bytes, starting with the company identifier.
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
        bytes.append(Self.byte(ofPower: measuredPower))
        return bytes
    }
}
