import CommandSupport
import EventLog
import Glibc
import SystemPackage

/// The file with cached totals of closed event files, so that a start does not have to read a year of them. It is in
/// `serve.cache_directory`, if that is a folder that can be written to.
///
/// The file never changes a result. If it does not match, it is ignored, and all lines are read. That is the case if it
/// is damaged, of another version or of another folder, or if the included event files were rewritten or deleted, or
/// others were added before or among them. Later event files do not matter.
struct TotalsCache {
    /// The totals of all files before one file.
    struct Totals: ByteCoded {
        var state = Following.State()
        var dating = LineDating()
        /// The position of the first line that is not included, at the start of a file.
        var position = LinePosition(sequence: 0)
        var missed = 0
        var damaged = 0
        /// The number of files that are included.
        var files = 0

        static var blank: Totals { Totals() }

        mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
            try coder.code(&state.present)
            try coder.code(&state.counts)
            try coder.code(&dating)
            try coder.code(&position)
            try coder.code(&missed)
            try coder.code(&damaged)
            try coder.code(&files)
        }
    }

    /// The name of the file in its folder.
    static let name = "fold"
    /// The maximum size of the file, in bytes. Larger totals are not stored. They would need a site with 100,000 people
    /// present at the same time.
    static let bytesMax = 16 << 20
    private static let digestBytes = 8

    private let path: FilePath
    private let directory: FilePath
    // Another format, or another way to compute totals, must have another version.
    private let version: String

    /// Represents the cache file in `folder` for the event files in `directory`. The file is neither created nor read
    /// here.
    init(in folder: FilePath, of directory: FilePath, version: String = Program.version) {
        path = folder.appending(Self.name)
        self.directory = directory
        self.version = "beacon-gateway-serve fold 1, \(version)"
    }

    /// Returns the stored totals; `nil` if there are none, or if they do not match the event files.
    func read() -> Totals? {
        guard let bytes = (try? WholeFile.read(path, bytesMax: Self.bytesMax)) ?? nil,
            bytes.count > Self.digestBytes
        else { return nil }
        let end = bytes.count - Self.digestBytes
        guard Self.bytes(ByteCoder.digest(bytes[..<end])) == Array(bytes[end...]) else { return nil }
        var coder = ByteCoder(reading: Array(bytes[..<end]))
        var (version, directory, marks, totals) = ("", "", [SegmentMark](), Totals())
        do throws(ByteCoder.Damage) {
            try coder.code(&version)
            guard version == self.version else { return nil }
            try coder.code(&directory)
            try coder.code(&marks)
            try coder.code(&totals)
        } catch {
            return nil
        }
        guard coder.isAtEnd, directory == self.directory.string, totals.files == marks.count,
            let now = (try? SegmentMark.marks(before: totals.position.segment, in: self.directory)) ?? nil, now == marks
        else { return nil }
        return totals
    }

    /// Stores `totals`, which has the totals of the files with these `marks`. If this fails, the file is deleted.
    func write(_ totals: Totals, _ marks: [SegmentMark]) {
        var (coder, totals, marks) = (ByteCoder(), totals, marks)
        var (version, directory) = (version, directory.string)
        do throws(ByteCoder.Damage) {
            try coder.code(&version)
            try coder.code(&directory)
            try coder.code(&marks)
            try coder.code(&totals)
        } catch {
            return drop()
        }
        let bytes = coder.bytes + Self.bytes(ByteCoder.digest(coder.bytes[...]))
        guard bytes.count <= Self.bytesMax else { return drop() }
        let temporary = path.removingLastComponent().appending(".\(Self.name).new")
        do {
            // The file shows which beacons are and were present, so only its user can read it. It does not have to be
            // synchronized, because the digest detects an incomplete file.
            let file = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .truncate, .closeOnExec, .noFollow],
                permissions: .ownerReadWrite)
            _ = try file.closeAfter { try file.writeAll(bytes) }
            let renamed = unsafe temporary.withPlatformString { from in
                unsafe path.withPlatformString { unsafe Glibc.rename(from, $0) }
            }
            if renamed != 0 { throw Errno(rawValue: errno) }
        } catch {
            Self.remove(temporary)
            drop()
        }
    }

    /// Deletes the file.
    func drop() { Self.remove(path) }

    private static func remove(_ path: FilePath) { _ = unsafe path.withPlatformString { unsafe unlink($0) } }

    private static func bytes(_ digest: UInt64) -> [UInt8] {
        (0..<digestBytes).map { UInt8(truncatingIfNeeded: digest >> (8 * UInt64($0))) }
    }
}
