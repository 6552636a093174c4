internal import BeaconMonitoring
internal import BluetoothLE

extension Configuration {
    /// Reads the names of beacons from the file that ``beaconsFile`` names: CSV as written by spreadsheets.
    ///
    /// The first row has the names of the columns: `uuid`, `major`, `minor`, `name` and `group`, in any order, in upper
    /// or lower case. Other columns are ignored. `group` is optional, and so is `uuid` if all conditions have the same.
    /// Fields are separated by commas, semicolons or tabs, with or without quotation marks (RFC 4180). The separator is
    /// the one with which the first row has the most of these columns. A line `sep=;` before the first row, as Excel
    /// reads it, selects the separator. A byte order mark and all line ends are accepted, and empty rows are skipped.
    /// The maximum is ``BeaconNames/countMost`` rows.
    /// - Parameters:
    ///   - bytes: the content of the file.
    ///   - file: the name of the file in errors.
    /// - Throws: all errors with their rows. Nothing has changed then.
    public mutating func readBeacons(_ bytes: [UInt8], file: String) throws(ConfigurationErrors) {
        let source = SourceText(bytes)
        var table = BeaconTable(source, uuids: beaconUUIDs)
        if let (offset, message, hint) = source.problem(isYAML: false) {
            table.errors.report(at: offset, message, hint: hint)
        } else {
            table.read()
        }
        guard table.errors.isEmpty else { throw ConfigurationErrors(table.errors, in: source, file: file) }
        beacons = table.names
        for warning in nameWarnings {
            let (name, position) =
                switch warning.place {
                case .names: (file, source.position(of: source.start))
                case .beacon(let place): (file, source.position(of: table.offsets[place]))
                case .condition(let position): (self.file, position)
                }
            warnings.append(
                ConfigurationIssue(file: name, position: position, message: warning.message, hint: warning.hint))
        }
        // The warnings of the configuration first.
        warnings.sort { ($0.file == file ? 1 : 0, $0.position) < ($1.file == file ? 1 : 0, $1.position) }
    }
}

/// Reads a table of beacons with names.
struct BeaconTable {
    private enum Column: String, CaseIterable {
        case uuid, major, minor, name, group

        /// Returns the column with this title, in upper or lower case.
        init?(title: ArraySlice<UInt8>) { self.init(rawValue: String(decoding: title, as: UTF8.self).lowercased()) }
    }

    let source: SourceText
    var errors = Findings()
    private(set) var names = BeaconNames()
    private let uuids: Set<ProximityUUID>
    /// The columns that the first row must have, for operators.
    private var headerHint = "the first row must have the columns \(Self.columnsHint)"
    /// The position of each column in a row, in the order of the cases.
    private var places = [Int?](repeating: nil, count: Column.allCases.count)
    /// The offset of each of ``names``.
    private(set) var offsets: [Int] = []

    init(_ source: SourceText, uuids: Set<ProximityUUID>) {
        self.source = source
        self.uuids = uuids
    }

    mutating func read() {
        let line = SeparatorLine(in: source)
        if let line { readSelection(line) }
        guard errors.isEmpty else { return }
        let start = line?.end ?? source.start
        var rows = TableRows(source, separator: line?.separator ?? Self.separator(in: source, from: start), from: start)
        guard rows.next(), readHeader(rows) else {
            if let offset = rows.unclosed { reportUnclosed(offset) }
            if errors.isEmpty {
                errors.report(
                    at: source.start, line == nil ? "the file is empty" : "the table after this line is empty",
                    hint: headerHint)
            }
            return
        }
        while rows.next() {
            if let offset = rows.unclosed { return reportUnclosed(offset) }
            if !rows.isBlank { read(rows) }
            if offsets.count > BeaconNames.countMost { return }
        }
    }

    private static let columnsHint = "major, minor and name; uuid and group are optional"

    /// Returns the separator with which the first row has the most of the columns; a comma if it has none of them.
    private static func separator(in source: SourceText, from start: Int) -> UInt8 {
        var (best, most) = (UInt8(ascii: ","), 0)
        for separator in TableRows.separators {
            var rows = TableRows(source, separator: separator, from: start)
            guard rows.next() else { continue }
            let count = rows.fields.count { Column(title: rows.text(of: $0)) != nil }
            if count > most { (best, most) = (separator, count) }
        }
        return best
    }

