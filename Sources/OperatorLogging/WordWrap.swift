/// Text for a screen of so many columns, its lines broken between words.
///
/// A terminal breaks where its edge is, in the middle of a word. What is one word, such as a path, stays whole here however
/// long it is, so that it can be copied.
package enum WordWrap {
    /// The text with no line longer than `columns` characters, but for words that are.
    ///
    /// - Parameters:
    ///   - text: a line or several.
    ///   - columns: the room, in characters; absent: as much as there is need for.
    ///   - hanging: how much further in than the line itself the rest of it begins.
    /// - Returns: the text with more line ends, and nothing else changed but spaces at them.
    package static func wrapped(_ text: String, to columns: Int?, hanging: Int = 2) -> String {
        guard let columns, columns > 0 else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { wrapped(line: $0, to: columns, hanging: hanging) }.joined(separator: "\n")
    }

    private static func wrapped(line: Substring, to columns: Int, hanging: Int) -> String {
        let characters = Array(line)
        guard characters.count > columns else { return String(line) }
        let lead = characters.prefix { $0 == " " }.count
        // Where a line begins far to the right, its rest must not be a column of single words.
        let indent = min(lead + hanging, columns / 2)
        var result = ""
        var rest = characters[...]
        var room = columns
        var words = lead
        while rest.count > room {
            let begin = rest.startIndex + words
            let most = rest.startIndex + room
            // The last space that the line still fits before; else the first one behind its only word.
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
}
