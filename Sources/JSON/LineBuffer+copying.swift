// Values of a text that was read, written again.
extension LineBuffer {
    /// Appends a value of a parsed text.
    ///
    /// It is on one line, without white space between its tokens. Strings have this buffer's escapes, and U+FFFD for invalid
    /// UTF-8. A value that a buffer of the same kind wrote is copied byte for byte.
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
        case .number: append(Array(text.octets(place)))
        case .yes: append("true")
        case .no: append("false")
        case .null: append("null")
        }
    }
}
