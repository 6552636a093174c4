public import BaseTypes
public import BeaconMonitoring
import Glibc
import SystemPackage

/// A point of a GPX file.
public struct GPXPoint: Sendable, Hashable {
    /// The accuracy in metres (68 %) of a point without further data.
    ///
    /// The Global Positioning System Standard Positioning Service Performance Standard (5th edition, 2020, §3.8) limits
    /// horizontal errors to 8 m at 95 %, which is 4.9 m at 68 % for a circular distribution. In files with `hdop`, it
    /// is multiplied by this value.
    public static let accuracyUnlessSet = 5.0

    /// The position.
    public var coordinate: Coordinate
    /// The time on the timeline of replays (nanoseconds since 1970); `nil` if the file has none.
    public var time: Instant?
    /// Whether the file has an invalid time for it: it does not exist, or is not within 1970…2100.
    public var isTimeInvalid = false
    /// The altitude in metres above mean sea level (`ele`); `nil` if the file has none.
    public var altitude: Double?
    /// The accuracy in metres, 68 %.
    public var horizontalAccuracy = Self.accuracyUnlessSet
    /// The line of the file in which it starts, from 1.
    public var line = 0

    /// Creates a point. The time of a point without one is determined by ``GPXPlan``.
    public init(_ coordinate: Coordinate, time: Instant? = nil) {
        self.coordinate = coordinate
        self.time = time
    }
}

/// The valid content of a GPX file (versions 1.0 and 1.1, topografix.com).
public struct GPXFile: Sendable, Hashable {
    /// An error in the file, with its place.
    public struct Damage: Sendable, Hashable, CustomStringConvertible {
        /// The line, from 1; 0 if it concerns the whole file.
        public var line: Int
        /// The column, from 1; 0 if it concerns the whole file.
        public var column: Int
        /// The error as a text.
        public var message: String

        /// The error with its place: `12:5: message`.
        public var description: String { line > 0 ? "\(line):\(column): \(message)" : message }
    }

    /// The maximum number of errors in ``damages``. Further ones are counted.
    public static let damagesMax = 100
    /// The maximum number of points, more than 200 days with one point per second. Further points are an error.
    public static let pointsMax = 20_000_000

    /// The segments of the tracks, in order. A segment was recorded without a break.
    public internal(set) var segments: [[GPXPoint]] = []
    /// The routes, in order.
    public internal(set) var routes: [[GPXPoint]] = []
    /// The waypoints.
    public internal(set) var waypoints: [GPXPoint] = []
    /// The first ``damagesMax`` errors.
    public internal(set) var damages: [Damage] = []
    /// The number of all errors.
    public internal(set) var damagesTotal = 0

    /// Creates a file without content.
    public init() {}

    /// The lines to play: the tracks; if there are none, the routes; if there are none, the waypoints, as in Xcode's
    /// simulator.
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

    // The number of bytes that are read at once.
    private static let window = 1 << 20

    /// Reads a file if its first bytes look like GPX.
    ///
    /// - Returns: the content and the size in bytes; `nil` if it is not GPX or cannot be read.
    package static func read(at path: String) -> (file: GPXFile, size: Int)? {
        // Data that can be read only once are a capture.
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

    /// Returns whether bytes start like XML: with a tag, a declaration or a comment. The arrow of hcidump is followed
    /// by a space.
    package static func isGPX(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        // UTF-16 with a byte order mark.
        if rest.starts(with: [0xFE, 0xFF, 0x00, 0x3C]) || rest.starts(with: [0xFF, 0xFE, 0x3C, 0x00]) { return true }
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard rest.first == UInt8(ascii: "<"), let next = rest.dropFirst().first else { return false }
        return next == UInt8(ascii: "?") || next == UInt8(ascii: "!") || (0x41...0x5A).contains(next)
            || (0x61...0x7A).contains(next)
    }
}
