// Bounds-checked reads of little-endian numbers in data from the kernel and from controllers.
extension Span where Element == UInt8 {
    /// Returns the byte at `offset`; `nil` past the end.
    func byte(at offset: Int) -> UInt8? { offset >= 0 && offset < count ? self[offset] : nil }

    /// Returns the 16 bits at `offset`; `nil` if the span ends before.
    func number16(at offset: Int) -> UInt16? {
        guard offset >= 0, count >= 2, offset <= count - 2 else { return nil }
        return UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
    }

    /// Returns the 32 bits at `offset`; `nil` if the span ends before.
    func number32(at offset: Int) -> UInt32? {
        guard let low = number16(at: offset), let high = number16(at: offset + 2) else { return nil }
        return UInt32(high) << 16 | UInt32(low)
    }

    /// Returns the 48 bits of a device address at `offset`; `nil` if the span ends before.
    func address48(at offset: Int) -> UInt64? {
        guard let low = number32(at: offset), let high = number16(at: offset + 4) else { return nil }
        return UInt64(high) << 32 | UInt64(low)
    }
}

extension [UInt8] {
    /// Appends the 16 bits of `number`, low byte first.
    mutating func append16(_ number: UInt16) {
        append(UInt8(truncatingIfNeeded: number))
        append(UInt8(truncatingIfNeeded: number >> 8))
    }
}
