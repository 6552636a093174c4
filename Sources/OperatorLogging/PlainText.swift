/// Text that came from elsewhere (by radio, from a file, from a broker), made harmless for whoever shows it.
///
/// Everything that is said on a terminal and holds such text goes through here, at the place where it is written. What is
/// written for programs is escaped as their format has it, so that nothing of it is lost.
package enum PlainText {
    /// The text with an underscore in place of whatever a terminal would take for more than a letter: control characters
    /// (escape sequences begin with one, U+009B among them), characters that turn the direction of writing or can't be
    /// seen, and what Unicode has not assigned.
    package static func safe(_ text: String) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var safe = ""
        for scalar in text.unicodeScalars { safe.unicodeScalars.append(isHarmless(scalar) ? scalar : "_") }
        return safe
    }

    /// The text that UTF-8 octets spell, made harmless; octets that are no UTF-8 become U+FFFD.
    package static func safe(_ octets: [UInt8]) -> String { safe(String(decoding: octets, as: UTF8.self)) }

    /// A text of several lines, whose line ends stay.
    package static func safe(lines text: String) -> String {
        text.utf8.allSatisfy { isPlain($0) || $0 == 0x0A }
            ? text
            : text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
                .map { safe(String($0)) }.joined(separator: "\n")
    }

    /// Whether it shows as itself and does nothing else.
    package static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return isPlain(UInt8(truncatingIfNeeded: scalar.value)) }
        // The joiners are part of how some scripts, and emoji, are written; they do nothing but join.
        if scalar.value == 0x200C || scalar.value == 0x200D { return true }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }

    /// A number with its noun: `1 record`, `2 records`, `1 entry`, `2 entries`.
    ///
    /// - Parameters:
    ///   - number: the number, in decimal digits.
    ///   - singular: the noun for 1.
    ///   - plural: the noun for other numbers; absent: `singular` with an `s`.
    /// - Returns: the two, with a space between them.
    package static func count(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
        "\(number) \(number == 1 ? singular : plural ?? singular + "s")"
    }

    /// The same of an octet of ASCII.
    package static func isPlain(_ octet: UInt8) -> Bool { (0x20..<0x7F).contains(octet) }

    /// Text for HTML, its attributes too.
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

    /// UTF-8 bytes for the content of an HTML element. They may start and end within a character.
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

    // What spreadsheets begin a formula with; the wide ones in East Asian editions.
    private static let formulaStarts: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
    ]

    /// A text field of RFC 4180; what a spreadsheet would take for a formula gets an apostrophe.
    ///
    /// Looked at by scalars: a letter with a combining mark behind it is another character, and the same octet.
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
