import Glibc

/// A JSON text (RFC 8259) and the places of its values, in the order of the text.
///
/// If the same `JSONText` is used for all lines, it allocates only for a line that has more values than all earlier
/// ones. A text with any invalid part is refused, so an incomplete line is never treated as complete.
package struct JSONText: Sendable {
    package enum Kind: UInt8, Sendable { case object, array, string, number, yes, no, null }

    /// A value: the place of its bytes, without the quotation marks of a string.
    package struct Value: Sendable, Hashable {
        package var kind: Kind
        /// Whether it is a string or a key that has escapes.
        package var hasEscapes = false
        package var start: Int32
        package var end: Int32
        /// The place of the next value after this one and all values in it.
        package var next: Int32

        package static let none = Value(.null, 0, 0, next: 0)

        @inline(__always)
        init(_ kind: Kind, _ start: Int, _ end: Int, next: Int) {
            self.kind = kind
            self.start = Int32(truncatingIfNeeded: start)
            self.end = Int32(truncatingIfNeeded: end)
            self.next = Int32(truncatingIfNeeded: next)
        }
    }

    /// The maximum length of a text in bytes, because places have 32 bits.
    package static let sizeMax = 1 << 30
    // A line of this project has about fifty values.
    private static let valuesFirst = 256

    /// The text. After a change, ``parse()`` must be called again.
    package var bytes: [UInt8] = []
    /// The values, the outermost first. In an object, each key is followed by its value. Only the first ``used`` are
    /// valid.
    package private(set) var values: ContiguousArray<Value> = []
    /// The number of valid elements of ``values``.
    package private(set) var used = 0
    /// The valid elements of ``values``.
    package var all: ContiguousArray<Value>.SubSequence { values[..<used] }

    package init() {}

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Replaces the text.
    package mutating func replace(with text: Span<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(text)
    }

    /// Returns the byte offset of the last occurrence of `beginning` in the text; `nil` if there is none.
    package func last(_ beginning: StaticString) -> Int? {
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

    /// Finds the values of the text.
    ///
    /// - Returns: Whether it is one JSON value and white space.
    package mutating func parse() -> Bool {
        used = 0
        guard bytes.count <= Self.sizeMax else { return false }
        // The values are moved out while they are filled, because of exclusivity. Their memory is reused.
        var values: ContiguousArray<Value> = []
        swap(&values, &self.values)
        defer { swap(&values, &self.values) }
        if values.isEmpty { values = ContiguousArray(repeating: Value.none, count: Self.valuesFirst) }
        while true {
            var target = values.mutableSpan
            var lines = 0
            switch JSONScanner.scan(bytes.span, from: 0, lines: &lines, into: &target) {
            case .whole(let count, let end):
                guard bytes[end...].allSatisfy({ JSONScanner.isSpace($0) }) else { return false }
                used = count
                return true
            case .incomplete, .malformed: return false
            case .full: values.append(contentsOf: repeatElement(Value.none, count: values.count))
            }
        }
    }

    // MARK: Members and elements

    /// Returns the place of the value of `key` in the object at `object`.
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

    /// Calls `body` with the places of each key and its value in the object at `object`.
    @inline(__always)
    package func eachMember(of object: Int, _ body: (_ key: Int, _ value: Int) -> Void) {
        guard object < used, values[object].kind == .object else { return }
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            body(place, place + 1)
            place = Int(values[place + 1].next)
        }
    }

    /// Returns the number of members of the object at `object`.
    package func memberCount(of object: Int) -> Int {
        var count = 0
        eachMember(of: object) { _, _ in count += 1 }
        return count
    }

    /// Returns the places of the elements of an array.
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

    /// Returns the number of bytes of a value in the text. The quotation marks of a string do not count.
    package func length(_ place: Int) -> Int { Int(values[place].end - values[place].start) }

    /// Returns whether the string at `place` is `text`, which must not need escapes.
    package func isText(_ text: StaticString, at place: Int?) -> Bool {
        guard let place, values[place].kind == .string else { return false }
        return isEqual(Int(values[place].start), Int(values[place].end), text)
    }

    /// Returns whether the string at `place` has these bytes, which must not need escapes.
    package func isText(_ expected: [UInt8], at place: Int) -> Bool {
        guard values[place].kind == .string else { return false }
        let start = Int(values[place].start)
        guard Int(values[place].end) - start == expected.count else { return false }
        return unsafe bytes.withUnsafeBytes { text in
            guard let text = text.baseAddress else { return expected.isEmpty }
            return unsafe expected.withUnsafeBytes { expected in
                unsafe expected.baseAddress.map { unsafe memcmp(text + start, $0, expected.count) == 0 } ?? true
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

    /// Returns an integer; `nil` if the value is not an integer without fraction and exponent, or does not fit.
    package func integer(_ place: Int?) -> Int? {
        guard let place, values[place].kind == .number else { return nil }
        var index = Int(values[place].start)
        let end = Int(values[place].end)
        let isNegative = bytes[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        var number = 0
        while index < end {
            let byte = bytes[index]
            guard (0x30...0x39).contains(byte) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = tens.subtractingReportingOverflow(Int(byte - 0x30))
            if overflow || overflowed { return nil }
            number = sum
            index += 1
        }
        // The digits are subtracted, because the negative range has one number more than the positive range.
        return isNegative ? number : (number == .min ? nil : -number)
    }

    package func integer<Number: FixedWidthInteger>(_ place: Int?, as type: Number.Type) -> Number? {
        integer(place).flatMap { Number(exactly: $0) }
    }

    /// Returns a decimal number of seconds in microseconds. Further decimals are cut off.
    package func microseconds(_ place: Int?) -> Int64? {
        guard let place, values[place].kind == .number else { return nil }
        var index = Int(values[place].start)
        let end = Int(values[place].end)
        let isNegative = bytes[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        var number: Int64 = 0
        var decimals = -1
        while index < end, decimals < 6 {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: ".") {
                decimals = 0
                continue
            }
            guard (0x30...0x39).contains(byte) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = tens.addingReportingOverflow(Int64(byte - 0x30))
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

    package func double(_ place: Int?) -> Double? {
        guard let place, values[place].kind == .number else { return nil }
        return Double(String(decoding: bytes[Int(values[place].start)..<Int(values[place].end)], as: UTF8.self))
    }

    @inline(__always)
    private func isEqual(_ start: Int, _ end: Int, _ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        // Most keys are different, and differ in their length or their first byte.
        guard end - start == count, end <= bytes.count, count > 0, unsafe bytes[start] == text.utf8Start[0] else {
            return false
        }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let first = bytes.baseAddress else { return false }
            return unsafe memcmp(first + start, text.utf8Start, count) == 0
        }
    }

    // MARK: Strings

    /// Returns the text of a string, with its escapes replaced. Half of a surrogate pair becomes U+FFFD.
    package func string(_ place: Int?) -> String? {
        guard let place, values[place].kind == .string else { return nil }
        let bytes = bytes[Int(values[place].start)..<Int(values[place].end)]
        guard values[place].hasEscapes else { return String(decoding: bytes, as: UTF8.self) }
        var text = Array(bytes)
        var span = text.mutableSpan
        let end = Self.unescape(&span, 0, span.count)
        return String(decoding: text[..<end], as: UTF8.self)
    }

    /// Returns the bytes of a value in the text, including the quotation marks of a string.
    package func bytes(of place: Int) -> ArraySlice<UInt8> {
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

    /// Returns the character of the digits at `place`. If a second escape follows and both are a surrogate pair, it is
    /// the character of the pair.
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

    /// Returns the byte range in the text of the value at `place`, without the quotation marks of a string.
    package func range(of place: Int) -> Range<Int> { Int(values[place].start)..<Int(values[place].end) }
}
