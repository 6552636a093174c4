// Numbers in decimal, and octets in hexadecimal.
extension LineBuffer {
    /// Appends a number in decimal.
    @inlinable @inline(__always)
    public mutating func append(_ number: Int) {
        reserve(20)
        if number < 0 {
            unsafe storage[filled] = UInt8(ascii: "-")
            filled += 1
        }
        let magnitude = number.magnitude
        guard magnitude < 100_000_000 else { return storeLarge(magnitude) }
        storeSmall(magnitude)
    }

    /// Appends a number of eight digits at most, for which ``reserve(_:)`` made room.
    @inlinable @inline(__always)
    mutating func storeSmall(_ number: UInt) {
        var digits = 1
        var bound: UInt = 10
        while number >= bound {
            digits += 1
            bound &*= 10
        }
        store(number, digits: digits)
    }

    /// The same of more digits, as times and identifiers have them: eight after eight.
    @usableFromInline @inline(never)
    mutating func storeLarge(_ number: UInt) {
        let (high, low) = number.quotientAndRemainder(dividingBy: 100_000_000)
        if high < 100_000_000 { storeSmall(high) } else { storeLarge(high) }
        store(low, digits: 8)
    }

    /// Appends a number of exactly `digits` decimal digits, zeros in front.
    @inlinable @inline(__always)
    public mutating func append(_ number: Int, digits: Int) {
        reserve(digits)
        store(number.magnitude, digits: digits)
    }

    /// Appends the last `digits` decimal digits of a number, for which ``reserve(_:)`` made room: two with each division.
    @inlinable @inline(__always)
    mutating func store(_ number: UInt, digits: Int) {
        let start = unsafe storage + filled
        var rest = number
        var place = digits
        while place >= 2 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            rest = quotient
            // Of less than a hundred this is the tenth.
            let tens = (pair &* 103) >> 10
            place -= 2
            unsafe start[place] = 0x30 + UInt8(truncatingIfNeeded: tens)
            unsafe start[place + 1] = 0x30 + UInt8(truncatingIfNeeded: pair &- tens &* 10)
        }
        if place == 1 { unsafe start[0] = 0x30 + UInt8(truncatingIfNeeded: rest % 10) }
        filled += digits
    }

    /// Appends two hexadecimal digits, upper case.
    public mutating func append(hexadecimal octet: UInt8) {
        append(octet: Self.digit(octet >> 4))
        append(octet: Self.digit(octet & 0xF))
    }

    /// Appends a number of tenths with its decimal: `-61.5`.
    public mutating func append(tenths: Int) {
        if tenths < 0 { append(octet: UInt8(ascii: "-")) }
        append(Int(tenths.magnitude / 10))
        append(octet: UInt8(ascii: "."))
        append(Int(tenths.magnitude % 10))
    }

    /// Appends a decimal number of so many millionths, of one to six decimals, without more trailing zeros: `0.0`, `1.5`.
    ///
    /// Always with a decimal point, since readers that take a number's type from how it is written (databases that make
    /// columns of first values) would have it change.
    public mutating func append(millionths: Int64) {
        if millionths < 0 { append(octet: UInt8(ascii: "-")) }
        let magnitude = millionths.magnitude
        append(Int(truncatingIfNeeded: magnitude / 1_000_000))
        var fraction = Int(truncatingIfNeeded: magnitude % 1_000_000)
        var digits = 6
        while fraction % 10 == 0, digits > 1 {
            fraction /= 10
            digits -= 1
        }
        append(octet: UInt8(ascii: "."))
        append(fraction, digits: digits)
    }
}
