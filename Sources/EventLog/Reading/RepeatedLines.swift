import JSON
import SystemPackage

/// Tells the lines that stand in the files twice, as a segment does that was copied within its folder.
///
/// A start gives its numbers upwards, each once. So a line whose number is no greater than the greatest so far may be the
/// copy of one that was read; it may also be another, since files can be swapped and numbers damaged. What decides are its
/// octets: the file in which its number was met is looked through again, and remembered for the next line.
struct RepeatedLines {
    /// Numbers that rose from line to line in one file.
    private struct Run {
        var file: Int
        var numbers: ClosedRange<Int>
    }

    /// The lines of a file by what their octets come to, with where the first of them ends.
    private struct Index {
        var file: Int
        var ends: [Int: Int]
    }

    // A segment is one run for each start that wrote in it. The copies of what is beyond are told twice.
    private static let runsMax = 10_000
    // A damaged number may have a line looked for in another file than its own; more than some are none of ours.
    private static let indicesMax = 4

    private let paths: [FilePath]
    private let files: any FileSystemCalls
    private var runs: [String: [Run]] = [:]
    private var count = 0
    // Those of the start that was read last, and their greatest number.
    private var boot = ""
    private var current: [Run] = []
    private var greatest = 0
    private var indices: [Index] = []

    /// None was read yet of the files at `paths`.
    init(_ paths: [FilePath], _ files: any FileSystemCalls) {
        self.paths = paths
        self.files = files
    }

    /// Looks for the line in the parser among those that were read.
    ///
    /// - Parameters:
    ///   - parser: has parsed it.
    ///   - boot: the start that it was written in; a replay's lines have none, and may be told twice for good reason.
    ///   - file: the place of its file among the paths.
    ///   - end: where it ends in there.
    /// - Returns: whether it has been read before.
    /// - Throws: `Errno` of what reads a file again.
    mutating func contain(
        _ parser: borrowing LineParser, boot: String, file: Int, end: Int
    ) throws(Errno) -> Bool {
        guard let number = parser.head.sequence, !boot.isEmpty else { return false }
        if boot != self.boot { change(to: boot) }
        if number <= greatest {
            let octets = Self.digest(parser.text.bytes)
            for run in current where run.numbers.contains(number) {
                if let first = try index(run.file).ends[octets], run.file != file || first < end { return true }
            }
        }
        note(number, file)
        return false
    }

    private mutating func change(to boot: String) {
        if !self.boot.isEmpty { runs[self.boot] = current }
        self.boot = boot
        current = runs.removeValue(forKey: boot) ?? []
        greatest = current.map(\.numbers.upperBound).max() ?? 0
    }

    private mutating func note(_ number: Int, _ file: Int) {
        greatest = max(greatest, number)
        if let last = current.indices.last, current[last].file == file, current[last].numbers.upperBound < number {
            current[last].numbers = current[last].numbers.lowerBound...number
        } else if count < Self.runsMax {
            count += 1
            current.append(Run(file: file, numbers: number...number))
        }
    }

    private mutating func index(_ file: Int) throws(Errno) -> Index {
        if let known = indices.first(where: { $0.file == file }) { return known }
        var made = Index(file: file, ends: [:])
        var reader = try SegmentReader(paths[file], files: files)
        var parser = LineParser()
        while try reader.next(into: &parser.text.bytes) {
            guard parser.parse(), parser.head.sequence != nil else { continue }
            let octets = Self.digest(parser.text.bytes)
            if made.ends[octets] == nil { made.ends[octets] = reader.offset }
        }
        if indices.count == Self.indicesMax { indices.removeFirst() }
        indices.append(made)
        return made
    }

    private static func digest(_ octets: [UInt8]) -> Int {
        var hasher = Hasher()
        unsafe octets.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
        return hasher.finalize()
    }
}
