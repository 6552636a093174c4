import JSON
import SystemPackage

/// The event files of a folder in the order of their lines, whatever their names are.
///
/// The name of a segment has the number of its first line. The first line is checked, because copied and renamed files
/// can differ. Each file is checked once.
struct SegmentList {
    // The line of a condition has some hundred bytes, a line of evidence some thousand.
    private static let windows = [4 << 10, 60 << 10]

    /// The numbers of first lines, by file name.
    private var begins: [String: Int] = [:]

    /// Returns the current event files.
    ///
    /// - Throws: `Errno` of reading the folder.
    mutating func read(_ directory: FilePath, _ files: any FileSystemCalls) throws(Errno) -> [Segment] {
        var segments = try files.names(in: directory).compactMap { Segment(name: $0) }
        var known: [String: Int] = [:]
        for index in segments.indices {
            let name = segments[index].name
            // Errors of reading are reported when the file is read. An empty file has no line yet.
            guard let first = begins[name] ?? Self.firstNumber(in: directory.appending(name), files) else { continue }
            known[name] = first
            segments[index].begins = first
        }
        begins = known
        segments.sort(by: Segment.precedes)
        return segments
    }

    /// Returns the number of the first complete line with a number.
    private static func firstNumber(in path: FilePath, _ files: any FileSystemCalls) -> Int? {
        guard let file = try? files.openForReading(path) else { return nil }
        defer { files.close(file) }
        var (bytes, parser): ([UInt8], LineParser) = ([], LineParser())
        for window in windows {
            guard let count = try? files.read(file, at: bytes.count, count: window, appendingTo: &bytes), count > 0
            else { return nil }
            var rest = bytes[...]
            while let end = rest.firstIndex(of: 0x0A) {
                let line = rest[..<end]
                parser.text.bytes = Array(line[(line.lastIndex(of: 0).map { $0 + 1 } ?? line.startIndex)...])
                if parser.parse(), let number = parser.head.sequence { return number }
                rest = rest[(end + 1)...]
            }
        }
        return nil
    }
}
