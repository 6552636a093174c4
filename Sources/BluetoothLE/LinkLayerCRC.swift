/// The CRC of the link layer: x²⁴ + x¹⁰ + x⁹ + x⁶ + x⁴ + x³ + x + 1, least significant bit of each octet first.
///
/// Source: Bluetooth Core Vol 6 Part B §3.1.1.
enum LinkLayerCRC {
    /// The CRC of the advertising PDU in `range` of `bytes`, as a little-endian number of its three octets on the air.
    static func advertising(of bytes: Span<UInt8>, in range: Range<Int>) -> UInt32 {
        // The register is kept with its position 23 in bit 0, so that octets enter as they are: the polynomial 0x00065B
        // and the preset 0x555555 appear reversed.
        var register: UInt32 = 0xAA_AAAA
        let table = table
        for index in range {
            register = register >> 8 ^ table[Int((register ^ UInt32(bytes[index])) & 0xFF)]
        }
        return register
    }

    private static let table: InlineArray<256, UInt32> = InlineArray { index in
        var register = UInt32(truncatingIfNeeded: index)
        for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 0 ? 0 : 0xDA_6000) }
        return register
    }
}
