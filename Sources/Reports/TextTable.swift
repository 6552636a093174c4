import JSON
import OperatorLogging

/// A table as text. Its columns are as wide as their content.
///
/// The first rows are stored, because they decide the widths. Later rows are written immediately. If one makes a column
/// wider, the column keeps this width. A cell that exceeds its column moves the following cells of its row only as far
/// as it must. Widths are columns of a terminal (`PlainText.columns(of:)`).
struct TextTable {
    /// A cell.
    struct Cell {
        var text: String
        /// The minimum width of its column.
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

    private static func width(of cell: Cell) -> Int { PlainText.columns(of: PlainText.safe(cell.text)) }

    private func write(_ cells: [Cell], into buffer: inout LineBuffer) {
        var line: [UInt8] = []
        line.reserveCapacity(160)
        // The number of columns that the line has, and that it would have if each cell fitted into its column.
        var (position, edge) = (0, 0)
        for (cell, width) in zip(cells, widths) {
            let text = PlainText.safe(cell.text)
            let columns = PlainText.columns(of: text)
            let start = cell.isNumber ? max(edge, edge + width - columns) : edge
            let spaces = max(position == 0 ? 0 : 2, start - position)
            line.append(contentsOf: repeatElement(0x20, count: spaces))
            line.append(contentsOf: text.utf8)
            position += spaces + columns
            edge += width + 2
        }
        while line.last == 0x20 { line.removeLast() }
        line.append(0x0A)
        buffer.append(line)
    }
}
