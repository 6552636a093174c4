import JSON
package import SystemPackage

/// How far a publisher has shipped the lines of a gateway, as it is kept over restarts.
package struct ShippingCheckpoint: Sendable, Hashable {
    /// What is wrong with a file that holds one.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        /// It can't be read.
        case unreadable(String, Errno)
        /// It is not what a publisher writes.
        case damaged(String)
        /// It was written by a newer version, whose number it has.
        case newer(String, Int)

        /// What, where and what to do.
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

    /// What the file is called in a state directory.
    package static let fileName = "mqtt.json"

    /// The last line that the broker acknowledged, with all before it.
    package var position: LinePosition

    /// The broker that was last heard to speak MQTT 5, as `host:port`; absent where none was.
    package var five: String?

    /// That the broker has all up to a line, and which broker was heard to speak MQTT 5.
    package init(position: LinePosition, five: String? = nil) {
        self.position = position
        self.five = five
    }

    /// Reads the one at `path`; `nil` where there is none.
    ///
    /// - Throws: ``Problem``.
    package static func read(
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
    package func write(_ path: FilePath, files: any FileSystemCalls = SystemFiles()) throws(Errno) {
        var buffer = LineBuffer(capacity: 1024)
        buffer.object { buffer in
            buffer.write("version", 1)
            buffer.write("sequence", position.sequence)
            buffer.write("segment", position.segment)
            buffer.write("offset", position.offset)
            buffer.write("five", five)
        }
        buffer.append(octet: 0x0A)
        try WholeFile.replace(path, with: buffer, files: files)
    }
}
