@testable import EventLog
@testable import JSON

/// A simple JSON parser, byte by byte, with a call for each container. The fast parser must have the same results.
struct ReferenceJSON {
    private let bytes: [UInt8]
    private var position = 0
    private(set) var values: [JSONText.Value] = []

    /// Parses a text; `nil` if the text is not JSON.
    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard value(depth: 0) else { return nil }
        skipSpace()
        guard position == bytes.count else { return nil }
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard byte == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func add(_ kind: JSONText.Kind, _ start: Int, _ end: Int) {
        values.append(JSONText.Value(kind, start, end, next: values.count + 1))
    }

    private mutating func value(depth: Int) -> Bool {
        skipSpace()
        switch byte {
        case nil: return false
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "{"): return container(.object, "}", depth: depth + 1)
        case UInt8(ascii: "["): return container(.array, "]", depth: depth + 1)
        case UInt8(ascii: "t"): return word("true", .yes)
        case UInt8(ascii: "f"): return word("false", .no)
        case UInt8(ascii: "n"): return word("null", .null)
        default: return number()
        }
    }

    private mutating func container(_ kind: JSONText.Kind, _ closing: Unicode.Scalar, depth: Int) -> Bool {
        guard depth <= 64 else { return false }
        let place = values.count
        add(kind, position, 0)
        position += 1
        skipSpace()
        if !take(closing) {
            repeat {
                if kind == .object {
                    skipSpace()
                    guard string() else { return false }
                    skipSpace()
                    guard take(":") else { return false }
                }
                guard value(depth: depth) else { return false }
                skipSpace()
            } while take(",")
            guard take(closing) else { return false }
        }
        values[place] = JSONText.Value(kind, Int(values[place].start), position, next: values.count)
        return true
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        let start = position
        var hasEscapes = false
        while let byte, byte >= 0x20 {
            position += 1
            if byte == UInt8(ascii: "\"") {
                add(.string, start, position - 1)
                values[values.count - 1].hasEscapes = hasEscapes
                return true
            }
            guard byte == UInt8(ascii: "\\") else { continue }
            hasEscapes = true
            guard escape() else { return false }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard take("u") else { return #""\/bfnrt"#.unicodeScalars.contains { take($0) } }
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return false }
        position += 4
        return true
    }

    private mutating func word(_ word: String, _ kind: JSONText.Kind) -> Bool {
        guard bytes[position...].starts(with: word.utf8) else { return false }
        add(kind, position, position + word.utf8.count)
        position += word.utf8.count
        return true
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte, (0x30...0x39).contains(byte) { position += 1 }
        return position > start
    }

    private mutating func number() -> Bool {
        let start = position
        _ = take("-")
        guard take("0") || digits() else { return false }
        if take("."), !digits() { return false }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard digits() else { return false }
        }
        add(.number, start, position)
        return true
    }
}
