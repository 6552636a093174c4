import JSON
import SystemPackage

/// Detects lines that are in the files twice, for example because a segment was copied within its folder.
///
/// A start gives each number once, in increasing order. So a line whose number is not above the highest one so far can
/// be a copy of an earlier line. It can also be a different line, because files can be swapped and numbers damaged.
/// Therefore the content is compared by hashes: the file that contains the number is read again, and the hashes of its
/// lines are kept for the next comparison.
struct RepeatedLines {
    /// Numbers that increase from line to line in one file.
    private struct Run {
        var file: Int
        var numbers: ClosedRange<Int>
    }

    /// The hashes of the lines of a file, each with the end of the first line that has it.
    private struct Index {
        var file: Int
        var ends: [Int: Int]
    }

    // A segment has one run for each start that wrote to it. Above this limit, copies are passed twice.
    private static let runsMax = 10_000
    // A damaged number can cause a search in a wrong file. A folder that needs more of these searches was not written
    // by a gateway.
    private static let indicesMax = 4

    private let paths: [FilePath]
    private let files: any FileSystemCalls
    private var runs: [String: [Run]] = [:]
    private var count = 0
    // The runs of the start that was read last, and their highest number.
    private var boot = ""
    private var current: [Run] = []
    private var greatest = 0
    private var indices: [Index] = []

    /// Creates a detector for the files at `paths`.
    init(_ paths: [FilePath], _ files: any FileSystemCalls) {
        self.paths = paths
        self.files = files
    }

    /// Searches for the line in the parser among the lines that were read.
    ///
    /// - Parameters:
    ///   - parser: has parsed the line.
    ///   - boot: the boot ID of the line. Lines of a replay have none, and can be repeated for a good reason.
    ///   - file: the index of its file in the paths.
    ///   - end: the offset of its end in the file.
    /// - Returns: true if the line has been read before.
    /// - Throws: `Errno` if a file cannot be read again.
    mutating func contain(
        _ parser: borrowing LineParser, boot: String, file: Int, end: Int
    ) throws(Errno) -> Bool {
        guard let number = parser.head.sequence, !boot.isEmpty else { return false }
        if boot != self.boot { change(to: boot) }
        if number <= greatest {
            let digest = Self.digest(parser.text.bytes)
            for run in current where run.numbers.contains(number) {
                if let first = try index(run.file).ends[digest], run.file != file || first < end { return true }
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
            let digest = Self.digest(parser.text.bytes)
            if made.ends[digest] == nil { made.ends[digest] = reader.offset }
        }
        if indices.count == Self.indicesMax { indices.removeFirst() }
        indices.append(made)
        return made
    }

    private static func digest(_ bytes: [UInt8]) -> Int {
        var hasher = Hasher()
        unsafe bytes.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
        return hasher.finalize()
    }
}
