import JSON

/// A value of an object, as it stands in the text.
struct LogValue {
    enum Kind: UInt8 { case string, escapedString, number, isTrue, isFalse, null, composite }

    let kind: Kind
    // A record is at most 1 MiB long, a window hardly more: these keep a value in two words.
    private let from: Int32
    private let to: Int32

    /// Without a string's quotes.
    var start: Int { Int(from) }
    var end: Int { Int(to) }

    init(kind: Kind, start: Int, end: Int) {
        self.kind = kind
        from = Int32(truncatingIfNeeded: start)
        to = Int32(truncatingIfNeeded: end)
    }
}

/// What came of scanning an object.
enum LogScan {
    /// It ends before this place.
    case complete(Int)
    /// The text ends inside of it.
    case needsMore
    /// It is no JSON from this place on.
    case malformed(Int, StaticString)
}

/// Finds the values that matter in one JSON object (RFC 8259) after another, without a copy.
///
/// Values that matter to nobody are stepped over, at most ``depthMax`` deep. Of a key that stands twice the last counts.
struct LogScanner {
    static let depthMax = 64

    let keys: LogKeys
    private(set) var values = [LogValue](repeating: LogValue(kind: .null, start: 0, end: 0), count: FieldMap.namesMax)
    // Which of `values` the last object has: bit n for slot n.
    private(set) var present: UInt64 = 0
    // Keys with escapes, unescaped.
    private var unescaped: [UInt8] = []

    init(_ fields: FieldMap) { keys = LogKeys(fields) }

    /// Whether the last object has a value that matters and is not `null`.
    mutating func isPresent(_ slot: Int) -> Bool { present >> UInt64(slot) & 1 != 0 && values[slot].kind != .null }

    /// Scans the object that begins, with its brace, where `range` of `bytes` does.
    mutating func scan(_ bytes: [UInt8], _ range: Range<Int>) -> LogScan {
        let text = bytes.span.extracting(0..<range.upperBound)
        present = 0
        let end = text.count
        var place = range.lowerBound + 1
        var isFirst = true
        while true {
            place = Self.pastBlanks(text, place)
            guard place < end else { return .needsMore }
            if text[place] == UInt8(ascii: "}"), isFirst { return .complete(place + 1) }
            guard text[place] == UInt8(ascii: "\"") else { return .malformed(place, "a key is expected") }
            // The key.
            var hasEscapes = false
            let keyStart = place + 1
            switch Self.string(text, keyStart, &hasEscapes) {
            case .complete(let next): place = next
            case let other: return other
            }
            let slot =
                hasEscapes ? slotUnescaped(text, keyStart..<place - 1) : keys.slot(of: text, keyStart..<place - 1)
            place = Self.pastBlanks(text, place)
            guard place < end else { return .needsMore }
            guard text[place] == UInt8(ascii: ":") else { return .malformed(place, "a colon is expected") }
            place = Self.pastBlanks(text, place + 1)
            guard place < end else { return .needsMore }
            // The value.
            var value = LogValue(kind: .composite, start: place, end: place)
            switch Self.value(text, place, &value) {
            case .complete(let next): place = next
            case let other: return other
            }
            if let slot {
                values[slot] = value
                present |= 1 << UInt64(slot)
            }
            place = Self.pastBlanks(text, place)
            guard place < end else { return .needsMore }
            isFirst = false
            switch text[place] {
            case UInt8(ascii: ","): place += 1
            case UInt8(ascii: "}"): return .complete(place + 1)
            default: return .malformed(place, "a comma or a closing brace is expected")
            }
        }
    }

    private mutating func slotUnescaped(_ text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        unescaped.removeAll(keepingCapacity: true)
        for index in range { unescaped.append(text[index]) }
        var bytes = unescaped.mutableSpan
        let end = LogText.unescape(&bytes, 0, range.count)
        return keys.slot(of: unescaped.span, 0..<end)
    }

    @inline(__always) static func pastBlanks(_ text: Span<UInt8>, _ start: Int) -> Int {
        var place = start
        while place < text.count, isBlank(text[place]) { place += 1 }
        return place
    }

