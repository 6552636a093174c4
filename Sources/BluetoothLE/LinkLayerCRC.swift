/// The CRC of the link layer: x²⁴ + x¹⁰ + x⁹ + x⁶ + x⁴ + x³ + x + 1, least significant bit of each byte first.
///
/// Source: Bluetooth Core Vol 6 Part B §3.1.1.
enum LinkLayerCRC {
    /// Returns the CRC of the advertising PDU in `range` of `bytes`, as the little-endian number of its three bytes in
    /// the frame.
    static func advertising(of bytes: Span<UInt8>, in range: Range<Int>) -> UInt32 {
        // Position 23 of the register is in bit 0, so that bytes can be used without reversing their bits. The
        // polynomial 0x00065B and the initial value 0x555555 are therefore reversed.
        var register: UInt32 = 0xAA_AAAA
        let table = steps.span
        let part = bytes.extracting(range)
        let raw = unsafe part.bytes
        var index = 0
        // Four bytes per step: each table contains the effect of a byte that is followed by 3, 2, 1 or 0 further bytes.
        while index &+ 4 <= part.count {
            // The check of the loop guarantees that the load is inside `part`.
            let word = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt32.self)
            let mixed = register ^ UInt32(littleEndian: word)
            register =
                table[768 | Int(mixed & 0xFF)] ^ table[512 | Int(mixed >> 8 & 0xFF)]
                ^ table[256 | Int(mixed >> 16 & 0xFF)] ^ table[Int(mixed >> 24)]
            index &+= 4
        }
        while index < part.count {
            register = register >> 8 ^ table[Int((register ^ UInt32(part[index])) & 0xFF)]
            index &+= 1
        }
        return register
    }

    /// At `256 * n + byte`: the register after that byte and `n` zero bytes.
    private static let steps: [UInt32] = {
        var steps = (0..<256).map { byte in
            var register = UInt32(byte)
            for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 0 ? 0 : 0xDA_6000) }
            return register
        }
        for index in 0..<768 { steps.append(steps[index] >> 8 ^ steps[Int(steps[index] & 0xFF)]) }
        return steps
    }()
}
