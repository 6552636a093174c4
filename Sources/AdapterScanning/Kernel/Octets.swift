// Numbers in what the kernel and controllers send: little endian, and never past the end.
extension Span where Element == UInt8 {
    /// The octet at `offset`; `nil` where the bytes end before it.
    func octet(at offset: Int) -> UInt8? { offset >= 0 && offset < count ? self[offset] : nil }

    /// The 16 bits at `offset`; `nil` where the bytes end before them.
    func number16(at offset: Int) -> UInt16? {
        guard offset >= 0, count >= 2, offset <= count - 2 else { return nil }
        return UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
    }

    /// The 32 bits at `offset`; `nil` where the bytes end before them.
    func number32(at offset: Int) -> UInt32? {
        guard let low = number16(at: offset), let high = number16(at: offset + 2) else { return nil }
        return UInt32(high) << 16 | UInt32(low)
    }

    /// The 48 bits of a device address at `offset`; `nil` where the bytes end before them.
    func address48(at offset: Int) -> UInt64? {
        guard let low = number32(at: offset), let high = number16(at: offset + 4) else { return nil }
        return UInt64(high) << 32 | UInt64(low)
    }
}

extension [UInt8] {
    /// Appends the 16 bits of `number`, the lower octet first.
    mutating func append16(_ number: UInt16) {
        append(UInt8(truncatingIfNeeded: number))
        append(UInt8(truncatingIfNeeded: number >> 8))
    }
}
