import BaseTypes
import JSON

/// Decodes the texts in an advertisement log: hexadecimal digits, numbers, times.
enum LogText {
    /// Returns the value of a hexadecimal digit; 0xFF for other bytes.
    @inline(__always) static func nibble(_ byte: UInt8) -> UInt8 {
        // Without a branch: digits and letters alternate at random, and a wrong branch prediction costs more than this
        // code.
        let digit = byte &- 0x30
        let letter = (byte | 0x20) &- 0x61
        let isDigit: UInt8 = digit < 10 ? 0xFF : 0
        let isLetter: UInt8 = letter < 6 ? 0xFF : 0
        return digit & isDigit | (letter &+ 10) & isLetter | ~(isDigit | isLetter)
    }

    /// Decodes the hexadecimal digits in `start..<end` of `bytes`, up to the first byte that is not one. The result
    /// replaces them from `start` on.
    ///
    /// - Returns: the number of bytes; each had two digits.
    static func decodeHexadecimal(_ bytes: inout [UInt8], _ start: Int, _ end: Int) -> Int {
        guard start >= 0, start <= end, end <= bytes.count else { return 0 }
        return unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var place = 0
            let count = (end &- start) / 2
            // Eight digits give four bytes at once. Writing never reaches digits that have not been read.
            while place &+ 4 <= count {
                let digits = unsafe UInt64(
                    littleEndian: raw.loadUnaligned(fromByteOffset: start &+ 2 &* place, as: UInt64.self))
                guard let four = fourBytes(of: digits) else { break }
                unsafe raw.storeBytes(of: four.littleEndian, toByteOffset: start &+ place, as: UInt32.self)
                place &+= 4
            }
            while place < count {
                let high = unsafe nibble(buffer[start &+ 2 &* place])
                let low = unsafe nibble(buffer[start &+ 2 &* place &+ 1])
                guard high | low <= 0xF else { break }
                unsafe buffer[start &+ place] = high << 4 | low
                place &+= 1
            }
            return place
        }
    }

    /// Decodes pairs of hexadecimal digits in `start..<end` of `bytes` that can be separated by blanks, or all by the
    /// same other separator: a full stop, a colon or a hyphen. The result replaces them from `start` on.
    ///
    /// Before the digits can be `0x`, `\x` as PostgreSQL writes it, or `(0x)` as nRF Connect writes it, and after them their number as ESPHome writes
    /// it: `02.01.06 (3)`. The first `decoded` bytes are those that ``decodeHexadecimal(_:_:_:)`` has decoded.
    ///
    /// - Returns: the end of the result; `nil` for other text.
    static func decodeSeparatedHexadecimal(_ bytes: inout [UInt8], _ start: Int, _ end: Int, decoded: Int) -> Int? {
        var (place, target) = (start + 2 * decoded, start + decoded)
        if decoded == 0, bytes[start..<end].starts(with: "(0x)".utf8) {
            place += 4
        } else if decoded == 0, end - start >= 2, bytes[start + 1] | 0x20 == 0x78,
            bytes[start] == UInt8(ascii: "0") || bytes[start] == UInt8(ascii: "\\")
        {
            place += 2
        }
        var separator: UInt8?
        while place < end {
            let isSeparated = target > start
            switch bytes[place] {
            case let byte where JSONScanner.isSpace(byte): place += 1
            case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "-"):
                // It must be between two pairs.
                guard isSeparated, separator ?? bytes[place] == bytes[place], place + 1 < end,
                    nibble(bytes[place - 1]) <= 0xF, nibble(bytes[place + 1]) <= 0xF
                else { return nil }
                separator = bytes[place]
                place += 1
            case UInt8(ascii: "("):
                return isCount(target - start, in: bytes[place..<end]) ? target : nil
            default:
                guard place + 1 < end else { return nil }
                let (high, low) = (nibble(bytes[place]), nibble(bytes[place + 1]))
                guard high | low <= 0xF else { return nil }
                bytes[target] = high << 4 | low
                target += 1
                place += 2
            }
        }
        return target
    }

    /// Returns whether a text is a number in parentheses.
    private static func isCount(_ count: Int, in text: ArraySlice<UInt8>) -> Bool {
        text.elementsEqual("(\(count))".utf8)
    }

    /// Decodes the base64 (RFC 4648 §4), or base64url (§5), in `start..<end` of `bytes`. The padding can be missing. The
    /// result replaces the text from `start` on.
    ///
    /// - Returns: the end of the result; `nil` for other text, whose first bytes can have been replaced.
    static func decodeBase64(_ bytes: inout [UInt8], _ start: Int, _ end: Int) -> Int? {
        var end = end
        let isPadded = (end - start) % 4 == 0 && end > start && bytes[end - 1] == UInt8(ascii: "=")
        if isPadded { end -= bytes[end - 2] == UInt8(ascii: "=") ? 2 : 1 }
        guard (end - start) % 4 != 1 else { return nil }
        var (bits, held, target): (UInt32, Int, Int) = (0, 0, start)
        for place in start..<end {
            guard let digit = base64Digit(bytes[place]) else { return nil }
            bits = bits << 6 | UInt32(digit)
            held += 6
            if held >= 8 {
                held -= 8
                bytes[target] = UInt8(truncatingIfNeeded: bits >> UInt32(held))
                target += 1
            }
        }
        // The bits of the last digit that belong to no byte are zero.
        return bits & (1 << UInt32(held) - 1) == 0 ? target : nil
    }

    private static func base64Digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - 0x41
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 0x61 + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }

    /// Returns the four bytes of eight hexadecimal digits; the first digit is in the lowest byte of the word. `nil` if
    /// a byte is not a digit.
    @inline(__always) private static func fourBytes(of digits: UInt64) -> UInt32? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let high = ones &* 0x80
        // Bytes below 0x80 never carry into the next byte, so the high bit of a byte shows that it is at least the
        // bound.
        guard digits & high == 0 else { return nil }
        let isDigit = (digits &+ ones &* (0x80 - 0x30)) & ~(digits &+ ones &* (0x80 - 0x3A)) & high
        let lower = digits | ones &* 0x20
        let isLetter = (lower &+ ones &* (0x80 - 0x61)) & ~(lower &+ ones &* (0x80 - 0x67)) & high
        guard isDigit | isLetter == high else { return nil }
        let nibbles = (digits & (ones &* 0x0F)) &+ (isLetter >> 7) &* 9
        // The first digit of a pair is the high one. Then every second byte is used.
        var bytes = (nibbles << 4 | nibbles >> 8) & 0x00FF_00FF_00FF_00FF
        bytes = (bytes | bytes >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: bytes | bytes >> 16)
    }

    /// A time as written in a text.
    struct Time {
        /// Whole seconds since 1970; if ``isLocal``, on the clock of an unknown zone.
        var seconds: Int
        /// The fraction of the second. Digits beyond nanoseconds are cut off.
        var nanoseconds: Int
        var isLocal: Bool
    }

    /// Returns the time of a text in the form of RFC 3339; `nil` for other text. Forms that other programs write are
    /// read too: without an offset, with a comma before the fraction, and the offsets of ``zone(_:_:_:)``.
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
        if place < end, text[place] == UInt8(ascii: ".") || text[place] == UInt8(ascii: ",") {
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

    /// Returns the second of the day for `hh:mm:ss`; `nil` if there is no such time, or its seconds are more than
    /// `secondMax`.
    static func clock(_ text: Span<UInt8>, _ start: Int, secondMax: Int = 59) -> Int? {
        guard let hour = number(text, start, 2), text[start + 2] == UInt8(ascii: ":"),
            let minute = number(text, start + 3, 2), text[start + 5] == UInt8(ascii: ":"),
            let second = number(text, start + 6, 2), hour < 24, minute < 60, second <= secondMax
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// Returns whether a text is a date without separators, such as `20261121`, also with a time such as `0746`.
    static func isDate(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard end - start == 8 || end - start == 12, let year = number(text, start, 4),
            let month = number(text, start + 4, 2),
            let day = number(text, start + 6, 2)
        else { return false }
        if end - start == 12 {
            guard let hour = number(text, start + 8, 2), let minute = number(text, start + 10, 2), hour < 24,
                minute < 60
            else { return false }
        }
        return year >= 1900 && CivilDate.existingDay(year: year, month: month, day: day) != nil
    }

    /// Returns whether a text is a date with separators: a year of four digits, and a month and a day of two.
    static func isDateWithSeparators(_ text: ArraySlice<UInt8>) -> Bool {
        let parts = text.split(omittingEmptySubsequences: false) { $0 &- 0x30 >= 10 }
        return parts.count == 3 && parts[1].count == 2
            && (parts[0].count == 4 && parts[2].count == 2 || parts[0].count == 2 && parts[2].count == 4)
    }

    /// Returns the offset of a zone in seconds: `Z`, `UTC`, `GMT`, `+01:00`, `+0100` or `+01`, also after a blank; `nil`
    /// for other text. mosquitto_sub(1) writes `Z+0100`, whose offset is that of the time.
    private static func zone(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Int? {
        var start = start
        if text[start] == UInt8(ascii: " ") { start += 1 }
        guard start < end else { return nil }
        let name = text.extracting(start..<end)
        if LogWords.is(name, "Z") || LogWords.is(name, "z") || LogWords.is(name, "UTC") || LogWords.is(name, "GMT") {
            return 0
        }
        if text[start] == UInt8(ascii: "Z") { start += 1 }
        guard text[start] == UInt8(ascii: "+") || text[start] == UInt8(ascii: "-"), end - start >= 3,
            let hour = number(text, start + 1, 2), hour < 24
        else { return nil }
        var minute: Int? = 0
        switch end - start {
        case 3: break
        case 5: minute = number(text, start + 3, 2)
        case 6 where text[start + 3] == UInt8(ascii: ":"): minute = number(text, start + 4, 2)
        default: return nil
        }
        guard let minute, minute < 60 else { return nil }
        let seconds = hour * 3600 + minute * 60
        return text[start] == UInt8(ascii: "-") ? -seconds : seconds
    }

    /// Returns the integer of at most five digits with an optional minus; `nil` for other text.
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

    /// Returns the value of exactly `count` decimal digits; `nil` if one is not a digit. The caller must have checked
    /// that these bytes exist.
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

/// A JSON number without loss of precision: mantissa · 10^exponent.
struct DecimalNumber {
    var isNegative = false
    var mantissa: UInt128 = 0
    var exponent = 0
    /// The number of significant digits of the mantissa.
    private var digits = 0
    /// Whether digits after the 36th were dropped and one of them was not 0.
    private var isCut = false

    /// Creates the number in `start..<end` of `text`; `nil` if the text is not a JSON number (RFC 8259 §6).
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
                // Beyond this exponent, every number is 0 or out of range.
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

    /// Whether all digits are 0, whatever the exponent.
    var isZero: Bool { mantissa == 0 }

    /// Returns the number times 10^`power` as an integer. Fractions are cut off, and values beyond ±10^37 are moved to
    /// it.
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

    /// Returns the number if it is an integer within `range`.
    func integer(in range: ClosedRange<Int>) -> Int? {
        guard !isCut else { return nil }
        let whole = scaled(by: 0)
        guard whole >= Int128(range.lowerBound), whole <= Int128(range.upperBound) else { return nil }
        if exponent < 0 {
            // It is an integer only if all digits after the decimal point are 0.
            var rest = mantissa
            for _ in 0..<min(-exponent, 40) where rest != 0 {
                if rest % 10 != 0 { return nil }
                rest /= 10
            }
            if rest != 0, -exponent > 40 { return nil }
        }
        return Int(whole)
    }

    /// Returns the nearest whole number if it is within `range`; of two that are equally near, the one farther from 0.
    func rounded(in range: ClosedRange<Int>) -> Int? {
        // Digits after the tenths cannot change the result.
        let tenths = scaled(by: 1)
        let whole = (tenths + (isNegative ? -5 : 5)) / 10
        guard whole >= Int128(range.lowerBound), whole <= Int128(range.upperBound) else { return nil }
        return Int(whole)
    }

    /// The unit of a time, which is derived from its magnitude.
    enum TimeUnit: Int {
        // The raw value is the power of ten for the conversion to nanoseconds.
        case seconds = 9
        case milliseconds = 6
        case microseconds = 3
        case nanoseconds = 0
    }

    /// The unit of the number as a time: seconds, from 10^11 milliseconds, from 10^14 microseconds, from 10^17
    /// nanoseconds.
    var timeUnit: TimeUnit {
        if isZero { return .seconds }
        switch digits + exponent {
        case ..<12: return .seconds
        case ..<15: return .milliseconds
        case ..<18: return .microseconds
        default: return .nanoseconds
        }
    }

    /// Whether the number as a time has no digit for the seconds, and so few that a program such as a spreadsheet has
    /// probably dropped the others.
    var isCoarseTime: Bool { exponent + timeUnit.rawValue > TimeUnit.seconds.rawValue && 1...6 ~= digits }

    /// The number as a time in nanoseconds. Digits beyond nanoseconds are cut off.
    var nanoseconds: Int128 { scaled(by: timeUnit.rawValue) }
}
