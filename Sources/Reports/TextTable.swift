import JSON
import OperatorLogging

/// A table as text. Its columns are as wide as their content.
///
/// The first rows are stored, because they decide the widths. Later rows are written immediately. If one makes a column
/// wider, the column keeps this width.
struct TextTable {
    /// A cell.
    struct Cell {
        var text: String
        /// The minimum width of its column in characters.
        var width: Int
        /// Whether the text is aligned to the right.
        var isNumber: Bool

        init(_ text: String, _ width: Int, isNumber: Bool = false) {
            self.text = text
            self.width = width
            self.isNumber = isNumber
        }
    }

    /// The maximum number of rows that are stored.
    static let heldMax = 200
    /// A wider cell exceeds its column. One long name must not make the table too wide for the screen.
    static let widthMax = 64

    private var held: [[Cell]]? = []
    private var widths: [Int] = []

    /// Adds a row. Spaces after the last cell are not written, so its text can use the rest of the line.
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

    /// Writes the stored rows.
    mutating func end(into buffer: inout LineBuffer) {
        for cells in held ?? [] { write(cells, into: &buffer) }
        held = nil
    }

    // The width of a character depends on the terminal. Most characters need one column, so each Unicode scalar counts
    // as one.
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
