public import SystemPackage

/// How far a publisher has shipped the lines of a gateway, as it is kept over restarts.
public struct ShippingCheckpoint: Sendable, Hashable {
    /// What is wrong with a file that holds one.
    public enum Problem: Error, Hashable, CustomStringConvertible {
        /// It can't be read.
        case unreadable(String, Errno)
        /// It is not what a publisher writes.
        case damaged(String)
        /// It was written by a newer version, whose number it has.
        case newer(String, Int)

        /// What, where and what to do.
        public var description: String {
            switch self {
            case .unreadable(let path, let error): "\(path) can't be read: \(error)"
            case .damaged(let path):
                "\(path) does not say how far lines were shipped; put it away, and say from where: publish --from"
            case .newer(let path, let version):
                "\(path) was written by a newer version (format \(version)); run that one, or put the file away"
            }
        }
    }

    /// What the file is called in a state directory.
    public static let fileName = "mqtt.json"

    /// The last line that the broker acknowledged, with all before it.
    public var position: LinePosition

    /// The broker that was last heard to speak MQTT 5, as `host:port`; absent where none was.
    public var five: String?

    /// Makes one.
    public init(position: LinePosition, five: String? = nil) {
        self.position = position
        self.five = five
    }

    /// Reads the one at `path`; `nil` where there is none.
    ///
    /// - Throws: ``Problem``.
    public static func read(
        _ path: FilePath, files: any FileSystemCalls = SystemFiles()
    ) throws(Problem) -> ShippingCheckpoint? {
        let bytes: [UInt8]?
        do throws(Errno) { bytes = try WholeFile.read(path, octetsMax: 65_536, files: files) } catch {
            throw .unreadable(path.string, error)
        }
        guard let bytes else { return nil }
        var text = JSONText(bytes)
        guard text.parse(), let version = text.integer(text.find("version", in: 0)) else { throw .damaged(path.string) }
        guard version <= 1 else { throw .newer(path.string, version) }
        guard let sequence = text.integer(text.find("sequence", in: 0)),
            (0...LinePosition.sequenceMax).contains(sequence)
        else {
            throw .damaged(path.string)
        }
        return ShippingCheckpoint(
            position: LinePosition(
                sequence: sequence, segment: text.string(text.find("segment", in: 0)) ?? "",
                offset: text.integer(text.find("offset", in: 0)) ?? 0),
            five: text.string(text.find("five", in: 0)))
    }

    /// Puts it in place of what the file at `path` says; it is on the disk when this returns.
    ///
    /// - Throws: `Errno` of what writes files.
    public func write(_ path: FilePath, files: any FileSystemCalls = SystemFiles()) throws(Errno) {
        var buffer = LineBuffer(capacity: 1024)
        buffer.append("{\"version\":1,\"sequence\":")
        buffer.append(position.sequence)
        buffer.append(",\"segment\":\"")
        buffer.append(escaped: position.segment)
        buffer.append("\",\"offset\":")
        buffer.append(position.offset)
        if let five {
            buffer.append(",\"five\":\"")
            buffer.append(escaped: five)
            buffer.append("\"")
        }
        buffer.append("}\n")
        try WholeFile.replace(path, with: buffer.bytes, files: files)
    }
}
