import JSON
package import SystemPackage

/// The last line of a gateway that a publisher has published, as stored over restarts.
package struct PublishingCheckpoint: Sendable, Hashable {
    /// An error in the file of a checkpoint.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        /// The file cannot be read.
        case unreadable(String, Errno)
        /// The file does not have the content that a publisher writes.
        case damaged(String)
        /// The file was written by a newer version of the format, with this number.
        case newer(String, Int)

        /// The problem, the path, and a remedy.
        package var description: String {
            switch self {
            case .unreadable(let path, let error): "\(path) can't be read: \(error)"
            case .damaged(let path):
                "\(path) does not contain the last published line; move it away, and set the first line with publish --from"
            case .newer(let path, let version):
                "\(path) was written by a newer version (format \(version)); use that version, or move the file away"
            }
        }
    }

    /// The name of the file in a state directory.
    package static let fileName = "mqtt.json"

    /// The position after the last line that the broker acknowledged. All lines before it are acknowledged too.
    package var position: LinePosition

    /// The last broker that is known to support MQTT 5, as `host:port`; `nil` if there is none.
    package var five: String?

    /// Creates a checkpoint with the last acknowledged line, and the broker that supports MQTT 5.
    package init(position: LinePosition, five: String? = nil) {
        self.position = position
        self.five = five
    }

    /// Reads the file at `path`; `nil` if there is none.
    ///
    /// - Throws: ``Problem``.
    package static func read(
        _ path: FilePath, files: any FileSystemCalls = SystemFiles()
    ) throws(Problem) -> PublishingCheckpoint? {
        let bytes: [UInt8]?
        do throws(Errno) { bytes = try WholeFile.read(path, bytesMax: 65_536, files: files) } catch {
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
        return PublishingCheckpoint(
            position: LinePosition(
                sequence: sequence, segment: text.string(text.find("segment", in: 0)) ?? "",
                offset: text.integer(text.find("offset", in: 0)) ?? 0),
            five: text.string(text.find("five", in: 0)))
    }

    /// Replaces the file at `path`. It is durable when this returns.
    ///
    /// - Throws: `Errno` if the file cannot be written.
    package func write(_ path: FilePath, files: any FileSystemCalls = SystemFiles()) throws(Errno) {
        var buffer = LineBuffer(capacity: 1024)
        buffer.object { buffer in
            buffer.write("version", 1)
            buffer.write("sequence", position.sequence)
            buffer.write("segment", position.segment)
            buffer.write("offset", position.offset)
            buffer.write("five", five)
        }
        buffer.append(byte: 0x0A)
        try WholeFile.replace(path, with: buffer, files: files)
    }
}
