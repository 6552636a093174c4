public import SystemPackage

/// Reads the lines of a folder of event files as they are written, in order, each number once, in constant memory.
///
/// It implements the section “Following the files” of docs/journal.md. It never waits: if there is no line, the caller
/// must ask again later.
public struct LineFollower: ~Copyable {
    /// Numbers that were passed over because their lines are not there: dropped, or deleted before they were read.
    public private(set) var missed = 0
    /// Lines that could not be made sense of, or were too long.
    public private(set) var damaged = 0
    /// The last line that was given, and where the next one begins.
    public private(set) var position: LinePosition
    /// How many octets were read.
    public private(set) var octets = 0

    private var list = SegmentList()
    private let directory: FilePath
    private let files: any FileSystemCalls
    private let window: Int
    private var segment: Segment?
    private var reader: SegmentReader?
    // Whether what is read next comes after the position, whatever it is.
    private var isInPlace = false
    // The line that a segment was read again from its beginning for: a gap that is still there then is one.
    private var rereadAfter: Int?
    // How often the segment had been read from when it was last seen that its name leads to it.
    private var readsSeen = 0
    // The line that a copy of a segment was looked for: what is damaged in one may be whole in the other.
    private var copyReadAfter: Int?
    // The file or folder that could not be opened in the last call.
    private var failedPath: FilePath?
    // Each further listing means that a segment was deleted since the last one.
    private static let listingsMax = 100

    /// Reads on from a position in `directory`, which need not be there yet.
    public init(_ directory: FilePath, from position: LinePosition) {
        self.init(directory, from: position, files: SystemFiles())
    }

    /// The same with no more than `window` octets of a file in memory, beside its longest line: where many follow at once.
    package init(_ directory: FilePath, from position: LinePosition, window: Int) {
        self.init(directory, from: position, files: SystemFiles(), window: window)
    }

    package init(
        _ directory: FilePath, from position: LinePosition, files: any FileSystemCalls,
        window: Int = SegmentReader.window
    ) {
        self.window = window
        self.directory = directory
        self.position = position
        self.files = files
    }

    /// Goes to another position: what is given next is the line after it.
    public mutating func move(to position: LinePosition) {
        reader = nil
        segment = nil
        rereadAfter = nil
        copyReadAfter = nil
        self.position = position
    }

    /// Looks whether the segment that is being read has been replaced, as `beacon-gateway erase` does, and if so reads on in
    /// what has taken its place, from the same line.
    ///
    /// `next` does so by itself with each read from the disk; what was read ahead before (256 KiB at most) it would still
    /// give. Who must not pass that on asks this before a round of lines.
    ///
    /// - Returns: whether it has been replaced; a line that was given and is still held may stand otherwise there.
    /// - Throws: `Errno` of stat(2) and open(2).
    @discardableResult
    public mutating func refresh() throws(Errno) -> Bool {
        guard let offset = reader?.offset else { return false }
        return try readAnew(at: offset)
    }

    /// Puts the next line, without its end, into `line`.
    ///
    /// - Parameters:
    ///   - line: takes the octets.
    ///   - limit: the greatest number that is given, such as the last that is durable.
    ///   - message: takes the line apart.
    /// - Returns: whether there was one. `ranging` and `evidence` have no number and are given too, as they stand.
    /// - Throws: `Errno` of what reads files. The position stays.
    public mutating func next(
        into line: inout [UInt8], upTo limit: Int, _ message: inout LineMessage
    ) throws(Errno) -> Bool {
        if failedPath != nil { failedPath = nil }
        while try openSegment() {
            guard let offset = reader?.offset else { return false }
            guard try reader?.next(into: &line) ?? false else {
                guard try goOn() else { return false }
                continue
            }
            if try readAnewWhereRead(at: offset) { continue }
            guard message.parse(line) else {
                damaged += 1
                continue
            }
            guard let sequence = message.sequence else {
                // It belongs to the numbered line before it, and is not wanted where that one is not.
                guard message.isPublished, isInPlace else { continue }
                note(line)
                return true
            }
            guard sequence > position.sequence else { continue }
            guard sequence <= limit else {
                // It may be written again until it is durable, and not with the same octets.
                reader?.seek(to: offset)
                return false
            }
            if sequence > position.sequence + 1, rereadAfter != position.sequence {
                // Lines are missing, or they were written anew where this one read before: once more from the beginning.
                rereadAfter = position.sequence
                rewind()
                continue
            }
            if sequence > position.sequence + 1, copyReadAfter != position.sequence, let copy = try copy() {
                copyReadAfter = position.sequence
                try open(copy, at: 0)
                isInPlace = false
                continue
            }
            if position.sequence > 0 { missed += sequence - position.sequence - 1 }
            position.sequence = sequence
            isInPlace = true
            note(line)
            return true
        }
        return false
    }

