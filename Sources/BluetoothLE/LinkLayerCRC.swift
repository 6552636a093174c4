/// The CRC of the link layer: x²⁴ + x¹⁰ + x⁹ + x⁶ + x⁴ + x³ + x + 1, least significant bit of each octet first.
///
/// Source: Bluetooth Core Vol 6 Part B §3.1.1.
enum LinkLayerCRC {
    /// The CRC of the advertising PDU in `range` of `bytes`, as a little-endian number of its three octets on the air.
    static func advertising(of bytes: Span<UInt8>, in range: Range<Int>) -> UInt32 {
        // The register is kept with its position 23 in bit 0, so that octets enter as they are: the polynomial 0x00065B
        // and the preset 0x555555 appear reversed.
        var register: UInt32 = 0xAA_AAAA
        let table = steps.span
        let octets = bytes.extracting(range)
        let raw = unsafe octets.bytes
        var index = 0
        // Four octets a step: each has gone through the register as often as octets follow it.
        while index &+ 4 <= octets.count {
            // Lies within `octets`, as just checked.
            let word = unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt32.self)
            let mixed = register ^ UInt32(littleEndian: word)
            register =
                table[768 | Int(mixed & 0xFF)] ^ table[512 | Int(mixed >> 8 & 0xFF)]
                ^ table[256 | Int(mixed >> 16 & 0xFF)] ^ table[Int(mixed >> 24)]
            index &+= 4
        }
        while index < octets.count {
            register = register >> 8 ^ table[Int((register ^ UInt32(octets[index])) & 0xFF)]
            index &+= 1
        }
        return register
    }

    /// At `256 * n + octet`: what an octet leaves in the register when it, and `n` octets of zero, have gone through.
    private static let steps: [UInt32] = {
        var steps = (0..<256).map { octet in
            var register = UInt32(octet)
            for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 0 ? 0 : 0xDA_6000) }
            return register
        }
        for index in 0..<768 { steps.append(steps[index] >> 8 ^ steps[Int(steps[index] & 0xFF)]) }
        return steps
    }()
}
