// Strings, and the octets of values.
extension JSONText {
    /// The text of a string, its escapes resolved; a half of a surrogate pair alone becomes U+FFFD.
    package func string(_ place: Int?) -> String? {
        guard let place, values[place].kind == .string else { return nil }
        let octets = bytes[Int(values[place].start)..<Int(values[place].end)]
        guard octets.contains(UInt8(ascii: "\\")) else { return String(decoding: octets, as: UTF8.self) }
        return Self.unescaped(octets)
    }

    /// The octets of a value as they stand in the text, a string with its quotation marks.
    package func octets(_ place: Int) -> ArraySlice<UInt8> {
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

    /// Where an object, an array or a word stands in the text.
    package func range(of place: Int) -> Range<Int> { Int(values[place].start)..<Int(values[place].end) }
}
