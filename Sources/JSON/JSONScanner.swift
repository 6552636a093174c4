/// Finds the values of a JSON text (RFC 8259). It is strict, except that strings can have invalid UTF-8.
///
/// The text is a span and the position a number. Open containers are linked through their `next`, so the scan needs no
/// recursion. Readers spend most of their time here.
package enum JSONScanner {
    package typealias Value = JSONText.Value

    /// The maximum nesting depth of containers.
    package static let depthMax = 64

    /// The result of a scan.
    package enum Outcome {
        /// The index after the last value, and the place after the outermost one.
        case whole(values: Int, end: Int)
        /// The text ends inside the outermost value.
        case incomplete
        /// The first place that is not JSON, and the reason.
        case malformed(Int, StaticString)
        /// There are more values than room for them.
        case full
    }

    /// The reason for the end of a scan.
    private enum Fault {
        case none, incomplete, key, colon, value, comma, control, escape, digits, depth

        func outcome(at place: Int, isInObject: Bool) -> Outcome {
            switch self {
            case .none, .incomplete: .incomplete
            case .key: .malformed(place, "a key is expected")
            case .colon: .malformed(place, "a colon is expected")
            case .value: .malformed(place, "a value is expected")
            case .comma where isInObject: .malformed(place, "a comma or a closing brace is expected")
            case .comma: .malformed(place, "a comma or a closing bracket is expected")
            // Also at the end of a line that was cut off inside a string.
            case .control: .malformed(place, "a string ends in the middle of its line")
            case .escape: .malformed(place, "an escape is invalid in JSON")
            case .digits: .malformed(place, "an escape does not have four hexadecimal digits")
            case .depth: .malformed(place, "it is nested more than 64 levels deep")
            }
        }
    }

    /// Scans the value that starts at `start`, or after white space there.
    ///
    /// - Parameters:
    ///   - bytes: The text. There can be more after the value.
    ///   - start: The place to start at.
    ///   - lines: The number of line ends before the end of the value is added to it.
    ///   - values: Receives the values, the outermost first.
    ///   - first: The index of the outermost value; 0 by default. The values before it do not change.
    /// - Returns: The result.
    package static func scan(
        _ bytes: Span<UInt8>, from start: Int, lines: inout Int, into values: inout MutableSpan<Value>,
        at first: Int = 0
    ) -> Outcome {
        var (position, used, depth) = (start, first, 0)
        var open: Int32 = -1
        var (isInObject, wantsKey) = (false, false)
        var fault = Fault.none
        while true {
            guard used + 1 < values.count else { return .full }
            skipSpace(bytes, &position, &lines)
            if wantsKey {
                fault = skipKey(bytes, &position, &lines, &values, used)
                guard fault == .none else { break }
                used += 1
            }
            guard position < bytes.count else { return .incomplete }
            // Here and below, the position was compared with the count.
            let byte = unsafe bytes[unchecked: position]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                fault = depth < depthMax ? .none : .depth
                guard fault == .none else { break }
                depth += 1
                isInObject = byte == UInt8(ascii: "{")
                wantsKey = isInObject
                unsafe values[unchecked: used] = Value(isInObject ? .object : .array, position, 0, next: Int(open))
                open = Int32(truncatingIfNeeded: used)
                used += 1
                position += 1
                skipSpace(bytes, &position, &lines)
                guard position < bytes.count else { return .incomplete }
                // `}` is `{` + 2, and `]` is `[` + 2.
                if unsafe bytes[unchecked: position] != byte + 2 { continue }
            } else {
                fault =
                    byte == UInt8(ascii: "\"")
                    ? skipString(bytes, &position, &values, used)
                    : skipOther(byte, bytes, &position, &values, used)
                guard fault == .none else { break }
                used += 1
            }
            while open >= 0 {
                skipSpace(bytes, &position, &lines)
                guard position < bytes.count else { return .incomplete }
                let byte = unsafe bytes[unchecked: position]
                // There are more commas than ends of containers.
                if byte == UInt8(ascii: ",") { break }
                fault = byte == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) ? .none : .comma
                guard fault == .none else { return fault.outcome(at: position, isInObject: isInObject) }
                position += 1
                close(&open, at: position, &values, used, &isInObject)
                depth -= 1
            }
            if open < 0 { return .whole(values: used, end: position) }
            position += 1
            wantsKey = isInObject
        }
        return fault.outcome(at: position, isInObject: isInObject)
    }

    /// Closes the innermost container.
    @inline(__always)
    private static func close(
        _ open: inout Int32, at end: Int, _ values: inout MutableSpan<Value>, _ used: Int, _ isInObject: inout Bool
    ) {
        let place = Int(open)
        open = unsafe values[unchecked: place].next
        unsafe values[unchecked: place].end = Int32(truncatingIfNeeded: end)
        unsafe values[unchecked: place].next = Int32(truncatingIfNeeded: used)
        if open >= 0 { isInObject = unsafe values[unchecked: Int(open)].kind == .object }
    }

    /// Whether a byte is white space (RFC 8259 §2).
    @inlinable @inline(__always)
    package static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    @inline(__always)
    private static func skipSpace(_ bytes: Span<UInt8>, _ position: inout Int, _ lines: inout Int) {
        // One comparison for all other bytes.
        while position < bytes.count, unsafe bytes[unchecked: position] <= 0x20, isSpace(bytes[position]) {
            if bytes[position] == 0x0A { lines &+= 1 }
            position += 1
        }
    }

    @inline(__always)
    private static func skip(_ byte: UInt8, _ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        guard position < bytes.count, unsafe bytes[unchecked: position] == byte else { return false }
        position += 1
        return true
    }

    // MARK: Values. A position is moved to the end of the value, or to the first place that is invalid.

    /// Skips a key and its colon.
    @inline(__always)
    private static func skipKey(
        _ bytes: Span<UInt8>, _ position: inout Int, _ lines: inout Int, _ values: inout MutableSpan<Value>,
        _ place: Int
    ) -> Fault {
        guard position < bytes.count else { return .incomplete }
        guard unsafe bytes[unchecked: position] == UInt8(ascii: "\"") else { return .key }
        let fault = skipString(bytes, &position, &values, place)
        guard fault == .none else { return fault }
        skipSpace(bytes, &position, &lines)
        guard skip(UInt8(ascii: ":"), bytes, &position) else { return position < bytes.count ? .colon : .incomplete }
        skipSpace(bytes, &position, &lines)
        return .none
    }

    /// Skips a number, or `true`, `false` or `null`.
    @inline(__always)
    private static func skipOther(
        _ byte: UInt8, _ bytes: Span<UInt8>, _ position: inout Int, _ values: inout MutableSpan<Value>, _ place: Int
    ) -> Fault {
        let start = position
        let kind: JSONText.Kind
        let fault: Fault
        switch byte {
        case UInt8(ascii: "t"): (kind, fault) = (.yes, skip("true", bytes, &position))
        case UInt8(ascii: "f"): (kind, fault) = (.no, skip("false", bytes, &position))
        case UInt8(ascii: "n"): (kind, fault) = (.null, skip("null", bytes, &position))
        default: (kind, fault) = (.number, skipNumber(bytes, &position))
        }
        unsafe values[unchecked: place] = Value(kind, start, position, next: place + 1)
        return fault
    }

    @inline(__always)
    private static func skipString(
        _ bytes: Span<UInt8>, _ position: inout Int, _ values: inout MutableSpan<Value>, _ place: Int
    ) -> Fault {
        position += 1
        let start = position
        var hasEscapes = false
        while true {
            // Eight bytes at once, as long as none of them is special.
            while position &+ 8 <= bytes.count {
                let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt64.self)
                let special = Self.special(UInt64(littleEndian: word))
                position &+= special.trailingZeroBitCount >> 3
                if special != 0 { break }
            }
            guard position < bytes.count else { return .incomplete }
            let byte = unsafe bytes[unchecked: position]
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                let fault = skipEscape(bytes, &position)
                guard fault == .none else { return fault }
            } else {
                guard byte >= 0x20 else { return .control }
                position += 1
            }
        }
        var value = Value(.string, start, position, next: place + 1)
        value.hasEscapes = hasEscapes
        unsafe values[unchecked: place] = value
        position += 1
        return .none
    }

    private static func skipEscape(_ bytes: Span<UInt8>, _ position: inout Int) -> Fault {
        guard position + 1 < bytes.count else { return .incomplete }
        switch bytes[position + 1] {
        case UInt8(ascii: "u"):
            guard position + 6 <= bytes.count else { return .incomplete }
            for index in position + 2..<position + 6 where !isHexadecimal(bytes[index]) {
                position = index
                return .digits
            }
            position += 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        default: return .escape
        }
        return .none
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 }

    /// Returns the high bits of the bytes in a word that are a quotation mark, a backslash or below 0x20. After the
    /// first such byte, the bits of other bytes can be set too.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
        let backslash = word ^ ones &* UInt64(UInt8(ascii: "\\"))
        // The borrow of a subtraction marks a byte that was zero, or less than the subtrahend.
        let isQuote = (quote &- ones) & ~quote
        let isBackslash = (backslash &- ones) & ~backslash
        let isControl = (word &- ones &* 0x20) & ~word
        return (isQuote | isBackslash | isControl) & highs
    }

    @inline(never)
    private static func skip(_ word: StaticString, _ bytes: Span<UInt8>, _ position: inout Int) -> Fault {
        for index in 0..<word.utf8CodeUnitCount {
            guard position < bytes.count else { return .incomplete }
            guard unsafe bytes[position] == word.utf8Start[index] else { return .value }
            position += 1
        }
        return .none
    }

    @inline(__always)
    private static func skipNumber(_ bytes: Span<UInt8>, _ position: inout Int) -> Fault {
        _ = skip(UInt8(ascii: "-"), bytes, &position)
        // A zero is the whole integer (RFC 8259 §6).
        if !skip(UInt8(ascii: "0"), bytes, &position) {
            let fault = skipDigits(bytes, &position)
            guard fault == .none else { return fault }
        }
        if skip(UInt8(ascii: "."), bytes, &position) {
            let fault = skipDigits(bytes, &position)
            guard fault == .none else { return fault }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if !skip(UInt8(ascii: "+"), bytes, &position) { _ = skip(UInt8(ascii: "-"), bytes, &position) }
            return skipDigits(bytes, &position)
        }
        return .none
    }

    /// Skips digits. There must be at least one.
    @inline(__always)
    private static func skipDigits(_ bytes: Span<UInt8>, _ position: inout Int) -> Fault {
        let start = position
        while position < bytes.count, unsafe bytes[unchecked: position] &- 0x30 < 10 { position += 1 }
        return position > start ? .none : position < bytes.count ? .value : .incomplete
    }
}
