import JSON
import OperatorLogging

/// A table as text, its columns as wide as what stands in them.
///
/// Its first rows are held back: they say how wide. What comes then is written as it comes, and a column that has to become
/// wider stays so.
struct TextTable {
    /// A cell.
    struct Cell {
        var text: String
        /// How wide its column is at least, in characters.
        var width: Int
        /// Numbers stand to the right.
        var isNumber: Bool

        init(_ text: String, _ width: Int, isNumber: Bool = false) {
            self.text = text
            self.width = width
            self.isNumber = isNumber
        }
    }

    /// How many rows are held back at most.
    static let heldMax = 200
    /// What is wider than this stands out of its column: one long name is no reason for a table that fits nowhere.
    static let widthMax = 64

    private var held: [[Cell]]? = []
    private var widths: [Int] = []

    /// Adds a row; the last cell's column is as wide as there is room.
    mutating func add(_ cells: [Cell], into buffer: inout LineBuffer) {
        for (column, cell) in cells.enumerated() {
            if column == widths.count { widths.append(cell.width) }
            let width = Self.width(of: cell)
            if width <= Self.widthMax { widths[column] = max(widths[column], width) }
        }
        guard held != nil else { return write(cells, into: &buffer) }
        held?.append(cells)
        if held?.count == Self.heldMax { end(into: &buffer) }
    }

    /// Writes what is held back.
    mutating func end(into buffer: inout LineBuffer) {
        for cells in held ?? [] { write(cells, into: &buffer) }
        held = nil
    }

    // How wide a character is, a terminal knows; most have one octet and one column.
    private static func width(of cell: Cell) -> Int { PlainText.safe(cell.text).utf8.count { $0 & 0xC0 != 0x80 } }

    private func write(_ cells: [Cell], into buffer: inout LineBuffer) {
        var line: [UInt8] = []
        line.reserveCapacity(160)
        for (cell, width) in zip(cells, widths) {
            let missing = max(0, width - Self.width(of: cell))
            if cell.isNumber { line.append(contentsOf: repeatElement(0x20, count: missing)) }
            line.append(contentsOf: PlainText.safe(cell.text).utf8)
            line.append(contentsOf: repeatElement(0x20, count: (cell.isNumber ? 0 : missing) + 2))
        }
        while line.last == 0x20 { line.removeLast() }
        line.append(0x0A)
        buffer.append(line)
    }
}
