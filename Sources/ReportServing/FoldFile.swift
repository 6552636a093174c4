import CommandSupport
import EventLog
import Glibc
import SystemPackage

/// The file in which the fold of event files that are over is kept, so that a start need not read a year of them: in
/// `serve.cache_directory`, where that is a folder that may be written to.
///
/// It is nothing but a shortcut. Whatever does not fit (another version's, damaged, of other files, of files that were
/// written anew, are gone or have come besides) counts for nothing, and all is read from the first line.
struct FoldFile {
    /// What the files up to one of them come to.
    struct Fold: Kept {
        var state = Following.State()
        var dating = LineDating()
        /// The first line that is not in it: at the beginning of a file.
        var position = LinePosition(sequence: 0)
        var missed = 0
        var damaged = 0
        /// How many files it is of.
        var files = 0

        static var blank: Fold { Fold() }

        mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
            try octets.pass(&state.present)
            try octets.pass(&state.counts)
            try octets.pass(&dating)
            try octets.pass(&position)
            try octets.pass(&missed)
            try octets.pass(&damaged)
            try octets.pass(&files)
        }
    }

    /// What it is called in its folder.
    static let name = "fold"
    /// More is not kept: it would be a site's with a hundred thousand people in it at once.
    static let octetsMax = 16 << 20
    private static let digestOctets = 8

    private let path: FilePath
    private let directory: FilePath
    // Another format, or another way to fold, is another version's.
    private let version: String

    /// The one in `folder` of the event files in `directory`.
    init(in folder: FilePath, of directory: FilePath, version: String = Program.version) {
        path = folder.appending(Self.name)
        self.directory = directory
        self.version = "beacon-gateway-serve fold 1, \(version)"
    }

    /// What is kept; `nil` where nothing is, or what is does not fit the files.
    func read() -> Fold? {
        guard let octets = (try? WholeFile.read(path, octetsMax: Self.octetsMax)) ?? nil,
            octets.count > Self.digestOctets
        else { return nil }
        let end = octets.count - Self.digestOctets
        guard Self.octets(KeptOctets.digest(octets[..<end])) == Array(octets[end...]) else { return nil }
        var kept = KeptOctets(reading: Array(octets[..<end]))
        var (version, directory, marks, fold) = ("", "", [SegmentMark](), Fold())
        do throws(KeptOctets.Damage) {
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

    /// Keeps `fold`, which is of the files that `marks` are of; where that can't be, nothing is kept.
    func write(_ fold: Fold, _ marks: [SegmentMark]) {
        var (kept, fold, marks) = (KeptOctets(), fold, marks)
        var (version, directory) = (version, directory.string)
        do throws(KeptOctets.Damage) {
            try kept.pass(&version)
            try kept.pass(&directory)
            try kept.pass(&marks)
            try kept.pass(&fold)
        } catch {
            return drop()
        }
        let octets = kept.octets + Self.octets(KeptOctets.digest(kept.octets[...]))
        guard octets.count <= Self.octetsMax else { return drop() }
        let temporary = path.removingLastComponent().appending(".\(Self.name).new")
        do {
            // Who was here is nobody else's. It need not be on the disk: half of it is known by the digest.
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

    /// Keeps nothing any more.
    func drop() { Self.remove(path) }

    private static func remove(_ path: FilePath) { _ = unsafe path.withPlatformString { unsafe unlink($0) } }

    private static func octets(_ digest: UInt64) -> [UInt8] {
        (0..<digestOctets).map { UInt8(truncatingIfNeeded: digest >> (8 * UInt64($0))) }
    }
}
