import Glibc

/// A JSON text taken apart (RFC 8259): where each of its values stands, in the order of the text.
///
/// Used again and again for lines, it allocates only where one has more values than any before it. What is not JSON is
/// refused as a whole, so a torn line never passes for one.
package struct JSONText: Sendable {
    enum Kind: UInt8, Sendable { case object, array, string, number, yes, no, null }

    /// A value: its octets, without the quotation marks of a string.
    struct Value: Sendable, Hashable {
        var kind: Kind
        var start: Int32
        var end: Int32
        /// The place of the value that follows it and all that is in it.
        var next: Int32

        static let none = Value(.null, 0, 0, next: 0)

        @inline(__always)
        init(_ kind: Kind, _ start: Int, _ end: Int, next: Int) {
            self.kind = kind
            self.start = Int32(truncatingIfNeeded: start)
            self.end = Int32(truncatingIfNeeded: end)
            self.next = Int32(truncatingIfNeeded: next)
        }
    }

    /// The longest text: places are 32 bits wide.
    static let sizeMax = 1 << 30
    // Nothing of ours goes deeper than five.
    private static let depthMax = 16
    // A line of ours has some fifty.
    private static let valuesFirst = 256

    /// The text. Whoever changes it parses it anew.
    package var bytes: [UInt8] = []
    /// The values, the outermost first; an object's are its keys and what they stand for, in turn.
    private(set) var values: ContiguousArray<Value> = []
    /// How many of them are this text's.
    private var used = 0
    /// This text's.
    var all: ContiguousArray<Value>.SubSequence { values[..<used] }

    package init() {}

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Puts another text in place of this one.
    mutating func replace(with octets: Span<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(octets)
    }

    /// Where the last place is at which the octets of `beginning` stand.
    func last(_ beginning: StaticString) -> Int? {
        let count = beginning.utf8CodeUnitCount
        var place = bytes.count - count
        while place >= 0 {
            if unsafe bytes[place...].prefix(count).elementsEqual(
                UnsafeBufferPointer(start: beginning.utf8Start, count: count))
            {
                return place
            }
            place -= 1
        }
        return nil
    }

    /// Takes the text apart.
    ///
    /// - Returns: whether it is one JSON value and nothing else.
    package mutating func parse() -> Bool {
        used = 0
        guard bytes.count <= Self.sizeMax else { return false }
        // Taken out while they are filled, for exclusivity; their memory stays.
        var values: ContiguousArray<Value> = []
        swap(&values, &self.values)
        defer { swap(&values, &self.values) }
        if values.isEmpty { values = ContiguousArray(repeating: Value.none, count: Self.valuesFirst) }
        while true {
            var target = values.mutableSpan
            switch Self.parse(bytes.span, into: &target) {
            case .whole(let count):
                used = count
                return true
            case .refused: return false
            case .full: values.append(contentsOf: repeatElement(Value.none, count: values.count))
            }
        }
    }

    private enum Outcome {
        /// So many values.
        case whole(Int)
        case refused
        /// There are more values than there was room for.
        case full
    }

    // What follows sees the text as a span and keeps its place in it as a number; containers that are open are chained by
    // their `next`, so there is nothing to call and nothing to return from: most of a reader's time goes here.
    private static func parse(_ bytes: Span<UInt8>, into values: inout MutableSpan<Value>) -> Outcome {
        let count = bytes.count
        var (position, used, depth) = (0, 0, 0)
        var open: Int32 = -1
        var isInObject = false
        var wantsKey = false
        while true {
            // A value, or the key before it.
            guard used + 1 < values.count else { return .full }
            skipSpace(bytes, &position)
            guard position < count else { return .refused }
            // Places are below the counts, as was just seen; so everywhere below.
            var octet = unsafe bytes[unchecked: position]
            if wantsKey {
                guard octet == UInt8(ascii: "\"") else { return .refused }
                let start = position + 1
                guard skipString(bytes, &position) else { return .refused }
                unsafe values[unchecked: used] = Value(.string, start, position - 1, next: used + 1)
                used += 1
                skipSpace(bytes, &position)
                guard take(UInt8(ascii: ":"), bytes, &position) else { return .refused }
                skipSpace(bytes, &position)
                guard position < count else { return .refused }
                unsafe octet = bytes[unchecked: position]
            }
            let start = position
            switch octet {
            case UInt8(ascii: "\""):
                guard skipString(bytes, &position) else { return .refused }
                unsafe values[unchecked: used] = Value(.string, start + 1, position - 1, next: used + 1)
                used += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= depthMax else { return .refused }
                let isObject = octet == UInt8(ascii: "{")
                unsafe values[unchecked: used] = Value(isObject ? .object : .array, start, 0, next: Int(open))
                open = Int32(truncatingIfNeeded: used)
                used += 1
                position += 1
                isInObject = isObject
                wantsKey = isObject
                skipSpace(bytes, &position)
                guard position < count else { return .refused }
                if unsafe bytes[unchecked: position] != octet + 2 { continue }
            // `}` and `]` come two after `{` and `[`: it is empty, and closed below.
            default:
                guard let kind = skipWord(octet, bytes, &position) else { return .refused }
                unsafe values[unchecked: used] = Value(kind, start, position, next: used + 1)
                used += 1
            }
            // What ends it, and what it was in.
            while true {
                skipSpace(bytes, &position)
                guard open >= 0 else { return position == count ? .whole(used) : .refused }
                guard position < count else { return .refused }
                let octet = unsafe bytes[unchecked: position]
                position += 1
                let place = Int(open)
                if octet == UInt8(ascii: ",") {
                    // Not behind a beginning: an empty container came here with its end before it.
                    wantsKey = isInObject
                    break
                }
                guard octet == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return .refused }
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
    private static func take(_ octet: UInt8, _ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
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
    private static func skipWord(_ octet: UInt8, _ bytes: Span<UInt8>, _ position: inout Int) -> Kind? {
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
        return true
    }

    /// Passes over digits; whether there was one.
    @inline(__always)
    private static func skipDigits(_ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        let start = position
        while position < bytes.count, unsafe bytes[unchecked: position] &- 0x30 < 10 { position += 1 }
        return position > start
    }

    @inline(__always)
    private func isEqual(_ start: Int, _ end: Int, _ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        // Most keys are not the one that is looked for, and differ in length or in their first octet.
        guard end - start == count, end <= bytes.count, count > 0, unsafe bytes[start] == text.utf8Start[0] else {
            return false
        }
        return unsafe bytes.withUnsafeBytes { octets in
            guard let first = octets.baseAddress else { return false }
            return unsafe memcmp(first + start, text.utf8Start, count) == 0
        }
    }
}

// Looking things up.
extension JSONText {
    /// The place of what stands for `key` in the object at `object`.
    package func find(_ key: StaticString, in object: Int) -> Int? {
        guard object < used, values[object].kind == .object else { return nil }
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            let value = Int(values[place].next)
            if isEqual(Int(values[place].start), Int(values[place].end), key) { return value }
            place = Int(values[value].next)
        }
        return nil
    }

    /// Shows each key of the object at `object` by its place, with the place of what stands for it.
    @inline(__always)
    func eachMember(of object: Int, _ body: (_ key: Int, _ value: Int) -> Void) {
        guard object < used, values[object].kind == .object else { return }
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            body(place, place + 1)
            place = Int(values[place + 1].next)
        }
    }

    /// The places of what an array holds.
    package func elements(of array: Int?) -> [Int] {
        guard let array, array < used, values[array].kind == .array else { return [] }
        var places: [Int] = []
        var place = array + 1
        while place < values[array].next {
            places.append(place)
            place = Int(values[place].next)
        }
        return places
    }

    /// How many octets a value has in the text, a string without its quotation marks.
    func length(_ place: Int) -> Int { Int(values[place].end - values[place].start) }

    /// Whether the string at `place` is `text`, which needs no escapes.
    package func isText(_ text: StaticString, at place: Int?) -> Bool {
        guard let place, values[place].kind == .string else { return false }
        return isEqual(Int(values[place].start), Int(values[place].end), text)
    }

    /// The same, of octets.
    func isText(_ octets: [UInt8], at place: Int) -> Bool {
        guard values[place].kind == .string else { return false }
        let start = Int(values[place].start)
        guard Int(values[place].end) - start == octets.count else { return false }
        return unsafe bytes.withUnsafeBytes { text in
            guard let text = text.baseAddress else { return octets.isEmpty }
            return unsafe octets.withUnsafeBytes { octets in
                unsafe octets.baseAddress.map { unsafe memcmp(text + start, $0, octets.count) == 0 } ?? true
            }
        }
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
