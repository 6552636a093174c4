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
    public init?(_ text: some StringProtocol) { self.init(utf8: Array(text.utf8.prefix(37)).span) }

    /// The UUID that `text` spells in UTF-8: 32 hexadecimal digits, with all four hyphens or with none; `nil` for other text.
    package init?(utf8 text: Span<UInt8>) {
        let hasHyphens = text.count == 36
        guard hasHyphens || text.count == 32 else { return nil }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for index in text.indices {
            if hasHyphens, index == 8 || index == 13 || index == 18 || index == 23 {
                guard text[index] == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = hexadecimalDigit(text[index]) else { return nil }
            if index < text.count / 2 {
                halves.high = halves.high << 4 | UInt64(digit)
            } else {
                halves.low = halves.low << 4 | UInt64(digit)
            }
        }
        self.init(high: halves.high, low: halves.low)
    }
}
