extension PlainText {
    /// Returns the number of columns that a text takes on a terminal: the sum of its characters.
    ///
    /// Terminals differ for emoji of several parts, and for characters that are newer than the terminal.
    package static func columns(of text: String) -> Int {
        // Nearly all texts are ASCII.
        text.utf8.allSatisfy(isPlain) ? text.utf8.count : text.reduce(0) { $0 + columns(of: $1) }
    }

    /// Returns the number of columns that a character takes on a terminal.
    ///
    /// The result is 2 for East Asian characters that are wide or full-width (Unicode Standard Annex #11) and for
    /// emoji. Other characters have the number of their Unicode scalars without those that combine, control or format:
    /// 1 for most, 0 for a combining character alone, and 2 for some syllables, whose letters terminals show next to
    /// each other (`กำ`).
    package static func columns(of character: Character) -> Int {
        var result = 0
        var previous: Unicode.Scalar?
        for scalar in character.unicodeScalars {
            // U+FE0F requests the emoji of a character that also exists as plain text, such as ☎.
            if scalar.value == 0xFE0F, previous?.properties.isEmoji ?? false { return 2 }
            // Two regional indicators are a flag.
            let isFlag = previous.map(isRegionalIndicator) ?? false && isRegionalIndicator(scalar)
            previous = scalar
            guard takesColumns(scalar) else { continue }
            if isFlag || isWide(scalar) { return 2 }
            result += 1
        }
        return result
    }

    /// Returns the text with spaces so that it takes at least this number of columns.
    ///
    /// - Parameters:
    ///   - text: the text, without control characters.
    ///   - columns: the minimum number of columns.
    ///   - isNumber: whether the spaces are before the text.
    /// - Returns: the text and the spaces.
    package static func padded(_ text: String, to columns: Int, isNumber: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, columns - self.columns(of: text)))
        return isNumber ? spaces + text : text + spaces
    }

    private static func takesColumns(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return isPlain(UInt8(truncatingIfNeeded: scalar.value)) }
        return switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: false
        default: true
        }
    }

    private static func isRegionalIndicator(_ scalar: Unicode.Scalar) -> Bool {
        (0x1F1E6...0x1F1FF).contains(scalar.value)
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x1100 else { return false }
        return wide.contains { $0.contains(scalar.value) }
            || scalar.properties.isEmojiPresentation && !isRegionalIndicator(scalar)
    }

    // EastAsianWidth.txt of Unicode 15, W and F, without emoji. The ranges include unassigned characters.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4C6,
        0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FB, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
}
