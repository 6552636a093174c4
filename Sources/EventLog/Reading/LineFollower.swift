public import SystemPackage

/// Reads the lines of a folder of event files as they are written, in order, each number once, in constant memory.
///
///     var follower = LineFollower(directory, from: LinePosition(sequence: 0))
///     var message = LineMessage(prefix: "beacons")
///     var line: [UInt8] = []
///     while try follower.next(into: &line, upTo: .max, &message) {
///         if message.isPublished { publish(message.topic.dropLast(), line[message.payload]) }
///     }
///
/// It implements the section “Following the files” of docs/journal.md. It never waits: if there is no line, the caller
/// must ask again later.
public struct LineFollower: ~Copyable {
    /// The count of numbers without a line: the lines were dropped, or deleted before they were read.
    public private(set) var missed = 0
    /// The number of lines that could not be parsed or were too long.
    public private(set) var damaged = 0
    /// The last line that was returned, and the place of the next one.
    public private(set) var position: LinePosition
    /// The number of bytes that were read.
    public private(set) var bytesRead = 0

    private var list = SegmentList()
    private let directory: FilePath
    private let files: any FileSystemCalls
    private let window: Int
    private var segment: Segment?
    private var reader: SegmentReader?
    // Whether the next line follows the position directly. Then lines without a number are returned too.
    private var isInPlace = false
    // The line after which the segment was read again from its start. If the gap is still there afterwards, it is real.
    private var rereadAfter: Int?
    // The number of reads when the name of the segment was last checked.
    private var readsSeen = 0
    // The line after which a copy of the segment was read. A line that is damaged in one file can be complete in the
    // other.
    private var copyReadAfter: Int?
    // The file or folder that could not be opened in the last call.
    private var failedPath: FilePath?
    // Each further listing means that a segment was deleted since the last one.
    private static let listingsMax = 100

    /// Creates a follower that starts at a position in `directory`. The folder can be created later.
    public init(_ directory: FilePath, from position: LinePosition) {
        self.init(directory, from: position, files: SystemFiles())
    }

    /// Creates a follower with a buffer of `window` bytes plus the longest line, for programs with many followers.
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

    /// Moves to another position. The next line is the one after it.
    public mutating func move(to position: LinePosition) {
        reader = nil
        segment = nil
        rereadAfter = nil
        copyReadAfter = nil
        self.position = position
    }

    /// Checks whether the open segment was replaced, as `beacon-gateway erase` does. If so, continues in the new file
    /// at the same line.
    ///
    /// `next` makes this check at each read from the disk, but first returns lines that it has buffered (256 KiB at
    /// most). A caller that must not pass on erased lines must call this before it reads more.
    ///
    /// - Returns: true if it was replaced. Then a line that the caller holds can be different in the new file.
    /// - Throws: `Errno` of stat(2) and open(2).
    @discardableResult
    public mutating func refresh() throws(Errno) -> Bool {
        guard let offset = reader?.offset else { return false }
        return try reopen(at: offset)
    }

