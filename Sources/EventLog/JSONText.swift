#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// A JSON text taken apart (RFC 8259): where each of its values stands, in the order of the text.
///
/// Used again and again for lines, it allocates only where one has more values than any before it. What is not JSON is
/// refused as a whole, so a torn line never passes for one.
package struct JSONText: Sendable {
    enum Kind: UInt8, Sendable { case object, array, string, number, yes, no, null }

    /// A value: its octets, without the quotation marks of a string.
    struct Value: Sendable {
        var kind: Kind
        var start: Int32
        var end: Int32
        /// The place of the value that follows it and all that is in it.
        var next: Int32
    }

    /// The longest text: places are 32 bits wide.
    static let sizeMax = 1 << 30
    // Nothing of ours goes deeper than five.
    private static let depthMax = 16

    /// The text. Whoever changes it parses it anew.
    package var bytes: [UInt8] = []
    /// The values, the outermost first; an object's are its keys and what they stand for, in turn.
    private(set) var values: ContiguousArray<Value> = []

    package init() {}

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Takes the text apart.
    ///
    /// - Returns: whether it is one JSON value and nothing else.
    package mutating func parse() -> Bool {
        // Taken out while they are filled, for exclusivity; their memory stays.
        var values: ContiguousArray<Value> = []
        swap(&values, &self.values)
        defer { swap(&values, &self.values) }
        values.removeAll(keepingCapacity: true)
        guard bytes.count <= Self.sizeMax else { return false }
        var position = 0
        guard Self.parseValue(bytes.span, &position, &values, depth: 0) else { return false }
        Self.skipSpace(bytes.span, &position)
        return position == bytes.count
    }

    // The functions below see the text as a span and their place in it as a number: most of a reader's time goes here.

    @inline(__always)
    private static func skipSpace(_ bytes: Span<UInt8>, _ position: inout Int) {
        while position < bytes.count, bytes[position] <= 0x20,
            bytes[position] == 0x20 || (0x09...0x0D).contains(bytes[position])
        {
            position += 1
        }
    }

    @inline(__always)
    private static func take(_ octet: UInt8, _ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        guard position < bytes.count, bytes[position] == octet else { return false }
        position += 1
        return true
    }

    private static func parseValue(
        _ bytes: Span<UInt8>, _ position: inout Int, _ values: inout ContiguousArray<Value>, depth: Int
    ) -> Bool {
        skipSpace(bytes, &position)
        guard position < bytes.count, depth <= depthMax else { return false }
        switch bytes[position] {
        case UInt8(ascii: "\""): return parseString(bytes, &position, &values)
        case UInt8(ascii: "{"): return parseMembers(.object, UInt8(ascii: "}"), bytes, &position, &values, depth: depth)
        case UInt8(ascii: "["): return parseMembers(.array, UInt8(ascii: "]"), bytes, &position, &values, depth: depth)
        case UInt8(ascii: "t"): return parseWord("true", .yes, bytes, &position, &values)
        case UInt8(ascii: "f"): return parseWord("false", .no, bytes, &position, &values)
        case UInt8(ascii: "n"): return parseWord("null", .null, bytes, &position, &values)
        default: return parseNumber(bytes, &position, &values)
        }
    }

    private static func parseMembers(
        _ kind: Kind, _ closing: UInt8, _ bytes: Span<UInt8>, _ position: inout Int,
        _ values: inout ContiguousArray<Value>, depth: Int
    ) -> Bool {
        let place = values.count
        values.append(Value(kind: kind, start: Int32(position), end: 0, next: 0))
        position += 1
        skipSpace(bytes, &position)
        if !take(closing, bytes, &position) {
            repeat {
                if kind == .object {
                    skipSpace(bytes, &position)
                    guard parseString(bytes, &position, &values) else { return false }
                    skipSpace(bytes, &position)
                    guard take(UInt8(ascii: ":"), bytes, &position) else { return false }
                }
                guard parseValue(bytes, &position, &values, depth: depth + 1) else { return false }
                skipSpace(bytes, &position)
            } while take(UInt8(ascii: ","), bytes, &position)
            guard take(closing, bytes, &position) else { return false }
        }
        values[place].end = Int32(position)
        values[place].next = Int32(values.count)
        return true
    }

    private static func parseString(
        _ bytes: Span<UInt8>, _ position: inout Int, _ values: inout ContiguousArray<Value>
    ) -> Bool {
        guard take(UInt8(ascii: "\""), bytes, &position) else { return false }
        let start = position
        let count = bytes.count
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
        while position < count {
            // Below the count, as the loop has it.
            let octet = unsafe bytes[unchecked: position]
            if octet == UInt8(ascii: "\"") {
                append(.string, start, position, &values)
                position += 1
                return true
            }
            if octet == UInt8(ascii: "\\") { position += 1 } else if octet < 0x20 { return false }
            position += 1
        }
        return false
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

    private static func parseWord(
        _ word: StaticString, _ kind: Kind, _ bytes: Span<UInt8>, _ position: inout Int,
        _ values: inout ContiguousArray<Value>
    ) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        for index in 0..<word.utf8CodeUnitCount where unsafe bytes[position + index] != word.utf8Start[index] {
            return false
        }
        append(kind, position, end, &values)
        position = end
        return true
    }

    private static func parseNumber(
        _ bytes: Span<UInt8>, _ position: inout Int, _ values: inout ContiguousArray<Value>
    ) -> Bool {
        let start = position
        _ = take(UInt8(ascii: "-"), bytes, &position)
        guard skipDigits(bytes, &position) else { return false }
        if take(UInt8(ascii: "."), bytes, &position) {
            guard skipDigits(bytes, &position) else { return false }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if !take(UInt8(ascii: "+"), bytes, &position) { _ = take(UInt8(ascii: "-"), bytes, &position) }
            guard skipDigits(bytes, &position) else { return false }
        }
        append(.number, start, position, &values)
        return true
    }

    /// Passes over digits; whether there was one.
    private static func skipDigits(_ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        let start = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
        return position > start
    }

    @inline(__always)
    private static func append(_ kind: Kind, _ start: Int, _ end: Int, _ values: inout ContiguousArray<Value>) {
        values.append(Value(kind: kind, start: Int32(start), end: Int32(end), next: Int32(values.count + 1)))
    }

    @inline(__always)
    private func isEqual(_ start: Int, _ end: Int, _ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        // Most keys are not the one that is looked for, and differ in length or in their first octet.
        guard end - start == count, end <= bytes.count, count > 0, unsafe bytes[start] == text.utf8Start[0] else {
            return false
        }
        return unsafe bytes.withUnsafeBytes { unsafe memcmp($0.baseAddress! + start, text.utf8Start, count) == 0 }
    }
}

