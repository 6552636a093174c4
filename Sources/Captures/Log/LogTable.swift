import BaseTypes
import JSON

/// An advertisement log in CSV (RFC 4180): a header line with the names of the columns, and a record in each row.
///
/// Each row becomes a JSON object whose keys are the names of the columns. Its values are the texts of the cells. An
/// empty cell is absent. Cells cannot contain line ends: otherwise a stray quotation mark could hide the next rows.
struct LogTable {
    /// The possible separators.
    static let separators = Array(",;\t".utf8)

    /// The columns, from the header line.
    let columns: LogColumns
    /// The last row as a JSON object.
    private(set) var object: [UInt8] = []
    /// Whether the last row has a value in a column that can have objects with advertisements.
    private(set) var hasInnerValue = false
    let separator: UInt8
    /// The header line without its line end.
    private let header: [UInt8]
    /// The start of the member of each column in JSON, such as `,"time":`. It is empty for a column without a name.
    private let members: [[UInt8]]

    /// A part of a row.
    private enum Step {
        /// A cell without the quotation marks and blanks around it, and the place after its separator; `nil` for the last
        /// cell.
        case cell(Range<Int>, hasDoubledMarks: Bool, next: Int?)
        case malformed(Int, String)
    }

    /// The result of ``read(_:_:)``.
    enum Outcome {
        /// The row, which is now ``object``.
        case row
        /// A row without values, or a repetition of the header line.
        case nothing
        /// Damage at a place.
        case malformed(Int, String)
    }

    /// Returns the separator that the first line of a table from Excel names: `sep=;`. `nil` for other lines.
    static func separator(ofLine line: [UInt8]) -> UInt8? {
        let text = line.filter { $0 != UInt8(ascii: "\"") && $0 != 0x0D }
        guard text.prefix(4).map({ $0 | 0x20 }).elementsEqual("sep=".utf8) else { return nil }
        // A program that has written the table again appends its own separators to this line.
        let selection = text[4...]
        let isValid = selection.allSatisfy(separators.contains) && Set(selection.dropFirst()).count < 2
        return isValid ? selection.last : nil
    }

    /// Returns the texts of the cells of a line; `nil` if it has unpaired quotation marks.
    static func cells(of line: [UInt8], separator: UInt8) -> [[UInt8]]? {
        var (cells, place): ([[UInt8]], Int) = ([], 0)
        while true {
            guard
                case .cell(let range, let hasDoubledMarks, let next) = cell(line.span, place..<line.count, separator)
            else { return nil }
            var isSecond = false
            cells.append(
                line[range].filter { byte in
                    isSecond = hasDoubledMarks && byte == UInt8(ascii: "\"") && !isSecond
                    return !isSecond
                })
            guard let next else { return cells }
            place = next
        }
    }

    /// Creates a table with these columns.
    init(header: [UInt8], separator: UInt8, columns: LogColumns) {
        (self.header, self.separator, self.columns) = (header, separator, columns)
        members = columns.names.map { name in
            guard !name.isEmpty else { return [] }
            var member = [UInt8(ascii: ",")]
            Self.append(name.span, 0..<name.count, hasDoubledMarks: false, to: &member)
            return member + [UInt8(ascii: ":")]
        }
    }

    /// Reads the row in `line`, which does not include its line end.
    mutating func read(_ text: Span<UInt8>, _ line: Range<Int>) -> Outcome {
        object.removeAll(keepingCapacity: true)
        object.append(UInt8(ascii: "{"))
        hasInnerValue = false
        var (place, column, hasExcess, isEmpty): (Int?, Int, Bool, Bool) = (line.lowerBound, 0, false, true)
        while let start = place {
            switch Self.cell(text, start..<line.upperBound, separator) {
            case .malformed(let place, let reason): return .malformed(place, reason)
            case .cell(let range, let hasDoubledMarks, let next):
                if !range.isEmpty {
                    isEmpty = false
                    if column < members.count {
                        append(text, range, hasDoubledMarks, column)
                        hasInnerValue = hasInnerValue || columns.areInner[column]
                    } else {
                        hasExcess = true
                    }
                }
                column += 1
                place = next
            }
        }
        object.append(UInt8(ascii: "}"))
        if isEmpty || repeatsHeader(text, line) { return .nothing }
        guard !hasExcess, column >= members.count else {
            return .malformed(
                line.lowerBound, "its number of columns is \(column); the header line has \(members.count)")
        }
        return .row
    }