    @inline(__always) static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Steps past a string whose first byte behind the quote is at `start`; complete behind its closing quote.
    @inline(__always) private static func string(
        _ text: Span<UInt8>, _ start: Int, _ hasEscapes: inout Bool
    ) -> LogScan {
        var place = start
        let raw = unsafe text.bytes
        while true {
            // Eight bytes at a time, as long as none of them needs a look.
            while place &+ 8 <= text.count {
                let stop = unsafe stops(
                    UInt64(littleEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)))
                place &+= stop.trailingZeroBitCount >> 3
                if stop != 0 { break }
            }
            guard place < text.count else { return .needsMore }
            let byte = text[place]
            if byte == UInt8(ascii: "\"") { return .complete(place + 1) }
            // Also what ends a line that was cut off inside a string.
            if byte < 0x20 { return .malformed(place, "a string ends in the middle of its line") }
            guard byte == UInt8(ascii: "\\") else {
                place += 1
                continue
            }
            hasEscapes = true
            guard place + 1 < text.count else { return .needsMore }
            switch text[place + 1] {
            case UInt8(ascii: "u"):
                guard place + 6 <= text.count else { return .needsMore }
                for index in place + 2..<place + 6 where LogText.nibble(text[index]) > 0xF {
                    return .malformed(index, "an escape is no four hexadecimal digits")
                }
                place += 6
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                place += 2
            default:
                return .malformed(place, "an escape is none of JSON's")
            }
        }
    }

    /// The high bits of the bytes of `word` that end a string or need a look: quotes, backslashes, control characters.
    ///
    /// Only the lowest bit that is set is sure: a borrow can set those above it.
    @inline(__always) private static func stops(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let slashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let found = (quotes &- ones) & ~quotes | (slashes &- ones) & ~slashes | (word &- ones &* 0x20) & ~word
        return found & (ones &* 0x80)
    }

    @inline(__always) private static func value(_ text: Span<UInt8>, _ start: Int, _ value: inout LogValue) -> LogScan {
        switch text[start] {
        case UInt8(ascii: "\""):
            var hasEscapes = false
            let scan = string(text, start + 1, &hasEscapes)
            if case .complete(let end) = scan {
                value = LogValue(kind: hasEscapes ? .escapedString : .string, start: start + 1, end: end - 1)
            }
            return scan
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            var place = start + 1
            while place < text.count, isOfNumber(text[place]) { place += 1 }
            guard place < text.count else { return .needsMore }
            value = LogValue(kind: .number, start: start, end: place)
            return .complete(place)
        case UInt8(ascii: "t"): return word(text, start, "true", .isTrue, &value)
        case UInt8(ascii: "f"): return word(text, start, "false", .isFalse, &value)
        case UInt8(ascii: "n"): return word(text, start, "null", .null, &value)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return composite(text, start)
        default: return .malformed(start, "a value is expected")
        }
    }

    @inline(__always) private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"),
            UInt8(ascii: "+"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private static func word(
        _ text: Span<UInt8>, _ start: Int, _ word: StaticString, _ kind: LogValue.Kind, _ value: inout LogValue
    ) -> LogScan {
        for index in 0..<word.utf8CodeUnitCount {
            guard start + index < text.count else { return .needsMore }
            guard unsafe text[start + index] == word.utf8Start[index] else {
                return .malformed(start + index, "a value is expected")
            }
        }
        value = LogValue(kind: kind, start: start, end: start + word.utf8CodeUnitCount)
        return .complete(value.end)
    }

    /// Steps over an object or a list, whose contents matter to nobody.
    private static func composite(_ text: Span<UInt8>, _ start: Int) -> LogScan {
        // Bit n: whether the n-th from the innermost is an object.
        var nesting: UInt64 = 0
        var depth = 0
        var place = start
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < depthMax else { return .malformed(place, "it is nested more than 64 deep") }
                depth += 1
                nesting = nesting << 1 | (text[place] == UInt8(ascii: "{") ? 1 : 0)
                place += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard nesting & 1 == (text[place] == UInt8(ascii: "}") ? 1 : 0) else {
                    return .malformed(place, "brackets do not match")
                }
                depth -= 1
                nesting >>= 1
                place += 1
                if depth == 0 { return .complete(place) }
            case UInt8(ascii: "\""):
                var hasEscapes = false
                switch string(text, place + 1, &hasEscapes) {
                case .complete(let next): place = next
                case let other: return other
                }
            default: place += 1
            }
        }
        return .needsMore
    }
}
