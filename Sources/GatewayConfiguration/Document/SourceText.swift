/// The bytes of a configuration file and its lines.
struct SourceText {
    /// The maximum size of a file in bytes, enough for some 500,000 conditions.
    static let lengthMost = 64 << 20

    let bytes: [UInt8]
    /// The offset of the text, after a byte order mark.
    let start: Int

    // The line and column at each multiple of this many bytes, so that a place is found quickly even if the whole file
    // is one line.
    private static let stride = 128
    private var marks: [Position] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        // A larger file is rejected without reading it.
        guard bytes.count <= Self.lengthMost else { return }
        marks.reserveCapacity(bytes.count / Self.stride + 1)
        var line = 1
        var column = 1
        for mark in Swift.stride(from: 0, to: bytes.count, by: Self.stride) {
            marks.append(Position(line: line, column: column))
            for index in mark..<min(mark + Self.stride, bytes.count) {
                // A fast path for ASCII without line ends.
                if bytes[index] >= 0x20, bytes[index] < 0x80 {
                    column += 1
                } else {
                    pass(index, line: &line, column: &column)
                }
            }
        }
    }

    private func pass(_ index: Int, line: inout Int, column: inout Int) {
        let byte = bytes[index]
        if byte == 0x0A || (byte == 0x0D && !(index + 1 < bytes.count && bytes[index + 1] == 0x0A)) {
            line += 1
            column = 1
        } else if byte & 0xC0 != 0x80, index >= start {
            column += 1
        }
    }

    /// Returns the line and column of the byte at `offset`, or of the end.
    func position(of offset: Int) -> Position {
        let offset = min(max(offset, start), bytes.count)
        guard !marks.isEmpty else { return Position(line: 1, column: 1) }
        let mark = min(offset / Self.stride, marks.count - 1)
        var line = marks[mark].line
        var column = marks[mark].column
        for index in (mark * Self.stride)..<offset { pass(index, line: &line, column: &column) }
        return Position(line: line, column: column)
    }

    /// Returns the line of the byte at `offset`.
    func line(of offset: Int) -> Int { position(of: offset).line }

    /// Whether all bytes are ASCII.
    var isASCII: Bool { bytes.allSatisfy { $0 < 0x80 } }
}

extension SourceText {
    /// Returns the first problem that prevents parsing: the file is too large, is not UTF-8, or has characters that
    /// libyaml must not get. Returns `nil` if there is none.
    ///
    /// Source: YAML 1.2.2 §5.1, without the line breaks of YAML 1.1 (U+0085, U+2028, U+2029): libyaml ends a line
    /// there, even inside a comment, but editors do not show one.
    /// - Parameter isYAML: whether lines must not start with %, because libyaml will read them.
    /// - Returns: the place, the problem, and what to do.
    func problem(isYAML: Bool = true) -> (offset: Int, message: String, hint: String)? {
        guard bytes.count <= Self.lengthMost else {
            return (0, "the file has \(bytes.count) bytes", "expected at most 64MiB")
        }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return (0, "the file is UTF-16", "save it as UTF-8")
        }
        var index = start
        var beginsLine = true
        while index < bytes.count {
            let byte = bytes[index]
            if byte >= 0x20, byte < 0x7F, byte != 0x25 {
                beginsLine = false
                index += 1
                continue
            }
            if byte == 0x25, beginsLine, isYAML {
                // libyaml compares each %TAG directive with all earlier ones.
                return (index, "the line starts with %, a YAML directive", "remove the line, or quote the value")
            }
            beginsLine = byte == 0x0A || byte == 0x0D
            if byte == 0x25 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
                index += 1
            } else if byte < 0x80 {
                return (index, "the file contains the control character U+\(hexadecimal(UInt32(byte)))", "remove it")
            } else {
                guard let (value, length) = scalar(at: index) else {
                    return (index, "the file is not UTF-8 here", "save it as UTF-8")
                }
                guard !Self.isRefused(value) else {
                    return (index, "the file contains the invisible character U+\(hexadecimal(value))", "remove it")
                }
                index += length
            }
        }
        return nil
    }

    private static func isRefused(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x80...0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF: true
        default: false
        }
    }

    // Unicode 15 table 3-7: the well-formed sequences of more than one byte.
    private func scalar(at index: Int) -> (value: UInt32, length: Int)? {
        let first = UInt32(bytes[index])
        let length: Int
        let least: UInt32
        var value: UInt32
        switch first {
        case 0xC2...0xDF: (length, least, value) = (2, 0x80, first & 0x1F)
        case 0xE0...0xEF: (length, least, value) = (3, 0x800, first & 0x0F)
        case 0xF0...0xF4: (length, least, value) = (4, 0x1_0000, first & 0x07)
        default: return nil
        }
        guard index + length <= bytes.count else { return nil }
        for byte in bytes[(index + 1)..<(index + length)] {
            guard byte & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        guard value >= least, Unicode.Scalar(value) != nil else { return nil }
        return (value, length)
    }
}

/// Returns at least four upper-case digits, as Unicode writes a code point.
func hexadecimal(_ value: UInt32) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}
