package import BeaconMonitoring
import Glibc
import JSON
package import SystemPackage

/// A folder of event files: segments named by the number and the date of their first line, and the link `current` to
/// the open one.
package struct SegmentDirectory: Sendable {
    /// The path of the folder.
    package let path: FilePath

    /// Uses an empty folder, which is created with mode 0750 minus the umask if it does not exist.
    ///
    /// - Throws: ``EventLogError`` if it cannot be created or read, or is not empty.
    package init(empty path: FilePath) throws(EventLogError) {
        self.path = path
        let made = unsafe path.withPlatformString { unsafe mkdir($0, 0o750) }
        if made != 0, errno != EEXIST { throw .createFailed(path.string, Errno(rawValue: errno)) }
        let names: [String]
        do throws(Errno) { names = try SystemFiles().names(in: path) } catch { throw .createFailed(path.string, error) }
        guard names.isEmpty else { throw .directoryNotEmpty(path.string) }
    }

    /// Returns the name of the segment that starts with line `sequence` at `date`.
    package static func segmentName(first sequence: Int, date: WallDate) -> String {
        var buffer = LineBuffer(capacity: 1024)
        buffer.append("events-")
        buffer.append(sequence, digits: 12)
        buffer.append(byte: UInt8(ascii: "-"))
        var text = LineBuffer(capacity: 1024)
        text.append(date)
        // 2026-11-21T07:46:27.123456Z without characters that are inconvenient in file names: 20261121T074627Z.
        buffer.append(text.bytes.prefix(19).filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") })
        buffer.append("Z.jsonl")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// Opens a new segment and sets the link `current` to it.
    ///
    /// - Throws: ``EventLogError/createFailed(_:_:)``.
    package func open(first sequence: Int, date: WallDate) throws(EventLogError) -> LineOutput {
        let name = Self.segmentName(first: sequence, date: date)
        let output = try LineOutput(creating: path.appending(name))
        let link = path.appending("current")
        do throws(Errno) { try SystemFiles().link(link, to: name) } catch { throw .createFailed(link.string, error) }
        return output
    }
}
