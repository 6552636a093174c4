import JSON

/// The first lines of a text that can be a table.
struct TableHeading {
    /// The number of tabs before the first line.
    let tabs: Int
    /// The separator, if a line names it.
    var separator: UInt8?
    /// Whether the line after comments was read. Only this line can be the header line.
    var isOver = false

    init(tabs: Int) { self.tabs = tabs }
}

extension CaptureReader {
    /// Opens a table if the line at these offsets from the head is its header line. Before it can be blank lines, comments
    /// after `#`, and the line of Excel that names the separator.
    @inline(never) mutating func openTable(_ line: Range<Int>, _ heading: inout TableHeading) throws(CaptureError)
        -> Bool
    {
        guard !heading.isOver else { return false }
        let isWhole = try has(line.upperBound + 1)
        // The header line can be longer than the bytes in which formats are recognised.
        if isWhole, window[head + line.upperBound] != 0x0A {
            heading.isOver = true
            return false
        }
        var text = Array(window[head + line.lowerBound..<head + line.upperBound])
        while text.last == 0x0D { text.removeLast() }
        if text.first == UInt8(ascii: "#") || text.allSatisfy(JSONScanner.isSpace) { return false }
        if heading.separator == nil, let separator = LogTable.separator(ofLine: text) {
            heading.separator = separator
            return false
        }
        heading.isOver = true
        if line.lowerBound == 0 { text.insert(contentsOf: repeatElement(0x09, count: heading.tabs), at: 0) }
        do throws(LogProblem) {
            let first = text.split(separator: 0x0D, maxSplits: 1, omittingEmptySubsequences: false)[0]
            guard try log.openTable(Array(first), separator: heading.separator) else { return false }
            guard first.count == text.count else {
                throw LogProblem("its lines end with CR; convert them with: tr '\\r' '\\n'")
            }
        } catch {
            throw .headerInvalid(path: name, error.description)
        }
        if isWhole, try isOtherLine(line.upperBound + 1) {
            log.table = nil
            return false
        }
        self.line += window[head..<head + line.upperBound].count { $0 == 0x0A }
        head += line.upperBound
        lacksLineEnd = !isWhole
        return true
    }

    /// Returns whether the line at an offset from the head belongs to a text that is not the table: it has another number of
    /// columns, and is an object, a text and an object, or a packet of hcidump.
    private mutating func isOtherLine(_ start: Int) throws(CaptureError) -> Bool {
        var end = start
        while end < UnsupportedFormat.lookahead, try has(end + 1), window[head + end] != 0x0A { end += 1 }
        guard end > start, let table = log.table else { return false }
        let cells = LogTable.cells(of: Array(window[head + start..<head + end]), separator: table.separator)
        if cells?.count == table.columns.names.count { return false }
        if window[head + start] == UInt8(ascii: "{") || HcidumpText.isPacket(window.span, head + start, head + end) {
            return true
        }
        return try objectAfterPrefix(from: start) != nil
    }

    /// Returns the reason why the text at the head is not an advertisement log, if it is probably CSV: if its first two lines
    /// have the same number of columns, or its only line starts with a value.
    func tableProblem() -> String? {
        let lines = window[head..<min(head + UnsupportedFormat.lookahead, tail)].split(separator: 0x0A, maxSplits: 3)
            .map { Array($0) }.filter { $0.first != UInt8(ascii: "#") && LogTable.separator(ofLine: $0) == nil }
        guard let first = lines.first, !first.contains(UInt8(ascii: "=")) else { return nil }
        let tables = LogTable.separators.compactMap { separator -> [[UInt8]]? in
            guard let cells = LogTable.cells(of: first, separator: separator), cells.count > 1,
                cells.allSatisfy({ $0.count { $0 == 0x20 } <= 2 }),
                lines.count == 1 || LogTable.cells(of: lines[1], separator: separator)?.count == cells.count
            else { return nil }
            return cells
        }
        guard let cells = tables.max(by: { $0.count < $1.count }) else { return nil }
        if !cells.allSatisfy(LogColumns.canBeName) {
            return """
                the first line must have the names of the columns, such as time,adapter,address,rssi,data. Add it to the \
                start of the file
                """
        }
        guard lines.count > 1 else { return nil }
        let shown = cells.prefix(16).map { LogProblem.quoted($0[...], bytesMax: FieldMap.nameBytesMax) }
        return """
            none of the columns \(shown.joined(separator: ", "))\(cells.count > 16 ? ", …" : "") is one of \
            \(log.contentColumns). Name the column of the advertisement with --fields data=COLUMN, or that of the UUID with \
            --fields uuid=COLUMN
            """
    }

