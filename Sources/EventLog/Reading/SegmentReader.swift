import CLinux
import Glibc
import JSON
import SystemPackage

/// Reads a segment line by line, in constant memory.
struct SegmentReader: ~Copyable {
    /// A longer line was not written by a gateway: a line about a condition has some hundred bytes, evidence some
    /// thousand.
    static let lineMax = 4 << 20
    /// The default number of bytes to read at a time.
    static let window = 256 << 10

    private let window: Int
    private let files: any FileSystemCalls
    private let file: FileSystemCalls.Handle
    private var buffer: [UInt8] = []
    private var begin = 0
    // How far the buffer has been searched for a line end or a word.
    private var searched = 0
    private var isAtEnd = false
    /// The offset of the next line in the file.
    private(set) var offset: Int
    /// The number of lines that were skipped because they were too long.
    private(set) var overlong = 0
    /// The number of reads from the file.
    private(set) var reads = 0

    /// Opens a file and reads from `offset`, `window` bytes at a time. The buffer has about this size plus the longest
    /// line.
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

    /// Returns the present size of the file (fstat(2)).
    ///
    /// - Throws: `Errno` of fstat(2).
    func size() throws(Errno) -> Int { try files.size(of: file) }

    /// Returns true if `path` still leads to the open file (stat(2), fstat(2)).
    ///
    /// - Throws: `Errno` of stat(2).
    func isStill(_ path: FilePath) throws(Errno) -> Bool { try files.leads(path, to: file) }

    /// Returns the number of lines that were too long since the last call.
    mutating func drainOverlong() -> Int {
        defer { overlong = 0 }
        return overlong
    }

    /// Returns true if the file has bytes that were not read. An incomplete last line in the buffer does not count.
    ///
    /// - Throws: `Errno` of fstat(2).
    func hasMore() throws(Errno) -> Bool { try size() > offset + buffer.count - begin }

    /// Allows further reads after the end of the file was reached.
    mutating func resume() { isAtEnd = false }

    /// Continues at `offset`, which must be the start of a line, and discards the buffer.
    mutating func seek(to offset: Int) {
        buffer.removeAll(keepingCapacity: true)
        begin = 0
        searched = 0
        isAtEnd = false
        self.offset = offset
    }

    /// Reads the next complete line into `line`, without its line end.
    ///
    /// - Returns: false if there is none. Bytes after the last line end are not a line.
    /// - Throws: `Errno` of pread(2).
    mutating func next(into line: inout [UInt8]) throws(Errno) -> Bool {
        try next { bytes in
            line.removeAll(keepingCapacity: true)
            line.append(bytes)
        }
    }

    /// Passes the next complete line to `body`, without its line end.
    ///
    /// - Returns: false if there is none. Bytes after the last line end are not a line.
    /// - Throws: `Errno` of pread(2).
    mutating func next(_ body: (Span<UInt8>) -> Void) throws(Errno) -> Bool {
        while true {
            if let end = firstEnd() {
                body(buffer.span.extracting(lineBegin(before: end)..<end))
                pass(end)
                return true
            }
            if isAtEnd { return false }
            try readMore()
        }
    }

    /// Reads the next complete line that contains a word into `line`. Other lines are skipped at the speed of
    /// memmem(3).
    ///
    /// - Returns: false if there is none.
    /// - Throws: `Errno` of pread(2).
    mutating func next(containing word: StaticString, into line: inout [UInt8]) throws(Errno) -> Bool {
        while true {
            // All complete lines in the buffer.
            if let last = lastEnd() {
                guard let place = first(word, before: last) else {
                    pass(last)
                    continue
                }
                while let end = firstEnd(), end < place { pass(end) }
                return try next(into: &line)
            }
            if isAtEnd { return false }
            try readMore()
        }
    }

    private mutating func pass(_ end: Int) {
        offset += end + 1 - begin
        begin = end + 1
        searched = begin
    }

    private mutating func readMore() throws(Errno) {
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
        // memchr(3) compares many bytes at a time. A loop would take most of the time of reading.
        let found: Int? = unsafe buffer.withUnsafeBytes { bytes in
            guard from < bytes.count, let start = bytes.baseAddress,
                let end = unsafe memchr(start + from, 0x0A, bytes.count - from)
            else { return nil }
            return unsafe UnsafeRawPointer(end) - start
        }
        if found == nil { searched = buffer.count }
        return found
    }

    /// Returns the start of the line that ends at `end`, after zero bytes that a damaged sector has left before it.
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
