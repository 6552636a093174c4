import CLinux
import Glibc
import JSON
import SystemPackage

/// Reads a segment line by line, in constant memory.
struct SegmentReader: ~Copyable {
    /// A line longer than this is none of ours: a condition's has some hundred octets, evidence some thousand.
    static let lineMax = 4 << 20
    /// How many octets are read at once, where nobody asks for less.
    static let window = 256 << 10

    private let window: Int
    private let files: any FileSystemCalls
    private let file: FileSystemCalls.Handle
    private var buffer: [UInt8] = []
    private var begin = 0
    // How far the buffer has been searched for an end of line, or for a word.
    private var searched = 0
    private var isAtEnd = false
    /// Where the next line begins in the file.
    private(set) var offset: Int
    /// Lines that were passed over because they were too long.
    private(set) var overlong = 0
    /// How often the file was read from.
    private(set) var reads = 0

    /// Reads from `offset` on, `window` octets at once: so many stay in memory.
    ///
    /// - Throws: `Errno` of open(2).
    init(
        _ path: FilePath, files: any FileSystemCalls, from offset: Int = 0, window: Int = SegmentReader.window
    ) throws(Errno) {
        self.files = files
        self.window = window
        self.offset = offset
        file = try files.openForReading(path)
    }

    deinit { files.close(file) }

    /// How long the file is now (fstat(2)).
    ///
    /// - Throws: `Errno` of fstat(2).
    func size() throws(Errno) -> Int { try files.size(of: file) }

    /// Whether `path` still leads to the file that is open (stat(2), fstat(2)).
    ///
    /// - Throws: `Errno` of stat(2).
    func isStill(_ path: FilePath) throws(Errno) -> Bool { try files.leads(path, to: file) }

    /// How many lines were too long since this was asked last.
    mutating func drainOverlong() -> Int {
        defer { overlong = 0 }
        return overlong
    }

    /// Whether the file holds octets that have not been read, and what has been read is not a part of a line alone.
    ///
    /// - Throws: `Errno` of fstat(2).
    func hasMore() throws(Errno) -> Bool { try size() > offset + buffer.count - begin }

    /// Looks again behind what was the end.
    mutating func resume() { isAtEnd = false }

    /// Goes on from `offset`, where a line begins, and forgets what was read beyond it.
    mutating func seek(to offset: Int) {
        buffer.removeAll(keepingCapacity: true)
        begin = 0
        searched = 0
        isAtEnd = false
        self.offset = offset
    }

    /// Puts the next whole line, without its end, into `line`.
    ///
    /// - Returns: whether there was one; what follows the last end of line is none.
    /// - Throws: `Errno` of pread(2).
    mutating func next(into line: inout [UInt8]) throws(Errno) -> Bool {
        try next { octets in
            line.removeAll(keepingCapacity: true)
            line.append(octets)
        }
    }

    /// Shows the next whole line, without its end, to `body`.
    ///
    /// - Returns: whether there was one; what follows the last end of line is none.
    /// - Throws: `Errno` of pread(2).
    mutating func next(_ body: (Span<UInt8>) -> Void) throws(Errno) -> Bool {
        while true {
            if let end = firstEnd() {
                body(buffer.span.extracting(lineBegin(before: end)..<end))
                pass(end)
                return true
            }
            if isAtEnd { return false }
            try goOn()
        }
    }

    /// Puts the next whole line that contains a word into `line`, and passes over those that don't, at the speed of
    /// memmem(3).
    ///
    /// - Returns: whether there was one.
    /// - Throws: `Errno` of pread(2).
    mutating func next(containing word: StaticString, into line: inout [UInt8]) throws(Errno) -> Bool {
        while true {
            // All that is here up to the last end of line.
            if let last = lastEnd() {
                guard let place = first(word, before: last) else {
                    pass(last)
                    continue
                }
                while let end = firstEnd(), end < place { pass(end) }
                return try next(into: &line)
            }
            if isAtEnd { return false }
            try goOn()
        }
    }

    private mutating func pass(_ end: Int) {
        offset += end + 1 - begin
        begin = end + 1
        searched = begin
    }

    private mutating func goOn() throws(Errno) {
        if begin > 0 {
            buffer.removeFirst(begin)
            searched -= begin
            begin = 0
        }
        if buffer.count <= Self.lineMax { try fill() } else { try skipLine() }
    }

    private mutating func fill() throws(Errno) {
        let place = offset + buffer.count - begin
        reads += 1
        isAtEnd = try files.read(file, at: place, count: window, appendingTo: &buffer) == 0
    }

    private mutating func skipLine() throws(Errno) {
        overlong += 1
        while true {
            offset += buffer.count
            buffer.removeAll(keepingCapacity: true)
            begin = 0
            searched = 0
            try fill()
            if let end = firstEnd() {
                offset += end + 1
                begin = end + 1
                searched = begin
                return
            }
            if isAtEnd { return }
        }
    }

    private mutating func firstEnd() -> Int? {
        let from = searched
        // memchr(3) looks at many octets at once; most of the time that reading takes would go into this otherwise.
        let found: Int? = unsafe buffer.withUnsafeBytes { bytes in
            guard from < bytes.count, let start = bytes.baseAddress,
                let end = unsafe memchr(start + from, 0x0A, bytes.count - from)
            else { return nil }
            return unsafe UnsafeRawPointer(end) - start
        }
        if found == nil { searched = buffer.count }
        return found
    }

    /// Where a line begins that ends at `end`: behind the zeros that a damaged sector left before it.
    private func lineBegin(before end: Int) -> Int {
        unsafe buffer.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let zero = unsafe memrchr(start + begin, 0, end - begin) else {
                return begin
            }
            return unsafe UnsafeRawPointer(zero) - start + 1
        }
    }

    private func lastEnd() -> Int? {
        unsafe buffer.withUnsafeBytes { bytes in
            guard begin < bytes.count, let start = bytes.baseAddress,
                let end = unsafe memrchr(start + begin, 0x0A, bytes.count - begin)
            else { return nil }
            return unsafe UnsafeRawPointer(end) - start
        }
    }

    private func first(_ word: StaticString, before end: Int) -> Int? {
        unsafe buffer.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress,
                let place = unsafe memmem(start + begin, end - begin, word.utf8Start, word.utf8CodeUnitCount)
            else { return nil }
            return unsafe UnsafeRawPointer(place) - start
        }
    }
}