    /// Reads the next line into `line`, without its line end.
    ///
    /// - Parameters:
    ///   - line: receives the bytes.
    ///   - limit: the highest number to return, for example the last durable line.
    ///   - message: receives the parsed line.
    /// - Returns: false if there is no further line, or if its number is above `limit`. `ranging` lines have no number
    ///   and are returned too; `evidence` lines are skipped. Numbered lines that are not published, such as `erased`
    ///   lines, are returned: check ``LineMessage/isPublished``.
    /// - Throws: `Errno` if a file cannot be read. The position stays the same.
    public mutating func next(
        into line: inout [UInt8], upTo limit: Int, _ message: inout LineMessage
    ) throws(Errno) -> Bool {
        if failedPath != nil { failedPath = nil }
        while try openSegment() {
            guard let offset = reader?.offset else { return false }
            guard try reader?.next(into: &line) ?? false else {
                guard try continueAfterEnd() else { return false }
                continue
            }
            if try reopenIfRead(at: offset) { continue }
            guard message.parse(line) else {
                damaged += 1
                continue
            }
            guard let sequence = message.sequence else {
                // It belongs to the numbered line before it, and is skipped if that one is skipped.
                guard message.isPublished, isInPlace else { continue }
                note(line)
                return true
            }
            guard sequence > position.sequence else { continue }
            guard sequence <= limit else {
                // Until it is durable it can be written again, with other bytes.
                reader?.seek(to: offset)
                return false
            }
            if sequence > position.sequence + 1, rereadAfter != position.sequence {
                // Lines are missing, or the file was rewritten at the place of the last read. Read it again from its
                // start.
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

    /// Converts an error to one that names the file that could not be read, or the folder if it could not be listed.
    package func failure(_ error: Errno) -> EventLogError {
        let path = failedPath ?? segment.map { directory.appending($0.name) } ?? directory
        return .readFailed(path.string, error)
    }

    /// Returns true if the open file still has its name, or if no file is open.
    ///
    /// - Throws: `Errno` of stat(2).
    package func hasFile() throws(Errno) -> Bool {
        guard let segment, let isStill = try reader?.isStill(directory.appending(segment.name)) else { return true }
        return isStill
    }

    private mutating func note(_ line: [UInt8]) {
        bytesRead += line.count + 1
        position.segment = segment?.name ?? ""
        position.offset = reader?.offset ?? 0
    }

    /// Opens the segment that contains the next line, if none is open.
    private mutating func openSegment() throws(Errno) -> Bool {
        if reader != nil { return true }
        for _ in 0..<Self.listingsMax {
            guard let (chosen, offset) = try nextSegment() else { return false }
            isInPlace = offset > 0 || position.sequence < chosen.begins
            if try openIfThere(chosen, at: offset) { return true }
        }
        throw .noSuchFileOrDirectory
    }

    /// Returns the segment that contains the next line, and the offset to read from.
    private mutating func nextSegment() throws(Errno) -> (Segment, Int)? {
        let segments = try segments()
        guard let first = segments.first else { return nil }
        let next = segments.last { $0.begins <= position.sequence + 1 } ?? first
        // If two segments start with the same line, one is an earlier copy of the other, and both must be read.
        var chosen = segments.first { $0.begins == next.begins } ?? next
        var offset = 0
        if let known = segments.first(where: { $0.name == position.segment }), known.begins <= position.sequence + 1 {
            chosen = known
            offset = position.offset
        }
        return (chosen, offset)
    }

    /// Opens a listed segment.
    ///
    /// - Returns: false if it was deleted since.
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
        // A file shorter than the offset was truncated.
        let isCut = try opened.size() < offset
        reader = consume opened
        readsSeen = 0
        segment = chosen
        if isCut { rewind() }
    }

    /// Calls `reopen` if the segment was read since its name was last checked.
    private mutating func reopenIfRead(at offset: Int) throws(Errno) -> Bool {
        guard let reads = reader?.reads, reads != readsSeen else { return false }
        if try reopen(at: offset) { return true }
        readsSeen = reads
        return false
    }

    /// Opens the segment again, at the line that starts at `offset`, if its name leads to another file than the open
    /// one. A segment that was deleted is read to its end.
    ///
    /// - Returns: true if it is another file.
    private mutating func reopen(at offset: Int) throws(Errno) -> Bool {
        guard let segment, try reader?.isStill(directory.appending(segment.name)) == false else { return false }
        do throws(Errno) {
            try open(segment, at: offset)
        } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return false
        }
        return true
    }

    /// Returns another segment that starts with the same line as the open one.
    private mutating func copy() throws(Errno) -> Segment? {
        guard let segment else { return nil }
        return try segments().first { $0.begins == segment.begins && $0.name != segment.name }
    }

    private mutating func rewind() {
        reader?.seek(to: 0)
        isInPlace = false
    }

    /// At the end of a segment: returns true if there is more to read, in it or in a later one.
    private mutating func continueAfterEnd() throws(Errno) -> Bool {
        guard let segment, let end = reader?.offset, let size = try reader?.size() else { return false }
        damaged += reader?.drainOverlong() ?? 0
        if try reopenIfRead(at: end) { return true }
        if size < end {
            rewind()
            return size > 0
        }
        let later = try segments().first { $0.name != segment.name && Segment.precedes(segment, $0) }
        guard let later else {
            reader?.resume()
            // Lines written since the end was reached. An incomplete line must not be read again and again.
            return try reader?.hasMore() ?? false
        }
        // It was closed before the later one was started, so it must be read to its end once more.
        reader?.resume()
        if try reader?.hasMore() ?? false { return true }
        _ = try openIfThere(later, at: 0)
        return true
    }

    private mutating func segments() throws(Errno) -> [Segment] {
        do throws(Errno) {
            return try list.read(directory, files)
        } catch {
            // A journal creates its folder with its first line.
            if error == .noSuchFileOrDirectory { return [] }
            failedPath = directory
            throw error
        }
    }
}
