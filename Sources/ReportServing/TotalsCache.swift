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

        mutating func pass(_ octets: inout ByteCoder) throws(ByteCoder.Damage) {
            try octets.pass(&state.present)
            try octets.pass(&state.counts)
            try octets.pass(&dating)
            try octets.pass(&position)
            try octets.pass(&missed)
            try octets.pass(&damaged)
            try octets.pass(&files)
        }
    }

    /// The name of the file in its folder.
    static let name = "fold"
    /// The maximum size of the file, in bytes. Larger totals are not stored. They would need a site with 100,000 people
    /// present at the same time.
    static let octetsMax = 16 << 20
    private static let digestOctets = 8

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
        guard let octets = (try? WholeFile.read(path, octetsMax: Self.octetsMax)) ?? nil,
            octets.count > Self.digestOctets
        else { return nil }
        let end = octets.count - Self.digestOctets
        guard Self.octets(ByteCoder.digest(octets[..<end])) == Array(octets[end...]) else { return nil }
        var kept = ByteCoder(reading: Array(octets[..<end]))
        var (version, directory, marks, fold) = ("", "", [SegmentMark](), Totals())
        do throws(ByteCoder.Damage) {
            try kept.pass(&version)
            guard version == self.version else { return nil }
            try kept.pass(&directory)
            try kept.pass(&marks)
            try kept.pass(&fold)
        } catch {
            return nil
        }
        guard kept.isAtEnd, directory == self.directory.string, fold.files == marks.count,
            let now = (try? SegmentMark.marks(before: fold.position.segment, in: self.directory)) ?? nil, now == marks
        else { return nil }
        return fold
    }

    /// Stores `fold`, which has the totals of the files with these `marks`. If this fails, the file is deleted.
    func write(_ fold: Totals, _ marks: [SegmentMark]) {
        var (kept, fold, marks) = (ByteCoder(), fold, marks)
        var (version, directory) = (version, directory.string)
        do throws(ByteCoder.Damage) {
            try kept.pass(&version)
            try kept.pass(&directory)
            try kept.pass(&marks)
            try kept.pass(&fold)
        } catch {
            return drop()
        }
        let octets = kept.octets + Self.octets(ByteCoder.digest(kept.octets[...]))
        guard octets.count <= Self.octetsMax else { return drop() }
        let temporary = path.removingLastComponent().appending(".\(Self.name).new")
        do {
            // The file shows which beacons are and were present, so only its user can read it. It does not have to be
            // synchronized, because the digest detects an incomplete file.
            let file = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .truncate, .closeOnExec, .noFollow],
                permissions: .ownerReadWrite)
            _ = try file.closeAfter { try file.writeAll(octets) }
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

    private static func octets(_ digest: UInt64) -> [UInt8] {
        (0..<digestOctets).map { UInt8(truncatingIfNeeded: digest >> (8 * UInt64($0))) }
    }
}