    /// Returns whether a row has hexadecimal digits that can be those of an iBeacon, also with separators.
    static func hasBeaconDigits(_ row: ArraySlice<UInt8>) -> Bool {
        var (run, digits): (Int, UInt32) = (0, 0)
        for byte in row {
            switch byte {
            case _ where LogText.nibble(byte) <= 0xF:
                digits = digits << 8 | UInt32(byte)
                // After the digits 0215: 16 bytes of the UUID, the numbers, and the measured power.
                run = digits == 0x3032_3135 ? 1 : run > 0 ? run + 1 : 0
                if run > 2 * (ManufacturerData.beaconBytes - 2) { return true }
            case UInt8(ascii: " "), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "-"): break
            default: (run, digits) = (0, 0)
            }
        }
        return false
    }

    private mutating func append(_ text: Span<UInt8>, _ range: Range<Int>, _ hasDoubledMarks: Bool, _ column: Int) {
        // The comma before the first member is not written.
        let member = members[column]
        guard !member.isEmpty else { return }
        object.append(contentsOf: object.count == 1 ? member[1...] : member[...])
        Self.append(text, range, hasDoubledMarks: hasDoubledMarks, to: &object)
    }

    /// Returns whether a row is the header line again: several tables were joined.
    private func repeatsHeader(_ text: Span<UInt8>, _ row: Range<Int>) -> Bool {
        guard row.count >= header.count else { return false }
        for index in 0..<header.count where text[row.lowerBound + index] != header[index] { return false }
        for index in row.lowerBound + header.count..<row.upperBound where text[index] != 0x0D { return false }
        return true
    }

    /// Reads the first cell of a range, which ends with the line.
    private static func cell(_ text: Span<UInt8>, _ range: Range<Int>, _ separator: UInt8) -> Step {
        var place = range.lowerBound
        let lineEnd = range.upperBound
        while place < lineEnd, isBlank(text[place], separator) { place += 1 }
        var cell = place..<place
        var hasDoubledMarks = false
        if place < lineEnd, text[place] == UInt8(ascii: "\"") {
            let mark = place
            place += 1
            while true {
                while place < lineEnd, text[place] != UInt8(ascii: "\"") { place += 1 }
                guard place < lineEnd else { return .malformed(mark, "a quotation mark is not closed in its line") }
                guard place + 1 < lineEnd, text[place + 1] == UInt8(ascii: "\"") else { break }
                hasDoubledMarks = true
                place += 2
            }
            cell = mark + 1..<place
            place += 1
            while place < lineEnd, isBlank(text[place], separator) { place += 1 }
            guard place == lineEnd || text[place] == separator else {
                return .malformed(place, "a text follows a closing quotation mark")
            }
        } else {
            while place < lineEnd, text[place] != separator { place += 1 }
            var end = place
            while end > cell.lowerBound, isBlank(text[end - 1], separator) { end -= 1 }
            cell = cell.lowerBound..<end
        }
        return .cell(cell, hasDoubledMarks: hasDoubledMarks, next: place < lineEnd ? place + 1 : nil)
    }

    private static func isBlank(_ byte: UInt8, _ separator: UInt8) -> Bool {
        (byte == 0x20 || byte == 0x09 || byte == 0x0D) && byte != separator
    }

    /// Appends a text as a JSON string.
    private static func append(
        _ text: Span<UInt8>, _ range: Range<Int>, hasDoubledMarks: Bool, to result: inout [UInt8]
    ) {
        result.append(UInt8(ascii: "\""))
        var isSecond = false
        for index in range {
            let byte = text[index]
            isSecond = hasDoubledMarks && byte == UInt8(ascii: "\"") && !isSecond
            guard !isSecond else { continue }
            switch byte {
            case 0..<0x20: result.append(contentsOf: "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                result.append(UInt8(ascii: "\\"))
                result.append(byte)
            default: result.append(byte)
            }
        }
        result.append(UInt8(ascii: "\""))
    }
}
