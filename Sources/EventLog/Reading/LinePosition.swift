import JSON
package import SystemPackage

/// A position in the event files: the number of the last line, and the place of the next one.
///
/// Only the number decides. The place avoids a search, and is found again if it is wrong: files are truncated after a
/// crash, and deleted when they are old.
public struct LinePosition: Sendable, Hashable {
    /// The highest number of a line: 2⁵³ − 1. Many JSON readers round higher numbers (RFC 8259 §6).
    ///
    /// At a thousand lines per second, it is reached after 285,000 years.
    public static let sequenceMax = 9_007_199_254_740_991

    /// The number of the last line that was handled; 0 if there is none.
    public var sequence: Int
    /// The name of the segment with the next line; empty if it is not known.
    public var segment: String
    /// The offset of the next line in that segment, in bytes.
    public var offset: Int

    /// Creates a position. The number is sufficient.
    public init(sequence: Int, segment: String = "", offset: Int = 0) {
        self.sequence = min(max(sequence, 0), Self.sequenceMax)
        self.segment = segment
        self.offset = max(offset, 0)
    }

    // MARK: Places in files

    // The binary search ends at this distance. The rest is read line by line.
    private static let near = 64 << 10
    // A numbered line is searched in this many bytes after a place. Evidence takes some thousand bytes, and ranging
    // lines have no number.
    private static let look = 256 << 10

    /// Returns the same position with the place of a line at or before it. It is found by binary search, because the
    /// numbers in a segment increase. So a reader skips a few lines, not a segment of a hundred thousand.
    ///
    /// Use it for numbered lines: lines without a number in between are returned too. If the numbers are not in order,
    /// the place can be wrong, which the follower detects.
    ///
    /// - Parameters:
    ///   - directory: the folder of the event files.
    ///   - files: the file system.
    /// - Returns: the position with the place; the unchanged position if there is no event file or it cannot be read.
    package func placed(in directory: FilePath, files: any FileSystemCalls = SystemFiles()) -> LinePosition {
        (try? found(in: directory, files)) ?? self
    }

    private func found(in directory: FilePath, _ files: any FileSystemCalls) throws(Errno) -> LinePosition? {
        var list = SegmentList()
        let segments = try list.read(directory, files)
        guard let begins = segments.last(where: { $0.begins <= sequence + 1 })?.begins,
            let segment = segments.first(where: { $0.begins == begins })
        else { return nil }
        let file = try files.openForReading(directory.appending(segment.name))
        defer { files.close(file) }
        var (low, high) = (0, try files.size(of: file))
        while high - low > Self.near {
            let middle = low + (high - low) / 2
            if let line = try Self.numberedLine(behind: middle, before: high, of: file, files), line.number <= sequence
            {
                low = line.offset
            } else {
                high = middle
            }
        }
        return LinePosition(sequence: sequence, segment: segment.name, offset: low)
    }

    /// Returns the first numbered line that starts after `start`; `nil` if there is none before `end`, or none near.
    private static func numberedLine(
        behind start: Int, before end: Int, of file: FileSystemCalls.Handle, _ files: any FileSystemCalls
    ) throws(Errno) -> (number: Int, offset: Int)? {
        let bytes = try files.readAll(file, at: start, count: min(look, end - start))
        guard var begin = bytes.firstIndex(of: 0x0A).map({ $0 + 1 }) else { return nil }
        var parser = LineParser()
        while let lineEnd = bytes[begin...].firstIndex(of: 0x0A) {
            parser.text.bytes = Array(bytes[begin..<lineEnd])
            if parser.parse(), let number = parser.head.sequence { return (number, start + begin) }
            begin = lineEnd + 1
        }
        return nil
    }
}
