public import BluetoothLE

// How beacons and devices are spelled.
extension LineBuffer {
    /// Appends a UUID: upper case with hyphens.
    public mutating func append(_ uuid: ProximityUUID) {
        reserve(36)
        // 8-4-4-4-12 digits: where two groups share a word its halves are written apart.
        let words = (
            Self.digits(uuid.high >> 32), Self.digits(uuid.high), Self.digits(uuid.low >> 32), Self.digits(uuid.low)
        )
        store(words.0, at: 0)
        store(UInt8(ascii: "-"), at: 8)
        store(UInt32(truncatingIfNeeded: words.1), at: 9)
        store(UInt8(ascii: "-"), at: 13)
        store(UInt32(truncatingIfNeeded: words.1 >> 32), at: 14)
        store(UInt8(ascii: "-"), at: 18)
        store(UInt32(truncatingIfNeeded: words.2), at: 19)
        store(UInt8(ascii: "-"), at: 23)
        store(UInt32(truncatingIfNeeded: words.2 >> 32), at: 24)
        store(words.3, at: 28)
        filled += 36
    }

    /// The eight hexadecimal digits of the low 32 bits of `value`, the first in the lowest octet, upper case.
    @inline(__always)
    private static func digits(_ value: UInt64) -> UInt64 {
        // Each nibble to an octet of its own, then ten and more to the letters: all eight at once.
        var nibbles = value & 0xFFFF_FFFF
        nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
        let isLetter = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (nibbles &+ 0x3030_3030_3030_3030 &+ isLetter &* 7).bigEndian
    }

    /// Writes a value `offset` octets on, for which ``reserve(_:)`` made room.
    @inline(__always)
    private func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
        unsafe UnsafeMutableRawPointer(storage + filled + offset)
            .storeBytes(of: value.littleEndian, as: Value.self)
    }

    /// Appends a device address: six pairs of upper-case hexadecimal digits.
    public mutating func append(_ address: DeviceAddress) {
        reserve(17)
        let first = Self.digits(address.value >> 16)
        let last = Self.digits(address.value & 0xFFFF)
        for index in 0..<4 {
            store(UInt16(truncatingIfNeeded: first >> UInt64(16 * index)), at: 3 * index)
            store(UInt8(ascii: ":"), at: 3 * index + 2)
        }
        store(UInt16(truncatingIfNeeded: last >> 32), at: 12)
        store(UInt8(ascii: ":"), at: 14)
        store(UInt16(truncatingIfNeeded: last >> 48), at: 15)
        filled += 17
    }

    /// Appends the bytes of the beacon's `description` without allocating a string.
    package mutating func append(_ beacon: BeaconIdentity) {
        let separator = UInt8(ascii: BeaconIdentity.separator)
        append(beacon.uuid)
        append(octet: separator)
        append(Int(beacon.major))
        append(octet: separator)
        append(Int(beacon.minor))
    }

    /// Writes a UUID.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ uuid: ProximityUUID) {
        self.key(key)
        quoted { $0.append(uuid) }
    }

    /// Writes a device's address.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ address: DeviceAddress) {
        self.key(key)
        quoted { $0.append(address) }
    }

    /// Writes what tells a beacon from others: `uuid`, `major`, `minor`.
    @inlinable @inline(__always)
    public mutating func write(_ beacon: BeaconIdentity) {
        write(BeaconIdentity.Part.uuid.key, beacon.uuid)
        write(BeaconIdentity.Part.major.key, beacon.major)
        write(BeaconIdentity.Part.minor.key, beacon.minor)
    }
}

extension DeviceAddress.Kind {
    /// The type as lines and the advertisement log spell it; `nil` where the source did not say.
    package var word: StaticString? {
        switch self {
        case .public: "public"
        case .random: "random"
        case .publicIdentity: "publicIdentity"
        case .randomIdentity: "randomIdentity"
        case .unresolved: "unresolved"
        case .unspecified: nil
        }
    }
}