    /// Makes the next row of a table the last object. Returns `false` if there is none, or it was skipped.
    @inline(never) mutating func nextRow() throws(CaptureError) -> Bool {
        guard let length = try lineLength() else { return false }
        (log.start, log.line) = (head, line)
        let row = head..<head + length
        let outcome = log.readRow(window, row)
        head = row.upperBound
        if head < tail {
            head += 1
            line += 1
        } else if length > 0 {
            lacksLineEnd = log.table?.columns.usesLastColumn ?? false
        }
        switch outcome {
        case .nothing: return false
        case .row:
            guard scanRow() else { return false }
            recordCount += 1
            return true
        case .malformed(let place, let reason):
            recordCount += 1
            if !isBetweenTables() {
                damages.note(offset: base + place, record: recordCount, line: log.line, reason)
                log.damagedLine = log.line
            }
            return false
        }
    }

    /// Returns the length of the line at the head; `nil` if it is not a row.
    private mutating func lineLength() throws(CaptureError) -> Int? {
        var length = 0
        while true {
            while head + length < tail, window[head + length] != 0x0A { length += 1 }
            guard head + length == tail else { return length }
            guard length < Self.recordBytesMax else {
                recordCount += 1
                damages.note(offset: base + head, record: recordCount, line: line, "it is longer than 1 MiB")
                while try has(1), window[head] != 0x0A { head += 1 }
                return nil
            }
            guard try !refill(length + 1) else { continue }
            // If the rest cannot be read, the last row is incomplete.
            guard length > 0, source.problem == nil else {
                hasEnded = true
                return nil
            }
            return length
        }
    }

    /// Makes the object of the last row, which is written after the bytes that were read, the last object.
    private mutating func scanRow() -> Bool {
        guard let object = log.table?.object else { return false }
        let missing = tail + object.count - window.count
        if missing > 0 { window.append(contentsOf: repeatElement(0, count: missing)) }
        for index in object.indices { window[tail + index] = object[index] }
        guard case .whole = log.scanner.scan(window, tail..<tail + object.count) else { return false }
        return !log.hasInner || log.openInner(&window)
    }

    /// Handles a refused row that belongs between two tables: the line of Excel that names the separator, an annotation of
    /// InfluxDB, or another header line, whose columns replace those of the table. If they are not understood, the log
    /// ends: the rows after them would be read with the wrong columns.
    ///
    /// - Returns: whether it is such a line.
    @inline(never) mutating func isBetweenTables() -> Bool {
        guard log.table != nil, !log.scanner.hasElements, log.start < head,
            head - log.start <= UnsupportedFormat.lookahead, window[log.start] &- 0x30 >= 10
        else { return false }
        var row = Array(window[log.start..<head])
        while row.last == 0x0A || row.last == 0x0D { row.removeLast() }
        if row.starts(with: [0xEF, 0xBB, 0xBF]) { row.removeFirst(3) }
        let isAnnotation = ["#group,", "#datatype,", "#default,"].contains { row.starts(with: $0.utf8) }
        do throws(LogProblem) {
            if !isAnnotation, LogTable.separator(ofLine: row) != log.table?.separator {
                // After a damaged row, the line can be a part of it: the name of a device that imitates a header line.
                guard log.damagedLine != log.line - 1, try log.reopenTable(row) else { return false }
            }
            recordCount -= 1
        } catch {
            damages.note(
                offset: base + log.start, record: recordCount, line: log.line,
                "another table starts, whose header line is invalid: \(error.description)")
            hasEnded = true
        }
        return true
    }
}
