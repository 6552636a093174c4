/// Iterates over the rows of a table whose values are separated by commas, semicolons or tabs (RFC 4180).
///
/// Nothing is copied except fields with doubled quotation marks, when they are read.
struct TableRows {
    /// A field: the range of its text, without its quotation marks and the spaces around it.
    struct Field {
        var start: Int
        var end: Int
        /// Whether it contains doubled quotation marks.
        var isEscaped = false

        var isEmpty: Bool { start == end }
    }

    /// The possible separators.
    static let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]

    private let source: SourceText
    private let separator: UInt8
    private var index: Int

    /// The fields of the current row.
    private(set) var fields: [Field] = []
    /// The number of the row, from 1, as in a spreadsheet: the line `sep=` is not a row there.
    private(set) var row = 0
    /// The offset of the row.
    private(set) var start: Int
    /// The offset of text after the closing quotation mark of a field in the current row.
    private(set) var stray: Int?
    /// The offset of a quotation mark that is never closed.
    private(set) var unclosed: Int?

    /// Creates the rows of the text after the offset `start`.
    init(_ source: SourceText, separator: UInt8, from start: Int) {
        self.source = source
        self.separator = separator
        index = start
        self.start = start
        fields.reserveCapacity(8)
    }

    /// Whether the current row is empty.
    var isBlank: Bool { fields.allSatisfy(\.isEmpty) }

    /// Returns the text of a field.
    func text(of field: Field) -> ArraySlice<UInt8> {
        let text = source.bytes[field.start..<field.end]
        guard field.isEscaped else { return text }
        var result: [UInt8] = []
        var isSecond = false
        for byte in text {
            isSecond = byte == UInt8(ascii: "\"") && !isSecond
            if !isSecond { result.append(byte) }
        }
        return result[...]
    }

    /// Moves to the next row. Returns `false` if there is none.
    mutating func next() -> Bool {
        let bytes = source.bytes
        guard index < bytes.count, unclosed == nil else { return false }
        fields.removeAll(keepingCapacity: true)
        stray = nil
        row += 1
        start = index
        while true {
            readField(bytes)
            guard index < bytes.count else { return true }
            let byte = bytes[index]
            index += 1
            guard byte != separator else {
                // A separator at the very end is followed by an empty field.
                if index == bytes.count { fields.append(Field(start: index, end: index)) }
                continue
            }
            if byte == 0x0D, index < bytes.count, bytes[index] == 0x0A { index += 1 }
            return true
        }
    }

    /// Reads up to a separator, a line end or the end of the file.
    private mutating func readField(_ bytes: [UInt8]) {
        skipSpaces(bytes)
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
            var field = Field(start: index, end: index)
            skipToEnd(bytes)
            field.end = index
            while field.end > field.start, isSkipped(bytes[field.end - 1]) { field.end -= 1 }
            fields.append(field)
            return
        }
        index += 1
        var field = Field(start: index, end: index)
        let open = index - 1
        while true {
            guard index < bytes.count else {
                unclosed = open
                return fields.append(field)
            }
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "\"") else { continue }
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { break }
            field.isEscaped = true
            index += 1
        }
        field.end = index - 1
        while field.start < field.end, Self.isSpaceOrTab(bytes[field.start]) { field.start += 1 }
        while field.end > field.start, Self.isSpaceOrTab(bytes[field.end - 1]) { field.end -= 1 }
        fields.append(field)
        skipSpaces(bytes)
        if index < bytes.count, !isEnd(bytes[index]) {
            stray = index
            skipToEnd(bytes)
        }
    }

    private func isEnd(_ byte: UInt8) -> Bool { byte == separator || byte == 0x0A || byte == 0x0D }

    private static func isSpaceOrTab(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Returns whether a byte is skipped around a field. A tab that separates fields is not.
    private func isSkipped(_ byte: UInt8) -> Bool { Self.isSpaceOrTab(byte) && byte != separator }

    private mutating func skipSpaces(_ bytes: [UInt8]) {
        while index < bytes.count, isSkipped(bytes[index]) { index += 1 }
    }

    private mutating func skipToEnd(_ bytes: [UInt8]) {
        while index < bytes.count, !isEnd(bytes[index]) { index += 1 }
    }
}

/// Excel's first line `sep=;`, which selects the separator of a table.
///
/// The letters can be upper or lower case, and the line can be in quotation marks. A program that writes the file again
/// can append separators to it (`sep=;;;`). It uses these in all other lines too, so they are the selected ones.
struct SeparatorLine {
    /// The selected separator; `nil` if the line selects something else than one of ``TableRows/separators``.
    let separator: UInt8?
    /// The text after `sep=`, without quotation marks and the spaces at its end.
    let selection: [UInt8]
    /// The offset of the text after `sep=`.
    let start: Int
    /// The offset of the next line.
    let end: Int

    /// Returns `nil` if the first line of `source` does not start with `sep=`.
    init?(in source: SourceText) {
        let line = source.bytes[source.start...].prefix { $0 != 0x0A && $0 != 0x0D }
        let key = line.drop { $0 == UInt8(ascii: "\"") }.prefix(4)
        guard String(decoding: key, as: UTF8.self).lowercased() == "sep=" else { return nil }
        start = key.endIndex
        var selection = line[start...].filter { $0 != UInt8(ascii: "\"") }
        while selection.last == UInt8(ascii: " ") { selection.removeLast() }
        self.selection = selection
        let isValid = selection.allSatisfy(TableRows.separators.contains) && Set(selection.dropFirst()).count < 2
        separator = isValid ? selection.last : nil
        let next = line.endIndex + (source.bytes[line.endIndex...].starts(with: [0x0D, 0x0A]) ? 2 : 1)
        end = min(next, source.bytes.count)
    }
}
