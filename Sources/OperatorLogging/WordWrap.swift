/// Breaks the lines of a text between words, for a screen with a given number of columns.
///
/// A terminal breaks a line at its edge, in the middle of a word. Here a word, such as a path, stays whole even if it
/// is longer than a line, so that users can copy it.
package enum WordWrap {
    /// Returns the text with lines of at most `columns` columns (``PlainText/columns(of:)-(String)``), except for longer
    /// words.
    ///
    /// - Parameters:
    ///   - text: one or more lines.
    ///   - columns: the maximum length of a line; `nil` means no limit.
    ///   - hanging: the additional indentation of the rest of a broken line.
    /// - Returns: the text with more line ends. Nothing else changes, except the spaces before and after these line
    ///   ends.
    package static func wrapped(_ text: String, to columns: Int?, hanging: Int = 2) -> String {
        guard let columns, columns > 0 else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { wrapped(line: $0, to: columns, hanging: hanging) }.joined(separator: "\n")
    }

    private static func wrapped(line: Substring, to columns: Int, hanging: Int) -> String {
        let characters = Array(line)
        guard overflow(characters[...], room: columns) != nil else { return String(line) }
        let lead = characters.prefix { $0 == " " }.count
        // If a line starts far to the right, its rest should not become a column of single words.
        let indent = min(lead + hanging, columns / 2)
        var result = ""
        var rest = characters[...]
        var room = columns
        var words = lead
        while let most = overflow(rest, room: room) {
            let begin = rest.startIndex + words
            // The last space that leaves a line of at most this length; otherwise the first space after its only word.
            let near = begin <= most ? rest[begin...most].lastIndex(of: " ") : nil
            guard let space = near ?? rest[max(begin, most)...].firstIndex(of: " ") else { break }
            let end = rest[..<space].lastIndex { $0 != " " } ?? space
            result += String(rest[...end])
            rest = rest[space...].drop { $0 == " " }
            guard !rest.isEmpty else { return result }
            result += "\n" + String(repeating: " ", count: indent)
            room = max(columns - indent, 1)
            words = 0
        }
        return result + String(rest)
    }

    /// Returns the index of the first character that does not fit into `room` columns; `nil` if all fit.
    private static func overflow(_ characters: ArraySlice<Character>, room: Int) -> Int? {
        var room = room
        return characters.indices.first { index in
            room -= PlainText.columns(of: characters[index])
            return room < 0
        }
    }
}
