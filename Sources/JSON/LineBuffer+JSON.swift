import BaseTypes

// JSON, in the order in which it is written (RFC 8259): braces, brackets, commas and quotation marks are put here, and
// nowhere else. Whoever opens something gives what stands in it, so nothing is left open.
extension LineBuffer {
    // MARK: Values

    /// Appends an object: `body` writes its members.
    @inlinable @inline(__always)
    public mutating func object(_ body: (inout LineBuffer) -> Void) {
        append(octet: UInt8(ascii: "{"))
        body(&self)
        append(octet: UInt8(ascii: "}"))
    }

    /// Appends an array: `body` writes the value of each element.
    ///
    /// - Parameters:
    ///   - elements: the elements.
    ///   - onLines: whether each stands on a line of its own, for people.
    ///   - body: writes one.
    @inlinable @inline(__always)
    public mutating func array<Element>(
        _ elements: some Sequence<Element>, onLines: Bool = false, _ body: (inout LineBuffer, Element) -> Void
    ) {
        append(octet: UInt8(ascii: "["))
        for element in elements {
            // No value ends with what an array begins with.
            if !ends(with: UInt8(ascii: "[")) { append(octet: UInt8(ascii: ",")) }
            if onLines { append(octet: 0x0A) }
            body(&self, element)
        }
        append(octet: UInt8(ascii: "]"))
    }

    /// Appends a string of what `body` appends, which needs no escapes.
    @inlinable @inline(__always)
    public mutating func quoted(_ body: (inout LineBuffer) -> Void) {
        append(octet: UInt8(ascii: "\""))
        body(&self)
        append(octet: UInt8(ascii: "\""))
    }

    /// Appends a string.
    @inlinable @inline(__always)
    public mutating func string(_ text: String) { quoted { $0.append(escaped: text) } }

