// Strings, and the bytes of values.
extension JSONText {
    /// The text of a string without escapes. Half of a surrogate pair becomes U+FFFD.
    package func string(_ place: Int?) -> String? {
        guard let place, values[place].kind == .string else { return nil }
        let octets = bytes[Int(values[place].start)..<Int(values[place].end)]
        guard values[place].hasEscapes else { return String(decoding: octets, as: UTF8.self) }
        var text = Array(octets)
        var span = text.mutableSpan
        let end = Self.unescape(&span, 0, span.count)
        return String(decoding: text[..<end], as: UTF8.self)
    }

    /// The octets of a value as they stand in the text, a string with its quotation marks.
    package func octets(_ place: Int) -> ArraySlice<UInt8> {
        let quote = values[place].kind == .string ? 1 : 0
        return bytes[Int(values[place].start) - quote..<Int(values[place].end) + quote]
    }

    /// Replaces the escapes in a part of a text in place.
    ///
    /// - Parameters:
    ///   - bytes: The text. ``JSONScanner`` has found a string in this part of it.
    ///   - start: The start of the string, after its quotation mark.
    ///   - end: Its end.
    /// - Returns: The new end. Half of a surrogate pair becomes U+FFFD.
    package static func unescape(_ bytes: inout MutableSpan<UInt8>, _ start: Int, _ end: Int) -> Int {
        var from = start
        var to = start
        // The result of an escape is never longer than the escape, so `to` never passes `from`.
        while from < end {
            guard bytes[from] == UInt8(ascii: "\\"), from + 1 < end else {
                bytes[to] = bytes[from]
                to += 1
                from += 1
                continue
            }
            let kind = bytes[from + 1]
            from += 2
            switch kind {
            case UInt8(ascii: "b"): bytes[to] = 0x08
            case UInt8(ascii: "f"): bytes[to] = 0x0C
            case UInt8(ascii: "n"): bytes[to] = 0x0A
            case UInt8(ascii: "r"): bytes[to] = 0x0D
            case UInt8(ascii: "t"): bytes[to] = 0x09
            case UInt8(ascii: "u"):
                for unit in UTF8.encode(scalar(bytes, &from, end)) ?? UTF8.encodedReplacementCharacter {
                    bytes[to] = unit
                    to += 1
                }
                continue
            default: bytes[to] = kind
            }
            to += 1
        }
        return to
    }

    /// The character of the digits at `place`, and of a second escape after them if both are a surrogate pair.
    private static func scalar(
        _ bytes: borrowing MutableSpan<UInt8>, _ place: inout Int, _ end: Int
    ) -> Unicode.Scalar {
        let high = unit(bytes, place, end)
        place = min(place + 4, end)
        guard 0xD800..<0xDC00 ~= high, place + 1 < end, bytes[place] == UInt8(ascii: "\\"),
            bytes[place + 1] == UInt8(ascii: "u")
        else { return Unicode.Scalar(high) ?? "\u{FFFD}" }
        let low = unit(bytes, place + 2, end)
        guard 0xDC00..<0xE000 ~= low else { return "\u{FFFD}" }
        place = min(place + 6, end)
        return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)) ?? "\u{FFFD}"
    }

    private static func unit(_ bytes: borrowing MutableSpan<UInt8>, _ start: Int, _ end: Int) -> UInt32 {
        guard start + 4 <= end else { return 0xFFFD }
        var code: UInt32 = 0
        for index in start..<start + 4 {
            let digit = bytes[index]
            code = code << 4 | UInt32(digit < 0x3A ? digit &- 0x30 : (digit | 0x20) &- 0x57)
        }
        return code
    }

    /// Where an object, an array or a word stands in the text.
    package func range(of place: Int) -> Range<Int> { Int(values[place].start)..<Int(values[place].end) }
}
