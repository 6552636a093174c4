/// Makes text from outside (from the radio, a file or a broker) harmless for programs that show it.
///
/// All text of this kind must pass through these functions where it is written to a terminal. Output for programs is
/// escaped as its format requires, so that nothing of it is lost.
package enum PlainText {
    /// Returns the text with an underscore for each character to which a terminal can react in another way than showing
    /// it.
    ///
    /// These are control characters (with which escape sequences start, including U+009B), characters that change the
    /// writing direction or are invisible, and characters that Unicode has not assigned.
    package static func safe(_ text: String) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var safe = ""
        for scalar in text.unicodeScalars { safe.unicodeScalars.append(isHarmless(scalar) ? scalar : "_") }
        return safe
    }

    /// Returns harmless text from UTF-8 bytes. Invalid bytes become U+FFFD.
    package static func safe(_ bytes: [UInt8]) -> String { safe(String(decoding: bytes, as: UTF8.self)) }

    /// Returns harmless text of several lines, with their line ends.
    package static func safe(lines text: String) -> String {
        text.utf8.allSatisfy { isPlain($0) || $0 == 0x0A }
            ? text
            : text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
                .map { safe(String($0)) }.joined(separator: "\n")
    }

    /// Returns whether a character is shown as itself and has no other effect.
    package static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return isPlain(UInt8(truncatingIfNeeded: scalar.value)) }
        // The joiners are part of some scripts and of emoji, and have no other effect.
        if scalar.value == 0x200C || scalar.value == 0x200D { return true }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }

    /// Returns a number with its noun: `1 record`, `2 records`, `1 entry`, `2 entries`.
    ///
    /// - Parameters:
    ///   - number: the number, which is written in decimal digits.
    ///   - singular: the noun for 1.
    ///   - plural: the noun for other numbers; `nil` means `singular` with an `s`.
    /// - Returns: the number and the noun, with a space between them.
    package static func count(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
        "\(number) \(number == 1 ? singular : plural ?? singular + "s")"
    }

    /// Returns whether a byte is a printable ASCII character.
    package static func isPlain(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) }

    /// Returns harmless text for HTML, also for its attributes.
    package static func html(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(isHarmless(scalar) ? scalar : "_")
            }
        }
        return escaped
    }

    /// Returns UTF-8 bytes for the content of an HTML element. They may start and end within a character.
    ///
    /// Only `&`, `<` and `>` are escaped, so the text must already be harmless (``safe(_:)-(String)``).
    package static func html(bytes: [UInt8]) -> [UInt8] {
        bytes.reduce(into: []) { escaped, byte in
            switch byte {
            case UInt8(ascii: "&"): escaped += "&amp;".utf8
            case UInt8(ascii: "<"): escaped += "&lt;".utf8
            case UInt8(ascii: ">"): escaped += "&gt;".utf8
            default: escaped.append(byte)
            }
        }
    }

    // The characters with which spreadsheets start a formula, and their wide forms in East Asian editions.
    private static let formulaStarts: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
    ]

    /// Returns a text field of RFC 4180. Text that a spreadsheet would treat as a formula gets an apostrophe in front.
    ///
    /// The text is checked by Unicode scalars: `=` with a combining mark is a different `Character`, but a spreadsheet
    /// can still read its `=`.
    package static func csv(_ text: String) -> String {
        let text = safe(text)
        let scalars = text.unicodeScalars
        let begin = scalars.first { $0 != " " }
        let isFormula = begin.map { formulaStarts.contains($0) } ?? false
        guard isFormula || scalars.contains(where: { $0 == "\"" || $0 == "," || $0 == ";" }) else { return text }
        var quoted = isFormula ? "\"'" : "\""
        for scalar in scalars {
            if scalar == "\"" { quoted.unicodeScalars.append("\"") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}
