/// Finds out where the values of a JSON text stand (RFC 8259).
///
/// It sees the text as a span and keeps its place in it as a number; containers that are open are chained by their `next`,
/// so there is nothing to call and nothing to return from: most of a reader's time goes here.
enum JSONScanner {
    typealias Value = JSONText.Value

    // Nothing of ours goes deeper than five.
    private static let depthMax = 16

    /// What came of a text.
    enum Outcome {
        /// So many values.
        case whole(Int)
        case notJSON
        /// There are more values than there was room for.
        case full
    }

    /// Takes a text apart, the outermost value first.
    static func scan(_ bytes: Span<UInt8>, into values: inout MutableSpan<Value>) -> Outcome {
        let count = bytes.count
        var (position, used, depth) = (0, 0, 0)
        var open: Int32 = -1
        var isInObject = false
        var wantsKey = false
        while true {
            // A value, or the key before it.
            guard used + 1 < values.count else { return .full }
            skipSpace(bytes, &position)
            guard position < count else { return .notJSON }
            // Places are below the counts, as was just seen; so everywhere below.
            var octet = unsafe bytes[unchecked: position]
            if wantsKey {
                guard octet == UInt8(ascii: "\"") else { return .notJSON }
                let start = position + 1
                guard skipString(bytes, &position) else { return .notJSON }
                unsafe values[unchecked: used] = Value(.string, start, position - 1, next: used + 1)
                used += 1
                skipSpace(bytes, &position)
                guard skip(UInt8(ascii: ":"), bytes, &position) else { return .notJSON }
                skipSpace(bytes, &position)
                guard position < count else { return .notJSON }
                unsafe octet = bytes[unchecked: position]
            }
            let start = position
            switch octet {
            case UInt8(ascii: "\""):
                guard skipString(bytes, &position) else { return .notJSON }
                unsafe values[unchecked: used] = Value(.string, start + 1, position - 1, next: used + 1)
                used += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= depthMax else { return .notJSON }
                let isObject = octet == UInt8(ascii: "{")
                unsafe values[unchecked: used] = Value(isObject ? .object : .array, start, 0, next: Int(open))
                open = Int32(truncatingIfNeeded: used)
                used += 1
                position += 1
                isInObject = isObject
                wantsKey = isObject
                skipSpace(bytes, &position)
                guard position < count else { return .notJSON }
                if unsafe bytes[unchecked: position] != octet + 2 { continue }
            // `}` and `]` come two after `{` and `[`: it is empty, and closed below.
            default:
                guard let kind = skipWord(octet, bytes, &position) else { return .notJSON }
                unsafe values[unchecked: used] = Value(kind, start, position, next: used + 1)
                used += 1
            }
            // What ends it, and what it was in.
            while true {
                skipSpace(bytes, &position)
                guard open >= 0 else { return position == count ? .whole(used) : .notJSON }
                guard position < count else { return .notJSON }
                let octet = unsafe bytes[unchecked: position]
                position += 1
                let place = Int(open)
                if octet == UInt8(ascii: ",") {
                    // Not behind a beginning: an empty container came here with its end before it.
                    wantsKey = isInObject
                    break
                }
                guard octet == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return .notJSON }
                open = unsafe values[unchecked: place].next
                unsafe values[unchecked: place].end = Int32(truncatingIfNeeded: position)
                unsafe values[unchecked: place].next = Int32(truncatingIfNeeded: used)
                depth -= 1
                if open >= 0 { isInObject = unsafe values[unchecked: Int(open)].kind == .object }
            }
        }
    }

    @inline(__always)
    private static func skipSpace(_ bytes: Span<UInt8>, _ position: inout Int) {
        while position < bytes.count, unsafe bytes[unchecked: position] <= 0x20,
            bytes[position] == 0x20 || (0x09...0x0D).contains(bytes[position])
        {
            position += 1
        }
    }

    @inline(__always)
    private static func skip(_ octet: UInt8, _ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        guard position < bytes.count, unsafe bytes[unchecked: position] == octet else { return false }
        position += 1
        return true
    }

    /// Goes from the quotation mark that begins a string behind the one that ends it; whether there is one.
    @inline(__always)
    private static func skipString(_ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        let count = bytes.count
        position += 1
        while true {
            // Eight octets at once, as long as there is none among them that matters.
            while position + 8 <= count {
                let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt64.self)
                let special = Self.special(UInt64(littleEndian: word))
                guard special == 0 else {
                    position += special.trailingZeroBitCount / 8
                    break
                }
                position += 8
            }
            guard position < count else { return false }
            let octet = unsafe bytes[unchecked: position]
            position += 1
            if octet == UInt8(ascii: "\"") { return true }
            if octet == UInt8(ascii: "\\") { position += 1 } else if octet < 0x20 { return false }
        }
    }

    /// The high bits of the octets of a word that are a quotation mark, a backslash or below 0x20; of those behind the
    /// first such octet, perhaps of others.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
        let backslash = word ^ ones &* UInt64(UInt8(ascii: "\\"))
        // The borrow of a subtraction shows where an octet was zero, or below what was taken away.
        let isQuote = (quote &- ones) & ~quote
        let isBackslash = (backslash &- ones) & ~backslash
        let isControl = (word &- ones &* 0x20) & ~word
        return (isQuote | isBackslash | isControl) & highs
    }

    /// Goes behind a number, `true`, `false` or `null`; what it was.
    private static func skipWord(_ octet: UInt8, _ bytes: Span<UInt8>, _ position: inout Int) -> JSONText.Kind? {
        switch octet {
        case UInt8(ascii: "t"): return skip("true", bytes, &position) ? .yes : nil
        case UInt8(ascii: "f"): return skip("false", bytes, &position) ? .no : nil
        case UInt8(ascii: "n"): return skip("null", bytes, &position) ? .null : nil
        default: return skipNumber(bytes, &position) ? .number : nil
        }
    }

    private static func skip(_ word: StaticString, _ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        for index in 0..<word.utf8CodeUnitCount where unsafe bytes[position + index] != word.utf8Start[index] {
            return false
        }
        position = end
        return true
    }

    @inline(__always)
    private static func skipNumber(_ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        _ = skip(UInt8(ascii: "-"), bytes, &position)
        guard skipDigits(bytes, &position) else { return false }
        if skip(UInt8(ascii: "."), bytes, &position) {
            guard skipDigits(bytes, &position) else { return false }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if !skip(UInt8(ascii: "+"), bytes, &position) { _ = skip(UInt8(ascii: "-"), bytes, &position) }
            guard skipDigits(bytes, &position) else { return false }
        }
        return true
    }

    /// Passes over digits; whether there was one.
    @inline(__always)
    private static func skipDigits(_ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        let start = position
        while position < bytes.count, unsafe bytes[unchecked: position] &- 0x30 < 10 { position += 1 }
        return position > start
    }
}
