import BaseTypes

/// The 128-bit UUID that all beacons of a deployment share, in the order of its bytes in the advertisement.
///
///     let uuid = ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E")
///     #expect(uuid == ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E))
///
/// Source: Apple, "Proximity Beacon Specification" R1: the proximity UUID field, big endian.
public struct ProximityUUID: Sendable, Hashable, Comparable {
    /// The first eight bytes; the first byte is the most significant.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// Creates a UUID from its two halves.
    @inlinable public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The UUID with its bytes in reverse order, which is how btmon prints the UUID of an iBeacon.
    package var byteReversed: ProximityUUID { ProximityUUID(high: low.byteSwapped, low: high.byteSwapped) }

    /// Orders by bytes, from the first to the last.
    @inlinable public static func < (left: ProximityUUID, right: ProximityUUID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

extension ProximityUUID: CustomStringConvertible {
    /// The UUID in upper case with hyphens: `F7826DA6-4FA2-4E98-8024-BC5B71E0893E`.
    public var description: String {
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            var index = 0
            for place in 0..<16 {
                if place == 4 || place == 6 || place == 8 || place == 10 {
                    unsafe buffer[index] = UInt8(ascii: "-")
                    index += 1
                }
                let half = place < 8 ? high : low
                let value = UInt8(truncatingIfNeeded: half >> UInt64(56 - place % 8 * 8))
                unsafe buffer[index] = Self.digit(value >> 4)
                unsafe buffer[index + 1] = Self.digit(value & 0xF)
                index += 2
            }
            return index
        }
    }

    private static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }

    /// Creates a UUID from a text: 32 hexadecimal digits in either case, with all four hyphens or with none. Returns
    /// `nil` for any other text.
    public init?(_ text: some StringProtocol) { self.init(utf8: Array(text.utf8.prefix(37)).span) }

    /// Creates a UUID from a text in UTF-8: 32 hexadecimal digits, with all four hyphens or with none; `nil` for other
    /// text.
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