    /// The same error as one of the file that could not be read, or of the folder if that could not be listed.
    package func failure(_ error: Errno) -> EventLogError {
        let path = failedPath ?? segment.map { directory.appending($0.name) } ?? directory
        return .readFailed(path.string, error)
    }

    /// Whether the file that is being read still has its name; `true` if none is.
    ///
    /// - Throws: `Errno` of stat(2).
    package func hasFile() throws(Errno) -> Bool {
        guard let segment, let isStill = try reader?.isStill(directory.appending(segment.name)) else { return true }
        return isStill
    }

    private mutating func note(_ line: [UInt8]) {
        octets += line.count + 1
        position.segment = segment?.name ?? ""
        position.offset = reader?.offset ?? 0
    }

    /// Opens the segment that the next line stands in, where none is open.
    private mutating func openSegment() throws(Errno) -> Bool {
        if reader != nil { return true }
        for _ in 0..<Self.listingsMax {
            guard let (chosen, offset) = try nextSegment() else { return false }
            isInPlace = offset > 0 || position.sequence < chosen.begins
            if try openIfThere(chosen, at: offset) { return true }
        }
        throw .noSuchFileOrDirectory
    }

    /// The segment that the next line stands in, and where to read it from.
    private mutating func nextSegment() throws(Errno) -> (Segment, Int)? {
        let segments = try segments()
        guard let first = segments.first else { return nil }
        let next = segments.last { $0.begins <= position.sequence + 1 } ?? first
        // Of those that begin alike, one is a copy of the other as it was: neither is left out.
        var chosen = segments.first { $0.begins == next.begins } ?? next
        var offset = 0
        if let known = segments.first(where: { $0.name == position.segment }), known.begins <= position.sequence + 1 {
            chosen = known
            offset = position.offset
        }
        return (chosen, offset)
    }

    /// Opens a segment that was listed.
    ///
    /// - Returns: `false` if it was deleted since.
    private mutating func openIfThere(_ chosen: Segment, at offset: Int) throws(Errno) -> Bool {
        do throws(Errno) {
            try open(chosen, at: offset)
            return true
        } catch {
            guard error == .noSuchFileOrDirectory, try !segments().contains(where: { $0.name == chosen.name }) else {
                throw error
            }
            failedPath = nil
            return false
        }
    }

    private mutating func open(_ chosen: Segment, at offset: Int) throws(Errno) {
        let path = directory.appending(chosen.name)
        let opened: SegmentReader
        do throws(Errno) {
            opened = try SegmentReader(path, files: files, from: offset, window: window)
        } catch {
            failedPath = path
            throw error
        }
        // What is shorter than it was has been cut.
        let isCut = try opened.size() < offset
        reader = consume opened
        readsSeen = 0
        segment = chosen
        if isCut { rewind() }
    }

    /// Does what `readAnew` does where the segment was read from since it was last known to be the one of that name.
    private mutating func readAnewWhereRead(at offset: Int) throws(Errno) -> Bool {
        guard let reads = reader?.reads, reads != readsSeen else { return false }
        if try readAnew(at: offset) { return true }
        readsSeen = reads
        return false
    }

    /// Opens the segment again, at the line that begins at `offset`, where its name leads to another file than the one
    /// that is open. One that was deleted is read to its end.
    ///
    /// - Returns: whether it is another one.
    private mutating func readAnew(at offset: Int) throws(Errno) -> Bool {
        guard let segment, try reader?.isStill(directory.appending(segment.name)) == false else { return false }
        do throws(Errno) {
            try open(segment, at: offset)
        } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return false
        }
        return true
    }

    /// Another segment that begins with the same line as the one that is open.
    private mutating func copy() throws(Errno) -> Segment? {
        guard let segment else { return nil }
        return try segments().first { $0.begins == segment.begins && $0.name != segment.name }
    }

    private mutating func rewind() {
        reader?.seek(to: 0)
        isInPlace = false
    }

    /// At the end of a segment: whether there is more to read, in it or in a later one.
    private mutating func goOn() throws(Errno) -> Bool {
        guard let segment, let end = reader?.offset, let size = try reader?.size() else { return false }
        damaged += reader?.drainOverlong() ?? 0
        if try readAnewWhereRead(at: end) { return true }
        if size < end {
            rewind()
            return size > 0
        }
        let later = try segments().first { $0.name != segment.name && Segment.precedes(segment, $0) }
        guard let later else {
            reader?.resume()
            // What was written since it was read to its end; half a line is not to be read again and again.
            return try reader?.hasMore() ?? false
        }
        // It was closed before the later one was begun: to its end once more.
        reader?.resume()
        if try reader?.hasMore() ?? false { return true }
        _ = try openIfThere(later, at: 0)
        return true
    }

    private mutating func segments() throws(Errno) -> [Segment] {
        do throws(Errno) {
            return try list.read(directory, files)
        } catch {
            // A journal makes its folder with its first line.
            if error == .noSuchFileOrDirectory { return [] }
            failedPath = directory
            throw error
        }
    }
}
