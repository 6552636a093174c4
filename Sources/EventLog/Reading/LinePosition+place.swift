import JSON
package import SystemPackage

extension LinePosition {
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
        var octets: [UInt8] = []
        let most = min(look, end - start)
        while octets.count < most {
            let count = try files.read(file, at: start + octets.count, count: most - octets.count, appendingTo: &octets)
            if count == 0 { break }
        }
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
