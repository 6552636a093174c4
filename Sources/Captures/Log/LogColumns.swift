/// The columns of a table, from a line that can be its header line.
struct LogColumns {
    /// The names. Those that are similar to a key are replaced by it.
    let names: [[UInt8]]
    /// For each column, the slot of its name if it is a key.
    let slots: [Int?]
    /// For each column, whether its values can be objects with advertisements.
    let areInner: [Bool]
    /// The number of columns whose names are keys, or whose values can be objects with advertisements.
    let known: Int
    /// Whether a column can have advertisements itself.
    let hasContent: Bool
    /// Whether a column has the names of adapters.
    let hasAdapters: Bool
    /// Whether the columns can be those of an advertisement log.
    let isLog: Bool

    /// Whether the last column is the value of a field. If the last row lacks its line end, this value can be incomplete.
    var usesLastColumn: Bool { slots.last.map { $0 != nil } ?? false }

    /// The names of columns that have a meaning.
    struct Names {
        /// The column that has the messages of a broker.
        static let payload = Array("payload".utf8)

        let exact: Set<[UInt8]>
        /// The names by their form for comparisons: spreadsheets have `Measured power` for `measuredPower`. A single letter
        /// can have other meanings.
        private var similar: [[UInt8]: [UInt8]] = [:]

        init(_ keys: LogKeys) {
            let names = keys.names + [Self.payload]
            exact = Set(names)
            for name in names.reversed() {
                if let plain = LogColumns.plain(name), plain.count > 1 { similar[plain] = name }
            }
        }

        /// Returns the name to which a cell is similar; `nil` if there is none, or if it is among the `others`.
        func name(similarTo cell: [UInt8], notIn others: Set<[UInt8]>) -> [UInt8]? {
            guard let plain = LogColumns.plain(cell), let name = similar[plain], !others.contains(name) else {
                return nil
            }
            return name
        }
    }

    /// Finds the fields of the cells of a line.
    init(_ cells: [[UInt8]], _ known: Names, _ keys: LogKeys) {
        let others = Set(cells)
        names = cells.map { cell in
            known.exact.contains(cell) ? cell : known.name(similarTo: cell, notIn: others) ?? cell
        }
        let slots = names.map { keys.slot(of: $0.span, 0..<$0.count) }
        self.slots = slots
        let used = slots.reduce(UInt64(0)) { mask, slot in slot.map { mask | 1 << UInt64($0) } ?? mask }
        let content = keys.mask(of: LogField.content)
        areInner = zip(names, slots).map { name, slot in
            slot == nil
                && (name == Names.payload
                    || keys.paths.contains { path in
                        content & 1 << UInt64(path) != 0
                            && keys.utf8(of: path).starts(with: name + [UInt8(ascii: ".")])
                    })
        }
        self.known = slots.count { $0 != nil } + areInner.count { $0 }
        hasContent = used & keys.mask(of: LogField.content.filter { $0 != .listening }) != 0
        hasAdapters = used & keys.mask(of: [.adapter]) != 0
        isLog = hasContent || areInner.contains(true) || used & content != 0 && self.known > 1
    }

    /// The slot of two columns; `nil` if there is none.
    var repeatedSlot: Int? {
        slots.indices.lazy.compactMap { index in
            slots[index].flatMap { slots[..<index].contains($0) ? $0 : nil }
        }.first
    }

    /// Returns the letters and digits of a name in lower case, without blanks, underscores and hyphens; `nil` if it has
    /// other characters.
    fileprivate static func plain(_ name: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        for byte in name {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: result.append(byte | 0x20)
            case UInt8(ascii: " "), UInt8(ascii: "_"), UInt8(ascii: "-"): break
            default: return nil
            }
        }
        return result
    }

    /// Returns whether a cell is a number, a time, an address, a UUID or other bytes, and not the name of a column.
    static func isValue(_ cell: [UInt8]) -> Bool {
        let isNumber =
            cell.first.map { 0x2B...0x39 ~= $0 } ?? false
            && cell.allSatisfy { $0 &- 0x30 < 10 || " .,:+-/TZtzeE".utf8.contains($0) }
        let isBytes = cell.count >= 12 && cell.allSatisfy { LogText.nibble($0) <= 0xF || "-:".utf8.contains($0) }
        return isNumber || isBytes
    }

    /// Returns whether a cell of the first line can be the name of a column, and is not a part of a sentence.
    static func canBeName(_ cell: [UInt8]) -> Bool {
        cell.count <= FieldMap.nameBytesMax && cell.count { $0 == UInt8(ascii: " ") } <= 2 && !isValue(cell)
            && cell.last != UInt8(ascii: ":") && !zip(cell, cell.dropFirst()).contains { $0 == (0x3A, 0x20) }
    }
}

extension LogState {
    /// The names of columns with advertisements, for messages.
    var contentColumns: String { "\(contentKeys), payload" }

    /// Makes the log a table if the first line of a text is its header line.
    ///
    /// - Parameters:
    ///   - line: the line, with the tabs before it and without its line end.
    ///   - separator: the separator; `nil` if it is the one with which the line has the most known columns.
    /// - Returns: whether it is.
    /// - Throws: an error for two columns with the same name.
    mutating func openTable(_ line: [UInt8], separator: UInt8?) throws(LogProblem) -> Bool {
        var best: (separator: UInt8, columns: LogColumns)?
        for candidate in separator.map({ [$0] }) ?? LogTable.separators {
            guard let cells = LogTable.cells(of: line, separator: candidate), cells.count > 1 else { continue }
            let columns = LogColumns(cells, columnNames, scanner.keys)
            // A line of another text can end with a comma and one of the names.
            guard columns.isLog, columns.known > 1 || cells.allSatisfy(LogColumns.canBeName) else { continue }
            if columns.known > best?.columns.known ?? 0 { best = (candidate, columns) }
        }
        guard let (separator, columns) = best else { return false }
        try open(line, separator, columns)
        return true
    }

    /// Makes the log another table if a row is the header line of one. Tables with the same separator can be joined.
    ///
    /// - Parameter row: the row without its line end.
    /// - Returns: whether it is.
    /// - Throws: an error if the columns of such a line are not understood.
    mutating func reopenTable(_ row: [UInt8]) throws(LogProblem) -> Bool {
        guard let separator = table?.separator, let cells = LogTable.cells(of: row, separator: separator),
            cells.count > 1, !cells.contains(where: LogColumns.isValue)
        else { return false }
        let columns = LogColumns(cells, columnNames, scanner.keys)
        guard columns.known > 1 else { return false }
        guard columns.isLog else { throw LogProblem("none of the columns is one of \(contentColumns)") }
        try open(row, separator, columns)
        return true
    }

    private mutating func open(_ line: [UInt8], _ separator: UInt8, _ columns: LogColumns) throws(LogProblem) {
        if let slot = columns.repeatedSlot {
            throw LogProblem("two columns have the name \(scanner.keys.name(of: slot)); remove or rename one")
        }
        table = LogTable(header: line, separator: separator, columns: columns)
    }

    /// Reads the row in `line` of `window`.
    mutating func readRow(_ window: [UInt8], _ line: Range<Int>) -> LogTable.Outcome {
        table?.read(window.span, line) ?? .nothing
    }
}
