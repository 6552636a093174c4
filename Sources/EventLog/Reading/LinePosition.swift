import JSON
package import SystemPackage

/// How far somebody has come in the event files: the number of the last line, and where the next one should begin.
///
/// Only the number counts. The place spares looking for it, and is found out anew where it is no longer right: files are
/// cut after a crash, and deleted when they are old.
public struct LinePosition: Sendable, Hashable {
    /// The greatest number that a line can have: 2⁵³ − 1. Beyond it many readers of JSON round (RFC 8259 §6).
    ///
    /// A gateway that writes a thousand lines a second comes to it after 285,000 years.
    public static let sequenceMax = 9_007_199_254_740_991

    /// The number of the last line that somebody is done with; 0: none.
    public var sequence: Int
    /// The name of the segment that the next line should stand in; empty where that is not known.
    public var segment: String
    /// Where the next line should begin in that segment, in octets.
    public var offset: Int

    /// Makes a position; by its number alone unless more is known.
    public init(sequence: Int, segment: String = "", offset: Int = 0) {
        self.sequence = min(max(sequence, 0), Self.sequenceMax)
        self.segment = segment
        self.offset = max(offset, 0)
    }

    // MARK: Places in files

    // Between two looks at least so much lies; the rest is read line by line.
    private static let near = 64 << 10
    // A numbered line is looked for in so many octets behind a place: evidence has some thousand, and ranging lines none.
    private static let look = 256 << 10

    /// The same with the place of a line at or before it, found by halves, since the numbers of a segment ascend: whoever
    /// reads on from there reads some lines, and not a segment of a hundred thousand.
    ///
    /// For who wants numbered lines: those without a number that lie between are given too. Where the numbers do not ascend
    /// as they should, the place is a wrong one, which whoever follows notices.
    /// - Parameters:
    ///   - directory: the folder of the event files.
    ///   - files: how they are read.
    /// - Returns: the position; by its number alone where nothing can be read.
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

    /// The first line that begins behind `start` and has a number; absent where none does before `end`, or not near.
    private static func numberedLine(
        behind start: Int, before end: Int, of file: FileSystemCalls.Handle, _ files: any FileSystemCalls
    ) throws(Errno) -> (number: Int, offset: Int)? {
        let octets = try files.readAll(file, at: start, count: min(look, end - start))
        guard var begin = octets.firstIndex(of: 0x0A).map({ $0 + 1 }) else { return nil }
        var parser = LineParser()
        while let lineEnd = octets[begin...].firstIndex(of: 0x0A) {
            parser.text.bytes = Array(octets[begin..<lineEnd])
            if parser.parse(), let number = parser.head.sequence { return (number, start + begin) }
            begin = lineEnd + 1
        }
        return nil
    }
}
