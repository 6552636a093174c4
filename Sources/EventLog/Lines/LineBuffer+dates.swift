public import BeaconMonitoring

extension LineBuffer {
    /// Appends a date as RFC 3339 has it, in UTC with microseconds: `2026-11-21T07:46:27.123456Z`.
    public mutating func append(_ date: WallDate) {
        let (second, microseconds) = Self.split(date.microseconds, by: 1_000_000)
        let slot = second & 63
        if secondTexts[slot].second != second { secondTexts[slot] = SecondText(second) }
        append(secondTexts[slot].text)
        append(microseconds, digits: 6)
        append(octet: UInt8(ascii: "Z"))
    }

    /// Appends a date as `time`, the key and the comma before it included: whole milliseconds since the beginning of 1970,
    /// rounded down, a number that every JSON reader holds exactly.
    package mutating func append(timeOf date: WallDate) {
        append(",\"time\":")
        append(Self.split(date.microseconds, by: 1000).0)
    }

    /// Appends a duration in seconds, as a decimal number of one to six decimals, without more trailing zeros: `0.0`, `1.5`.
    ///
    /// Always with a decimal point, since readers that take a number's type from how it is written (databases that make
    /// columns of first values) would have it change.
    public mutating func append(seconds microseconds: Int64) {
        if microseconds < 0 { append(octet: UInt8(ascii: "-")) }
        let magnitude = microseconds.magnitude
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

    private static func split(_ value: Int64, by size: Int64) -> (Int, Int) {
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
        func put(_ number: Int, at place: Int, digits: Int) {
            var left = number
            for digit in (place..<place + digits).reversed() {
                text[digit] = 0x30 + UInt8(truncatingIfNeeded: left % 10)
                left /= 10
            }
        }
        put(date.year, at: 0, digits: 4)
        put(date.month, at: 5, digits: 2)
        put(date.day, at: 8, digits: 2)
        put(rest / 3600, at: 11, digits: 2)
        put(rest / 60 % 60, at: 14, digits: 2)
        put(rest % 60, at: 17, digits: 2)
        text[10] = UInt8(ascii: "T")
        text[13] = UInt8(ascii: ":")
        text[16] = UInt8(ascii: ":")
        text[19] = UInt8(ascii: ".")
        self.text = text
    }
}
