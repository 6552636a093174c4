import EventLog
import SiteLog
import SystemPackage

/// Snapshots in files of a folder: `snapshots` names the last two that are whole, a line each: the number in the names of its
/// pieces' files, the offset, the writer, how many pieces. `snapshot-<number>-<index>` are the pieces.
struct SnapshotFiles {
    private struct Entry {
        let number: UInt64
        let head: SnapshotHead
    }

    private struct Unfinished {
        let number: UInt64
        var count: Int
        var last: [UInt8]
    }

    private static let prefix = "snapshot-"
    private static let listOctetsMax = 4_096

    private let directory: FilePath
    private let files: any FileSystemCalls
    private let octetsMax: Int
    private var whole: [Entry] = []
    private var unfinished: [SnapshotName: Unfinished] = [:]
    private var next: UInt64 = 1

    /// Those in a folder; the pieces of what never became whole are removed where something may be written.
    ///
    /// - Throws: ``LogTrouble/damaged(_:_:)``.
    init(
        in directory: FilePath, names: [String], limits: LogLimits, isWriting: Bool, _ files: any FileSystemCalls
    ) throws(LogTrouble) {
        self.directory = directory
        self.files = files
        octetsMax = limits.pieceOctetsMax
        let list = directory.appending("snapshots")
        let text = try trouble(list) { () throws(Errno) in
            try WholeFile.read(list, octetsMax: Self.listOctetsMax, files: files)
        }
        for line in String(decoding: text ?? [], as: UTF8.self).split(separator: "\n") {
            whole.append(try Self.entry(line, list))
        }
        let kept = Set(whole.map(\.number))
        for name in names {
            guard let number = Self.number(name) else { continue }
            next = max(next, number + 1)
            if isWriting, !kept.contains(number) { try? files.remove(directory.appending(name)) }
        }
    }

    /// The one that was finished last.
    var latest: SnapshotHead? { whole.last?.head }

    /// A piece of one that is whole; absent where it has gone.
    func piece(_ name: SnapshotName, _ index: Int) throws(LogTrouble) -> [UInt8]? {
        guard let entry = whole.last(where: { $0.head.name == name }), (0..<entry.head.pieces).contains(index) else {
            return nil
        }
        let path = path(entry.number, index)
        let octets = try trouble(path) { () throws(Errno) in
            try WholeFile.read(path, octetsMax: octetsMax, files: files)
        }
        guard let octets else { throw .damaged(path.string, "a piece of a snapshot is missing") }
        return octets
    }

    /// Takes a piece at the end of what is there, or the last one of those once more.
    mutating func write(_ piece: SnapshotPiece) throws(LogTrouble) {
        // Its last piece was sent again because nobody said that it had come.
        if piece.isLast, let entry = whole.last, entry.head.name == piece.name,
            piece.index == entry.head.pieces - 1, unfinished[piece.name] == nil,
            try self.piece(piece.name, piece.index) == piece.octets
        {
            return
        }
        var begun = piece.index == 0 ? nil : unfinished[piece.name]
        if let begun, piece.index == begun.count - 1, begun.last == piece.octets { return }
        let count = begun?.count ?? 0
        guard piece.index == count else {
            throw .refused("piece \(piece.index) of a snapshot that has \(count)")
        }
        if begun == nil { begin(&begun) }
        guard var begun else { return }
        try keep(path(begun.number, piece.index), piece.octets)
        begun.count += 1
        begun.last = piece.octets
        unfinished[piece.name] = begun
        guard piece.isLast else { return }
        try finish(Entry(number: begun.number, head: SnapshotHead(piece.name, pieces: begun.count)))
        unfinished[piece.name] = nil
    }

    private mutating func begin(_ begun: inout Unfinished?) {
        begun = Unfinished(number: next, count: 0, last: [])
        next += 1
    }

    private mutating func finish(_ entry: Entry) throws(LogTrouble) {
        let others = whole.filter { $0.head.name != entry.head.name }
        let new = others.suffix(1) + [entry]
        let lines = new.map { "\($0.number) \($0.head.name.offset) \($0.head.name.writer) \($0.head.pieces)\n" }
        try keep(directory.appending("snapshots"), Array(lines.joined().utf8))
        let kept = Set(new.map(\.number))
        // What can't be removed now is at the next start.
        for old in whole where !kept.contains(old.number) {
            for index in 0..<old.head.pieces { try? files.remove(path(old.number, index)) }
        }
        whole = Array(new)
    }

    private func keep(_ path: FilePath, _ octets: [UInt8]) throws(LogTrouble) {
        do throws(Errno) { try WholeFile.replace(path, with: octets, files: files) } catch {
            throw .unavailable("\(path) can't be written: \(error)")
        }
    }

    private func path(_ number: UInt64, _ index: Int) -> FilePath {
        directory.appending("\(Self.prefix)\(number)-\(index)")
    }

    private static func number(_ name: String) -> UInt64? {
        guard name.hasPrefix(prefix) else { return nil }
        let parts = name.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, UInt64(parts[1]) != nil, let number = UInt64(parts[0]), number < .max else {
            return nil
        }
        return number
    }

    private static func entry(_ line: Substring, _ list: FilePath) throws(LogTrouble) -> Entry {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 4, let number = UInt64(parts[0]), let offset = UInt64(parts[1]),
            let pieces = Int(parts[3]), pieces > 0
        else { throw .damaged(list.string, "a line of it names no snapshot") }
        return Entry(
            number: number,
            head: SnapshotHead(SnapshotName(offset: offset, writer: try LogName(String(parts[2]))), pieces: pieces))
    }
}

/// What reading a file came to, as a log says it.
func trouble<Value>(_ path: FilePath, _ body: () throws(Errno) -> Value) throws(LogTrouble) -> Value {
    do throws(Errno) { return try body() } catch { throw .damaged(path.string, "it can't be read: \(error)") }
}
