import JSON

/// A value of an object, as it stands in the text.
struct LogValue {
    enum Kind: UInt8 {
        case string, escapedString, number, isTrue, isFalse, null, composite

        /// Whether a log of advertisements has hardly any of them.
        @inline(__always) var isRare: Bool { rawValue >= Self.null.rawValue }
    }

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
/// Other values are skipped, at most ``depthMax`` deep. If a key occurs twice, its last value counts.
struct LogScanner {
    static let depthMax = 64

    let keys: LogKeys
    private(set) var values = [LogValue](repeating: LogValue(kind: .null, start: 0, end: 0), count: FieldMap.namesMax)
    /// Which of ``values`` the last object has, `null` aside: bit n for slot n.
    private(set) var present: UInt64 = 0
    /// How many lines end inside the last object.
    private(set) var lines = 0
    // Keys with escapes, unescaped.
    private var unescaped: [UInt8] = []

    init(_ fields: FieldMap) { keys = LogKeys(fields) }

    /// Whether the last object has a value of the slot that is not `null`.
    func isPresent(_ slot: Int) -> Bool { present >> UInt64(slot) & 1 != 0 }

    /// Scans the object that begins, with its brace, where `range` of `bytes` does.
    mutating func scan(_ bytes: [UInt8], _ range: Range<Int>) -> LogScan {
        let text = bytes.span.extracting(0..<range.upperBound)
        present = 0
        var lines = 0
        defer { self.lines = lines }
        let end = text.count
        var place = range.lowerBound + 1
        var isFirst = true
        while true {
            place = Self.pastBlanks(text, place, &lines)
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
            place = Self.pastBlanks(text, place, &lines)
            guard place < end else { return .needsMore }
            guard text[place] == UInt8(ascii: ":") else { return .malformed(place, "a colon is expected") }
            place = Self.pastBlanks(text, place + 1, &lines)
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
            if value.kind.isRare { noteRare(value, slot, text, &lines) }
            place = Self.pastBlanks(text, place, &lines)
            guard place < end else { return .needsMore }
            isFirst = false
            switch text[place] {
            case UInt8(ascii: ","): place += 1
            case UInt8(ascii: "}"): return .complete(place + 1)
            default: return .malformed(place, "a comma or a closing brace is expected")
            }
        }
    }

    @inline(never) private mutating func noteRare(
        _ value: LogValue, _ slot: Int?, _ text: Span<UInt8>, _ lines: inout Int
    ) {
        if value.kind == .null {
            if let slot { present &= ~(1 << UInt64(slot)) }
        } else {
            for index in value.start..<value.end where text[index] == 0x0A { lines &+= 1 }
        }
    }

    private mutating func slotUnescaped(_ text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        unescaped.removeAll(keepingCapacity: true)
        for index in range { unescaped.append(text[index]) }
        var bytes = unescaped.mutableSpan
        let end = LogText.unescape(&bytes, 0, range.count)
        return keys.slot(of: unescaped.span, 0..<end)
    }

    /// The first place from `start` on that holds no blank; adds the ends of lines on the way to `lines`.
    @inline(__always) private static func pastBlanks(_ text: Span<UInt8>, _ start: Int, _ lines: inout Int) -> Int {
        var place = start
        while place < text.count {
            let byte = text[place]
            // One comparison for every other byte.
            guard byte <= 0x20, isBlank(byte) else { break }
            if byte == 0x0A { lines &+= 1 }
            place += 1
        }
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
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let scan = composite(text, start)
            if case .complete(let end) = scan { value = LogValue(kind: .composite, start: start, end: end) }
            return scan
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

    /// Skips an object or an array.
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

    /// Calls `body` with each key, without quotes and escapes, and each value of the object in `range` of `text`, which
    /// was scanned to its end before.
    static func forEachMember(
        of text: Span<UInt8>, in range: Range<Int>, _ body: (_ key: [UInt8], _ value: LogValue) -> Void
    ) {
        let text = text.extracting(0..<range.upperBound)
        var place = range.lowerBound + 1
        var lines = 0
        while true {
            place = pastBlanks(text, place, &lines)
            guard place < text.count, text[place] == UInt8(ascii: "\"") else { return }
            var hasEscapes = false
            let start = place + 1
            guard case .complete(let end) = string(text, start, &hasEscapes) else { return }
            place = pastBlanks(text, pastBlanks(text, end, &lines) + 1, &lines)
            var member = LogValue(kind: .composite, start: place, end: place)
            guard place < text.count, case .complete(let next) = value(text, place, &member) else { return }
            var key: [UInt8] = []
            for index in start..<end - 1 { key.append(text[index]) }
            var bytes = key.mutableSpan
            let count = LogText.unescape(&bytes, 0, bytes.count)
            key.removeLast(key.count - count)
            body(key, member)
            place = pastBlanks(text, next, &lines)
            guard place < text.count, text[place] == UInt8(ascii: ",") else { return }
            place += 1
        }
    }
}