    /// Checks the line `sep=`, and adds its separator to the hint about the row after it.
    private mutating func readSelection(_ line: SeparatorLine) {
        let name: String
        switch line.separator {
        case UInt8(ascii: ","): name = "commas"
        case UInt8(ascii: ";"): name = "semicolons"
        case UInt8(ascii: "\t"): name = "tabs"
        default:
            let selection = line.selection.isEmpty ? "missing" : Reader.shown(line.selection[...])
            return errors.report(
                at: line.start, "the separator after sep= is \(selection)",
                hint: "expected a comma, a semicolon or a tab: save the table with one of these, and remove this line")
        }
        headerHint = "line 1 selects \(name) as separators; the row after it must have the columns \(Self.columnsHint)"
    }

    private mutating func reportUnclosed(_ offset: Int) {
        errors.report(
            at: offset, "this quotation mark is not closed",
            hint: "close it; double a quotation mark within quotation marks")
    }

    private mutating func readHeader(_ rows: TableRows) -> Bool {
        for (place, field) in rows.fields.enumerated() {
            guard let column = Column(title: rows.text(of: field)) else { continue }
            let index = Column.allCases.firstIndex(of: column) ?? 0
            if places[index] != nil {
                errors.report(at: field.start, "the column \(column.rawValue) occurs twice", hint: "remove one")
            }
            places[index] = place
        }
        for column in [Column.major, .minor, .name] where place(of: column) == nil {
            errors.report(
                at: rows.start, "the column \(column.rawValue) is missing", hint: headerHint)
        }
        if place(of: .uuid) == nil, uuids.count != 1 {
            errors.report(at: rows.start, "the column uuid is missing", hint: NameSyntax.uuidHint(uuids.count))
        }
        return errors.isEmpty
    }

    private func place(of column: Column) -> Int? { places[Column.allCases.firstIndex(of: column) ?? 0] }

    private mutating func read(_ rows: TableRows) {
        let row = rows.row
        guard offsets.count < BeaconNames.countMost else {
            report(
                row, at: rows.start, "there are more than \(BeaconNames.countMost) beacons",
                "name only the beacons that must never lose their place")
            offsets.append(rows.start)
            return
        }
        if let stray = rows.stray {
            report(row, at: stray, "unexpected text after a closing quotation mark", "quote the whole field")
        }
        let major = value(.major, rows, Reader.major)
        let minor = value(.minor, rows, Reader.major)
        let name = value(.name, rows, NameSyntax.name)
        var group: String?
        if let field = field(.group, rows), !field.isEmpty { group = value(.group, rows, NameSyntax.name) }
        guard let uuid = uuid(rows), let major, let minor, let name else { return }
        let beacon = BeaconIdentity(uuid: uuid, major: major, minor: minor)
        if let first = names.add(NamedBeacon(beacon, name: name, group: group)) {
            let source = source
            let other = offsets[first]
            report(
                row, at: rows.start, "this beacon already has a name at line \(source.line(of: other))", "remove one")
        } else {
            offsets.append(rows.start)
        }
    }

    private mutating func uuid(_ rows: TableRows) -> ProximityUUID? {
        if field(.uuid, rows)?.isEmpty ?? true, uuids.count == 1 { return uuids.first }
        let count = uuids.count
        return value(.uuid, rows) { (text) throws(ScalarProblem) in
            guard !text.isEmpty else { throw ScalarProblem(NameSyntax.uuidHint(count)) }
            return try ScalarSyntax.uuid(text)
        }
    }

    private func field(_ column: Column, _ rows: TableRows) -> TableRows.Field? {
        guard let place = place(of: column), place < rows.fields.count else { return nil }
        return rows.fields[place]
    }

    private mutating func value<Value>(
        _ column: Column, _ rows: TableRows, _ parse: (ArraySlice<UInt8>) throws(ScalarProblem) -> Value
    ) -> Value? {
        guard let field = field(column, rows) else {
            report(rows.row, at: rows.start, "\(column.rawValue) is missing", "add it; the row is too short")
            return nil
        }
        let text = rows.text(of: field)
        do {
            return try parse(text)
        } catch {
            report(
                rows.row, at: field.start,
                text.isEmpty ? "\(column.rawValue) is empty" : "\(column.rawValue) is \(Reader.shown(text))",
                error.expected)
            return nil
        }
    }

    /// Reports an error with its place. If a field has several lines, or the first line is `sep=`, the row of a
    /// spreadsheet differs from the line.
    private mutating func report(
        _ row: Int, at offset: Int, _ message: @autoclosure () -> String, _ hint: @autoclosure () -> String
    ) {
        let source = source
        errors.report(
            at: offset, (source.line(of: offset) == row ? "" : "row \(row): ") + message(), hint: hint())
    }
}