// Looking things up.
extension JSONText {
    /// The place of what stands for `key` in the object at `object`.
    package func find(_ key: StaticString, in object: Int) -> Int? {
        guard object < values.count, values[object].kind == .object else { return nil }
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            let value = Int(values[place].next)
            if isEqual(Int(values[place].start), Int(values[place].end), key) { return value }
            place = Int(values[value].next)
        }
        return nil
    }

    /// The places of what an array holds.
    package func elements(of array: Int?) -> [Int] {
        guard let array, array < values.count, values[array].kind == .array else { return [] }
        var places: [Int] = []
        var place = array + 1
        while place < values[array].next {
            places.append(place)
            place = Int(values[place].next)
        }
        return places
    }

    /// Whether the string at `place` is `text`, which needs no escapes.
    package func isText(_ text: StaticString, at place: Int?) -> Bool {
        guard let place, values[place].kind == .string else { return false }
        return isEqual(Int(values[place].start), Int(values[place].end), text)
    }

    package func bool(_ place: Int?) -> Bool? {
        guard let place else { return nil }
        switch values[place].kind {
        case .yes: return true
        case .no: return false
        default: return nil
        }
    }

    /// A whole number that fits.
    package func integer(_ place: Int?) -> Int? {
        guard let place, values[place].kind == .number else { return nil }
        var index = Int(values[place].start)
        let end = Int(values[place].end)
        let isNegative = bytes[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        var number = 0
        while index < end {
            let octet = bytes[index]
            guard (0x30...0x39).contains(octet) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = tens.subtractingReportingOverflow(Int(octet - 0x30))
            if overflow || overflowed { return nil }
            number = sum
            index += 1
        }
        // Counted downwards, since there is one more number below zero than above.
        return isNegative ? number : (number == .min ? nil : -number)
    }

    func integer<Number: FixedWidthInteger>(_ place: Int?, as type: Number.Type) -> Number? {
        integer(place).flatMap { Number(exactly: $0) }
    }

    /// A decimal number of seconds in microseconds, what is finer cut off.
    func microseconds(_ place: Int?) -> Int64? {
        guard let place, values[place].kind == .number else { return nil }
        var index = Int(values[place].start)
        let end = Int(values[place].end)
        let isNegative = bytes[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        var number: Int64 = 0
        var decimals = -1
        while index < end, decimals < 6 {
            let octet = bytes[index]
            index += 1
            if octet == UInt8(ascii: ".") {
                decimals = 0
                continue
            }
            guard (0x30...0x39).contains(octet) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = tens.addingReportingOverflow(Int64(octet - 0x30))
            if overflow || overflowed { return nil }
            number = sum
            if decimals >= 0 { decimals += 1 }
        }
        for _ in max(decimals, 0)..<6 {
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            number = tens
        }
        return isNegative ? -number : number
    }

    func double(_ place: Int?) -> Double? {
        guard let place, values[place].kind == .number else { return nil }
        return Double(String(decoding: bytes[Int(values[place].start)..<Int(values[place].end)], as: UTF8.self))
    }

    /// The text of a string, its escapes resolved; a half of a surrogate pair alone becomes U+FFFD.
    package func string(_ place: Int?) -> String? {
        guard let place, values[place].kind == .string else { return nil }
        let octets = bytes[Int(values[place].start)..<Int(values[place].end)]
        guard octets.contains(UInt8(ascii: "\\")) else { return String(decoding: octets, as: UTF8.self) }
        return Self.unescaped(octets)
    }

    /// The octets of a value as they stand in the text, a string with its quotation marks.
    func octets(_ place: Int) -> ArraySlice<UInt8> {
        let quote = values[place].kind == .string ? 1 : 0
        return bytes[Int(values[place].start) - quote..<Int(values[place].end) + quote]
    }

    private static func unescaped(_ octets: ArraySlice<UInt8>) -> String {
        var units: [UInt16] = []
        var text = ""
        var plain: [UInt8] = []
        func flushUnits() {
            text += String(decoding: units, as: UTF16.self)
            units.removeAll()
        }
        func flushPlain() {
            text += String(decoding: plain, as: UTF8.self)
            plain.removeAll()
        }
        var index = octets.startIndex
        while index < octets.endIndex {
            guard octets[index] == UInt8(ascii: "\\"), index + 1 < octets.endIndex else {
                if !units.isEmpty { flushUnits() }
                plain.append(octets[index])
                index += 1
                continue
            }
            let escape = octets[index + 1]
            index += 2
            if escape == UInt8(ascii: "u"), index + 4 <= octets.endIndex,
                let unit = UInt16(String(decoding: octets[index..<index + 4], as: UTF8.self), radix: 16)
            {
                flushPlain()
                units.append(unit)
                index += 4
                continue
            }
            if !units.isEmpty { flushUnits() }
            switch escape {
            case UInt8(ascii: "b"): plain.append(0x08)
            case UInt8(ascii: "f"): plain.append(0x0C)
            case UInt8(ascii: "n"): plain.append(0x0A)
            case UInt8(ascii: "r"): plain.append(0x0D)
            case UInt8(ascii: "t"): plain.append(0x09)
            default: plain.append(escape)
            }
        }
        flushUnits()
        flushPlain()
        return text
    }
}
