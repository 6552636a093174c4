import BaseTypes

/// The 128 bits that beacons of one deployment share, in the order in which they go over the air.
///
/// Source: Apple, "Proximity Beacon Specification" R1: the proximity UUID field, big endian.
public struct ProximityUUID: Sendable, Hashable, Comparable {
    /// The first eight octets, the first the most significant.
    public let high: UInt64
    /// The last eight octets.
    public let low: UInt64

    /// Makes a UUID of its two halves.
    @inlinable public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The UUID with its bytes in reverse order, as btmon prints that of an iBeacon.
    package var byteReversed: ProximityUUID { ProximityUUID(high: low.byteSwapped, low: high.byteSwapped) }

    /// The order of the octets, the first the most significant.
    @inlinable public static func < (left: ProximityUUID, right: ProximityUUID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

extension ProximityUUID: CustomStringConvertible {
    /// Upper case with hyphens, `F7826DA6-4FA2-4E98-8024-BC5B71E0893E`.
    public var description: String {
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            var index = 0
            for octet in 0..<16 {
                if octet == 4 || octet == 6 || octet == 8 || octet == 10 {
                    unsafe buffer[index] = UInt8(ascii: "-")
                    index += 1
                }
                let half = octet < 8 ? high : low
                let value = UInt8(truncatingIfNeeded: half >> UInt64(56 - octet % 8 * 8))
                unsafe buffer[index] = Self.digit(value >> 4)
                unsafe buffer[index + 1] = Self.digit(value & 0xF)
                index += 2
            }
            return index
        }
    }

    private static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }

    /// The UUID that `text` spells, with or without its hyphens, in either case; `nil` where it is anything else.
    public init?(_ text: some StringProtocol) {
        guard let value = hexadecimal(text, digits: 32, groups: [8, 12, 16, 20], separators: ["-"]) else { return nil }
        self.init(high: UInt64(truncatingIfNeeded: value >> 64), low: UInt64(truncatingIfNeeded: value))
    }
}