    /// Appends text as the inside of a JSON string (§7).
    public mutating func append(escaped text: String) {
        if mayStand != nil, !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }), let mayStand {
            return append(escaped: text, unless: mayStand)
        }
        var text = text
        text.withUTF8 { octets in
            guard let first = octets.baseAddress else { return }
            reserve(6 * octets.count)
            let start = unsafe storage + filled
            var index = 0
            // Most names hold nothing to escape: they are copied as they are looked at, eight octets at once.
            while index + 8 <= octets.count {
                let word = unsafe UnsafeRawPointer(first + index).loadUnaligned(as: UInt64.self)
                if Self.needsEscape(word) { break }
                unsafe UnsafeMutableRawPointer(start + index).storeBytes(of: word, as: UInt64.self)
                index += 8
            }
            while index < octets.count, unsafe !Self.needsEscape(octets[index]) {
                unsafe start[index] = octets[index]
                index += 1
            }
            filled += index
            while index < octets.count {
                unsafe appendEscaped(octets[index])
                index += 1
            }
        }
    }

    private mutating func append(escaped text: String, unless mayStand: (Unicode.Scalar) -> Bool) {
        for scalar in text.unicodeScalars {
            if mayStand(scalar) {
                for octet in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { appendEscaped(octet) }
            } else {
                for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                    append("\\u")
                    append(hexadecimal: UInt8(truncatingIfNeeded: unit >> 8))
                    append(hexadecimal: UInt8(truncatingIfNeeded: unit))
                }
            }
        }
    }

    @inline(__always)
    private static func needsEscape(_ octet: UInt8) -> Bool {
        octet < 0x20 || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "\\")
    }

    /// Whether one of eight octets has to be escaped: in each octet the highest bit is told of what is less than 0x20,
    /// or 0 once `"` or `\` is taken from it.
    @inline(__always)
    private static func needsEscape(_ octets: UInt64) -> Bool {
        let (each, highest): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let quotes = octets ^ (each &* UInt64(UInt8(ascii: "\"")))
        let backslashes = octets ^ (each &* UInt64(UInt8(ascii: "\\")))
        let controls = (octets &- each &* 0x20) & ~octets
        return (controls | (quotes &- each) & ~quotes | (backslashes &- each) & ~backslashes) & highest != 0
    }

    private mutating func appendEscaped(_ octet: UInt8) {
        switch octet {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(octet: UInt8(ascii: "\\"))
            append(octet: octet)
        case 0..<0x20:
            append("\\u00")
            append(hexadecimal: octet)
        default:
            append(octet: octet)
        }
    }

    // MARK: Members

    // Each writes only where `reserve` made room.

    /// Begins a member of the object that is being written; its value comes next.
    @inlinable @inline(__always)
    public mutating func key(_ key: StaticString) {
        let size = key.utf8CodeUnitCount
        reserve(size + 4)
        // No value ends with what an object begins with.
        if !ends(with: UInt8(ascii: "{")) {
            unsafe storage[filled] = UInt8(ascii: ",")
            filled += 1
        }
        unsafe storage[filled] = UInt8(ascii: "\"")
        unsafe (storage + filled + 1).update(from: key.utf8Start, count: size)
        unsafe storage[filled + size + 1] = UInt8(ascii: "\"")
        unsafe storage[filled + size + 2] = UInt8(ascii: ":")
        filled += size + 3
    }

    /// Appends members of the object that is being written as they were written before: `"a":1,"b":2`.
    public mutating func append(members: [UInt8]) {
        if !ends(with: UInt8(ascii: "{")) { append(octet: UInt8(ascii: ",")) }
        append(members)
    }

    /// The same under a name that is no literal.
    public mutating func key(named key: String) {
        if !ends(with: UInt8(ascii: "{")) { append(octet: UInt8(ascii: ",")) }
        string(key)
        append(octet: UInt8(ascii: ":"))
    }

    /// Writes a whole number under a name that is no literal.
    public mutating func write(named key: String, _ number: Int) {
        self.key(named: key)
        append(number)
    }

    /// Writes a text.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ text: String) {
        self.key(key)
        string(text)
    }

    /// Writes a text; nothing where there is none: absent is absent.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ text: String?) {
        if let text { write(key, text) }
    }

    /// Writes a word, which needs no escapes.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, word: StaticString) {
        self.key(key)
        quoted { $0.append(word) }
    }

    /// Writes a whole number.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ number: some FixedWidthInteger) {
        self.key(key)
        append(Int(truncatingIfNeeded: number))
    }

    /// Writes `true` or `false`.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ isSo: Bool) {
        self.key(key)
        if isSo { append("true") } else { append("false") }
    }

    /// Writes a number of seconds, exact to the microsecond; what is finer is cut off.
    public mutating func write(_ key: StaticString, seconds duration: Duration) {
        write(key, millionths: duration.nanoseconds / 1000)
    }

    /// Writes a decimal number of so many millionths: ``append(millionths:)``.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, millionths: Int64) {
        self.key(key)
        append(millionths: millionths)
    }

    /// Writes a date: ``append(date:)``.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, date microseconds: Int64) {
        self.key(key)
        quoted { $0.append(date: microseconds) }
    }

    /// Writes texts.
    public mutating func write(_ key: StaticString, _ texts: some Sequence<String>) {
        array(key, texts) { $0.string($1) }
    }

    /// Writes an object: `body` writes its members.
    @inlinable @inline(__always)
    public mutating func object(_ key: StaticString, _ body: (inout LineBuffer) -> Void) {
        self.key(key)
        object(body)
    }

    /// Writes an array: `body` writes the value of each element.
    @inlinable @inline(__always)
    public mutating func array<Element>(
        _ key: StaticString, _ elements: some Sequence<Element>, onLines: Bool = false,
        _ body: (inout LineBuffer, Element) -> Void
    ) {
        self.key(key)
        array(elements, onLines: onLines, body)
    }

    /// Writes an array of objects, one for each element.
    @inlinable @inline(__always)
    public mutating func objects<Element>(
        _ key: StaticString, _ elements: some Sequence<Element>, onLines: Bool = false,
        _ body: (inout LineBuffer, Element) -> Void
    ) {
        array(key, elements, onLines: onLines) { buffer, element in buffer.object { body(&$0, element) } }
    }
}
