public import BaseTypes
public import BeaconMonitoring
import Glibc
import SystemPackage

/// A point of a GPX file.
public struct GPXPoint: Sendable, Hashable {
    /// What a position is good to in metres (68 %) where nothing says more.
    ///
    /// The Global Positioning System Standard Positioning Service Performance Standard (5th edition, 2020, §3.8) holds
    /// horizontal errors to 8 m at 95 %, which for circularly distributed ones is 4.9 m at 68 %. Files that say `hdop` get it
    /// times that.
    public static let accuracyUnlessSaid = 5.0

    /// Where.
    public var coordinate: Coordinate
    /// When, on the timeline of replays (nanoseconds since 1970); absent where the file does not say.
    public var time: Instant?
    /// Whether the file has a time for it that cannot be used: it does not exist, or is not within 1970…2100.
    public var isTimeInvalid = false
    /// Metres above mean sea level (`ele`); absent where the file does not say.
    public var altitude: Double?
    /// Metres, 68 %.
    public var horizontalAccuracy = Self.accuracyUnlessSaid
    /// Where it begins in the file, from 1.
    public var line = 0

    /// A point of a track; one without a time is played where the plan has it.
    public init(_ coordinate: Coordinate, time: Instant? = nil) {
        self.coordinate = coordinate
        self.time = time
    }
}

/// What stands in a GPX file (versions 1.0 and 1.1, topografix.com), as far as it is whole.
public struct GPXFile: Sendable, Hashable {
    /// Something that was wrong with the file, where it was.
    public struct Damage: Sendable, Hashable, CustomStringConvertible {
        /// From 1; 0 where it concerns the whole file.
        public var line: Int
        /// From 1; 0 where it concerns the whole file.
        public var column: Int
        /// What.
        public var message: String

        /// `12:5: what`.
        public var description: String { line > 0 ? "\(line):\(column): \(message)" : message }
    }

    /// The most damages that are listed; the rest is counted.
    public static let damagesMax = 100
    /// The most points that are read; what follows is damage. Some 200 days of one a second.
    public static let pointsMax = 20_000_000

    /// The tracks' segments, in order: what stands in one was recorded without a break.
    public internal(set) var segments: [[GPXPoint]] = []
    /// The routes, in order.
    public internal(set) var routes: [[GPXPoint]] = []
    /// The waypoints.
    public internal(set) var waypoints: [GPXPoint] = []
    /// What was wrong, the first ``damagesMax``.
    public internal(set) var damages: [Damage] = []
    /// How much was wrong in all.
    public internal(set) var damagesTotal = 0

    /// A file without tracks or damages.
    public init() {}

    /// What there is to play: the tracks; where there is none the routes; else the waypoints, as Xcode's simulator does.
    public var lines: [[GPXPoint]] {
        let tracks = segments.filter { !$0.isEmpty }
        if !tracks.isEmpty { return tracks }
        let planned = routes.filter { !$0.isEmpty }
        if !planned.isEmpty { return planned }
        return waypoints.isEmpty ? [] : [waypoints]
    }

    mutating func note(_ message: String, line: Int, column: Int) {
        damagesTotal += 1
        if damages.count < Self.damagesMax { damages.append(Damage(line: line, column: column, message: message)) }
    }

    // MARK: Reading

    // So many octets are read at once.
    private static let window = 1 << 20

    /// Reads a file where it is a GPX file, which its first octets tell.
    ///
    /// - Returns: what stands in it, and how many octets it has; `nil` where it is something else or can't be read.
    package static func read(at path: String) -> (file: GPXFile, size: Int)? {
        // What can be read once only is a capture.
        guard path != "-", isRegularFile(path) else { return nil }
        // The caller reads it as another format, or reports why it can't be read.
        return try? read(path, startsWell: isGPX)
    }

    /// Reads a file, until more than `sizeMax` bytes are read.
    ///
    /// - Returns: the content, and the number of bytes; `nil` if the first bytes are not a good start.
    /// - Throws: `Errno` of open(2) and read(2).
    static func read(
        _ path: String, sizeMax: Int = .max, startsWell: ([UInt8]) -> Bool = { _ in true }
    ) throws -> (file: GPXFile, size: Int)? {
        let reader = GPXReader()
        let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
        defer { _ = try? file.close() }
        var size = 0
        while size <= sizeMax {
            let bytes = unsafe try [UInt8](unsafeUninitializedCapacity: window) { buffer, count in
                unsafe count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
            if size == 0, !startsWell(bytes) { return nil }
            if bytes.isEmpty { break }
            size += bytes.count
            reader.read(bytes)
        }
        return (reader.finish(), size)
    }

    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether octets begin like XML: a tag, a declaration or a comment; an arrow of hcidump's has a blank behind it.
    package static func isGPX(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        // UTF-16 with its mark.
        if rest.starts(with: [0xFE, 0xFF, 0x00, 0x3C]) || rest.starts(with: [0xFF, 0xFE, 0x3C, 0x00]) { return true }
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard rest.first == UInt8(ascii: "<"), let next = rest.dropFirst().first else { return false }
        return next == UInt8(ascii: "?") || next == UInt8(ascii: "!") || (0x41...0x5A).contains(next)
            || (0x61...0x7A).contains(next)
    }
}
