// Values of a text that was read, written again.
extension LineBuffer {
    /// Appends a value of a parsed text.
    ///
    /// It is valid JSON on one line (RFC 8259), even if the text was not strictly so: without white space between its
    /// tokens, strings with this buffer's escapes and with U+FFFD for invalid UTF-8, whole numbers without leading zeros. A
    /// value that a buffer of the same kind wrote is copied byte for byte.
    ///
    /// - Parameters:
    ///   - text: the text, after a successful ``JSONText/parse()``.
    ///   - place: the place of the value; 0 is the outermost.
    package mutating func append(_ text: JSONText, at place: Int) {
        switch text.values[place].kind {
        case .object:
            object { buffer in
                text.eachMember(of: place) { key, value in
                    buffer.key(named: text.string(key) ?? "")
                    buffer.append(text, at: value)
                }
            }
        case .array: array(text.elements(of: place)) { $0.append(text, at: $1) }
        case .string: string(text.string(place) ?? "")
        case .number: append(number: text.octets(place))
        case .yes: append("true")
        case .no: append("false")
        case .null: append("null")
        }
    }

    private mutating func append(number octets: ArraySlice<UInt8>) {
        var digits = octets
        if digits.first == UInt8(ascii: "-") { append(octet: digits.removeFirst()) }
        while digits.first == UInt8(ascii: "0"), (0x30...0x39).contains(digits.dropFirst().first ?? 0) {
            digits.removeFirst()
        }
        append(Array(digits))
    }
}
