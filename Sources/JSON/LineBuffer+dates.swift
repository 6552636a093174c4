import BaseTypes

// Dates as RFC 3339 has them, in UTC.
extension LineBuffer {
    /// Appends the date so many microseconds after the beginning of 1970: `2026-11-21T07:46:27.123456Z`.
    public mutating func append(date microseconds: Int64) {
        let (second, rest) = Self.split(microseconds, by: 1_000_000)
        append(second: second)
        append(rest, digits: 6)
        append(octet: UInt8(ascii: "Z"))
    }

    /// The same of nanoseconds, of which a date has nine digits where six don't say all.
    public mutating func append(dateOfNanoseconds nanoseconds: Int64) {
        let (second, rest) = Self.split(nanoseconds, by: 1_000_000_000)
        append(second: second)
        if rest % 1000 == 0 { append(rest / 1000, digits: 6) } else { append(rest, digits: 9) }
        append(octet: UInt8(ascii: "Z"))
    }

    /// Writes the date so many nanoseconds after the beginning of 1970: ``append(dateOfNanoseconds:)``.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, dateOfNanoseconds nanoseconds: Int64) {
        self.key(key)
        quoted { $0.append(dateOfNanoseconds: nanoseconds) }
    }

    private mutating func append(second: Int) {
        let slot = second & 63
        if secondTexts[slot].second != second { secondTexts[slot] = SecondText(second) }
        append(secondTexts[slot].text)
    }

    /// The whole parts of `size` in a value, and what is left, which is not negative.
    package static func split(_ value: Int64, by size: Int64) -> (Int, Int) {
        let rest = value % size
        return rest < 0 ? (Int(value / size) - 1, Int(rest + size)) : (Int(value / size), Int(rest))
    }
}

/// A second as dates begin: `2026-11-21T07:46:27.`.
struct SecondText {
    /// Seconds since 1970-01-01T00:00:00Z.
    let second: Int
    let text: InlineArray<20, UInt8>

    /// No second's.
    init() {
        second = .min
        text = InlineArray(repeating: 0)
    }

    init(_ second: Int) {
        self.second = second
        let days = second >= 0 ? second / 86_400 : (second - 86_399) / 86_400
        let date = CivilDate(day: days)
        let rest = second - days * 86_400
        var text = InlineArray<20, UInt8>(repeating: UInt8(ascii: "-"))
        func put(_ number: Int, at place: Int) {
            let pair = UInt32(truncatingIfNeeded: number)
            let tens = pair / 10
            text[place] = 0x30 + UInt8(truncatingIfNeeded: tens)
            text[place + 1] = 0x30 + UInt8(truncatingIfNeeded: pair &- tens &* 10)
        }
        let ofDay = UInt32(truncatingIfNeeded: rest)
        put(date.year / 100 % 100, at: 0)
        put(date.year % 100, at: 2)
        put(date.month, at: 5)
        put(date.day, at: 8)
        put(Int(ofDay / 3600), at: 11)
        put(Int(ofDay / 60 % 60), at: 14)
        put(Int(ofDay % 60), at: 17)
        text[10] = UInt8(ascii: "T")
        text[13] = UInt8(ascii: ":")
        text[16] = UInt8(ascii: ":")
        text[19] = UInt8(ascii: ".")
        self.text = text
    }
}
