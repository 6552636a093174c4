/// Iterates over the rows of a table with comma or semicolon separated values (RFC 4180).
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

    private let source: SourceText
    private let separator: UInt8
    private var index: Int

    /// The fields of the current row.
    private(set) var fields: [Field] = []
    /// The number of the row, from 1, as in a spreadsheet.
    private(set) var row = 0
    /// The offset of the row.
    private(set) var start: Int
    /// The offset of text after the closing quotation mark of a field in the current row.
    private(set) var stray: Int?
    /// The offset of a quotation mark that is never closed.
    private(set) var unclosed: Int?

    init(_ source: SourceText, separator: UInt8) {
        self.source = source
        self.separator = separator
        index = source.start
        start = source.start
        fields.reserveCapacity(8)
    }

    /// Returns the separator: a semicolon if the first line has one outside of quotation marks, otherwise a comma.
    static func separator(in source: SourceText) -> UInt8 {
        var isQuoted = false
        for byte in source.bytes[source.start...] {
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ";") where !isQuoted: return byte
            case 0x0A, 0x0D:
                if !isQuoted { return UInt8(ascii: ",") }
            default: break
            }
        }
        return UInt8(ascii: ",")
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
            while field.end > field.start, Self.isSpace(bytes[field.end - 1]) { field.end -= 1 }
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
        while field.start < field.end, Self.isSpace(bytes[field.start]) { field.start += 1 }
        while field.end > field.start, Self.isSpace(bytes[field.end - 1]) { field.end -= 1 }
        fields.append(field)
        skipSpaces(bytes)
        if index < bytes.count, !isEnd(bytes[index]) {
            stray = index
            skipToEnd(bytes)
        }
    }

    private func isEnd(_ byte: UInt8) -> Bool { byte == separator || byte == 0x0A || byte == 0x0D }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private mutating func skipSpaces(_ bytes: [UInt8]) {
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
    }

    private mutating func skipToEnd(_ bytes: [UInt8]) {
        while index < bytes.count, !isEnd(bytes[index]) { index += 1 }
    }
}
