import BaseTypes

/// What the texts in an advertisement log mean: hexadecimal digits, escapes, times.
enum LogText {
    /// What a hexadecimal digit stands for; 0xFF for anything else.
    @inline(__always) static func nibble(_ byte: UInt8) -> UInt8 {
        // Without a branch: digits and letters come as they please, and a wrong guess costs more than all of this.
        let digit = byte &- 0x30
        let letter = (byte | 0x20) &- 0x61
        let isDigit: UInt8 = digit < 10 ? 0xFF : 0
        let isLetter: UInt8 = letter < 6 ? 0xFF : 0
        return digit & isDigit | (letter &+ 10) & isLetter | ~(isDigit | isLetter)
    }

    /// Puts the octets that the digits in `start..<end` of `bytes` spell where the digits begin; whether all are digits.
    ///
    /// There is an even number of them, and the caller has checked that they stand there.
    static func decodeHexadecimal(_ bytes: inout [UInt8], _ start: Int, _ end: Int) -> Bool {
        guard start >= 0, start <= end, end <= bytes.count, (end - start) % 2 == 0 else { return false }
        return unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var invalid: UInt8 = 0
            var octet = 0
            let count = (end &- start) / 2
            // Eight digits make four octets in one go. What is written stands before what is still to be read.
            while octet &+ 4 <= count {
                let digits = unsafe UInt64(
                    littleEndian: raw.loadUnaligned(fromByteOffset: start &+ 2 &* octet, as: UInt64.self))
                guard let octets = octets(of: digits) else { return false }
                unsafe raw.storeBytes(of: octets.littleEndian, toByteOffset: start &+ octet, as: UInt32.self)
                octet &+= 4
            }
            while octet < count {
                let high = unsafe nibble(buffer[start &+ 2 &* octet])
                let low = unsafe nibble(buffer[start &+ 2 &* octet &+ 1])
                invalid |= high | low
                unsafe buffer[start &+ octet] = high << 4 | low & 0xF
                octet &+= 1
            }
            return invalid <= 0xF
        }
    }

    /// The four octets that eight hexadecimal digits spell, the first digit in the lowest byte; `nil` where one is none.
    @inline(__always) private static func octets(of digits: UInt64) -> UInt32? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let high = ones &* 0x80
        // Bytes below 0x80 never carry into the next one: a byte's high bit says that it is at least the bound.
        guard digits & high == 0 else { return nil }
        let isDigit = (digits &+ ones &* (0x80 - 0x30)) & ~(digits &+ ones &* (0x80 - 0x3A)) & high
        let lower = digits | ones &* 0x20
        let isLetter = (lower &+ ones &* (0x80 - 0x61)) & ~(lower &+ ones &* (0x80 - 0x67)) & high
        guard isDigit | isLetter == high else { return nil }
        let nibbles = (digits & (ones &* 0x0F)) &+ (isLetter >> 7) &* 9
        // The first of two nibbles is the high one; then every second byte.
        var octets = (nibbles << 4 | nibbles >> 8) & 0x00FF_00FF_00FF_00FF
        octets = (octets | octets >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: octets | octets >> 16)
    }

    /// A time as a text has it.
    struct Time {
        /// Whole seconds since 1970, on the clock of a zone that is not known if ``isLocal``.
        var seconds: Int
        /// The rest, less than a second; finer digits are cut off.
        var nanoseconds: Int
        var isLocal: Bool
    }

    /// The time in RFC 3339 text, whose offset may be missing; `nil` if it is none.
    static func time(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Time? {
        guard end - start >= 19,
            let year = number(text, start, 4), text[start + 4] == UInt8(ascii: "-"),
            let month = number(text, start + 5, 2), text[start + 7] == UInt8(ascii: "-"),
            let day = number(text, start + 8, 2),
            text[start + 10] | 0x20 == UInt8(ascii: "t") || text[start + 10] == UInt8(ascii: " "),
            let seconds = clock(text, start + 11, secondMax: 60),
            let days = CivilDate.existingDay(year: year, month: month, day: day)
        else { return nil }
        var place = start + 19
        var nanoseconds = 0
        if place < end, text[place] == UInt8(ascii: ".") {
            place += 1
            let first = place
            var scale = 100_000_000
            while place < end, text[place] &- 0x30 < 10 {
                nanoseconds += Int(text[place] &- 0x30) * scale
                scale /= 10
                place += 1
            }
            guard place > first else { return nil }
        }
        let local = days * 86_400 + seconds
        let isLeap = text[start + 17] == UInt8(ascii: "6")
        if place == end { return isLeap ? nil : Time(seconds: local, nanoseconds: nanoseconds, isLocal: true) }
        guard let offset = zone(text, place, end), !isLeap || CivilDate.canFollowLeapSecond(local - offset) else {
            return nil
        }
        return Time(seconds: local - offset, nanoseconds: nanoseconds, isLocal: false)
    }

    /// Seconds of the day in `hh:mm:ss`; `nil` if there is no such time, or its seconds are more than `secondMax`.
    static func clock(_ text: Span<UInt8>, _ start: Int, secondMax: Int = 59) -> Int? {
        guard let hour = number(text, start, 2), text[start + 2] == UInt8(ascii: ":"),
            let minute = number(text, start + 3, 2), text[start + 5] == UInt8(ascii: ":"),
            let second = number(text, start + 6, 2), hour < 24, minute < 60, second <= secondMax
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private static func zone(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Int? {
        if text[start] | 0x20 == UInt8(ascii: "z") { return end == start + 1 ? 0 : nil }
        guard end == start + 6, text[start] == UInt8(ascii: "+") || text[start] == UInt8(ascii: "-"),
            let hour = number(text, start + 1, 2), text[start + 3] == UInt8(ascii: ":"),
            let minute = number(text, start + 4, 2), hour < 24, minute < 60
        else { return nil }
        let seconds = hour * 3600 + minute * 60
        return text[start] == UInt8(ascii: "-") ? -seconds : seconds
    }

    /// The whole number that at most five digits spell, with or without a minus; `nil` if the text is anything else.
    @inline(__always) static func smallInteger(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Int? {
        let isNegative = start < end && text[start] == UInt8(ascii: "-")
        var place = isNegative ? start + 1 : start
        guard end > place, end - place <= 5, end - place == 1 || text[place] != UInt8(ascii: "0") else { return nil }
        var number = 0
        while place < end {
            let digit = text[place] &- 0x30
            guard digit < 10 else { return nil }
            number = number &* 10 &+ Int(digit)
            place += 1
        }
        return isNegative ? -number : number
    }

    /// The number that exactly `count` decimal digits spell. The caller has checked that so many bytes stand there.
    @inline(__always) static func number(_ text: Span<UInt8>, _ start: Int, _ count: Int) -> Int? {
        var value = 0
        for index in start..<start + count {
            let digit = text[index] &- 0x30
            guard digit < 10 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }
}

/// A JSON number, exactly: mantissa · 10^exponent.
struct DecimalNumber {
    var isNegative = false
    var mantissa: UInt128 = 0
    var exponent = 0
    /// The mantissa's significant digits.
    private var digits = 0
    /// Digits past the 36th were dropped, and one of them was not 0.
    private var isCut = false

    /// The number that stands in `start..<end` of `text`; `nil` where it is none (RFC 8259 §6).
    init?(_ text: Span<UInt8>, _ start: Int, _ end: Int) {
        var place = start
        if place < end, text[place] == UInt8(ascii: "-") {
            isNegative = true
            place += 1
        }
        let first = place
        while place < end, text[place] &- 0x30 < 10 {
            append(text[place] &- 0x30, isFraction: false)
            place += 1
        }
        guard place > first, text[first] != 0x30 || place == first + 1 else { return nil }
        if place < end, text[place] == UInt8(ascii: ".") {
            place += 1
            let fraction = place
            while place < end, text[place] &- 0x30 < 10 {
                append(text[place] &- 0x30, isFraction: true)
                place += 1
            }
            guard place > fraction else { return nil }
        }
        if place < end, text[place] | 0x20 == UInt8(ascii: "e") {
            place += 1
            var isBelow = false
            if place < end, text[place] == UInt8(ascii: "+") || text[place] == UInt8(ascii: "-") {
                isBelow = text[place] == UInt8(ascii: "-")
                place += 1
            }
            let power = place
            var value = 0
            while place < end, text[place] &- 0x30 < 10 {
                // Further than that everything is 0 or out of range.
                value = min(value * 10 + Int(text[place] &- 0x30), 10_000_000)
                place += 1
            }
            guard place > power else { return nil }
            exponent += isBelow ? -value : value
        }
        guard place == end else { return nil }
    }

    @inline(__always) private mutating func append(_ digit: UInt8, isFraction: Bool) {
        if digits >= 36 {
            if digit != 0 { isCut = true }
            if !isFraction { exponent += 1 }
            return
        }
        mantissa = mantissa &* 10 &+ UInt128(digit)
        if mantissa != 0 { digits += 1 }
        if isFraction { exponent -= 1 }
    }

    /// Whether no digit but 0 was read, whatever the exponent.
    var isZero: Bool { mantissa == 0 }

    /// The number times 10^`power`, what is below 1 cut off; moved to ±10^37 where it lies outside of that.
    func scaled(by power: Int) -> Int128 {
        var shift = exponent + power
        var value = mantissa
        let limit: UInt128 = 10_000_000_000_000_000_000_000_000_000_000_000_000
        while shift > 0, value != 0 {
            if value >= limit / 10 {
                value = limit
                break
            }
            value *= 10
            shift -= 1
        }
        while shift < 0, value != 0 {
            value /= 10
            shift += 1
        }
        return isNegative ? -Int128(value) : Int128(value)
    }

    /// The number where it is whole and within `range`.
    func integer(in range: ClosedRange<Int>) -> Int? {
        guard !isCut else { return nil }
        let whole = scaled(by: 0)
        guard whole >= Int128(range.lowerBound), whole <= Int128(range.upperBound) else { return nil }
        if exponent < 0 {
            // Whole only where nothing stands behind the point.
            var rest = mantissa
            for _ in 0..<min(-exponent, 40) where rest != 0 {
                if rest % 10 != 0 { return nil }
                rest /= 10
            }
            if rest != 0, -exponent > 40 { return nil }
        }
        return Int(whole)
    }

    /// The unit of a time, in which its magnitude lies.
    enum TimeUnit: Int {
        // The raw value is the power of ten that makes nanoseconds of it.
        case seconds = 9
        case milliseconds = 6
        case microseconds = 3
        case nanoseconds = 0
    }

    /// The unit if the number is a time: seconds, from 10^11 milliseconds, from 10^14 microseconds, from 10^17 nanoseconds.
    var timeUnit: TimeUnit {
        if isZero { return .seconds }
        switch digits + exponent {
        case ..<12: return .seconds
        case ..<15: return .milliseconds
        case ..<18: return .microseconds
        default: return .nanoseconds
        }
    }

    /// The number as a time, in nanoseconds; finer digits are cut off.
    var nanoseconds: Int128 { scaled(by: timeUnit.rawValue) }
}
