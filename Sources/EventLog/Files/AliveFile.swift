package import BaseTypes
package import BeaconMonitoring
import JSON
package import SystemPackage

/// When a gateway was last known to be alive, whatever its lines say: the file `alive` beside them.
package struct ProofOfLife: Sendable, Hashable {
    /// The gateway's name.
    package var gateway: String
    /// The start that it was written in; empty in a replay.
    package var boot: String
    /// The last line that was durable; 0 where there was none.
    package var sequence: Int
    /// When, on its own timeline.
    package var time: Instant
    /// What its date was printed with.
    package var offset: ClockOffset
    /// When, by the wall clock as it was then.
    package var date: WallDate { WallDate(time, offset: offset) }
}

/// The file `alive` in a folder of event files: one line, overwritten where it stands.
///
/// It is not synchronised: what a power cut takes of it costs a minute of knowledge, and nothing else. It is not renamed
/// into place, since file systems put such a file on the disk at once, and a card wears out by it.
package struct AliveFile {
    /// The name of the file in the folder of event files.
    package static let name = "alive"
    // A name has 128 octets at most, each of which may be escaped.
    private static let octetsMax = 4096

    /// The path of the file.
    package let path: FilePath
    private let encoder: LineEncoder
    private let files: any FileSystemCalls

    /// The file of a gateway in `directory`.
    ///
    /// - Parameters:
    ///   - directory: the folder of event files.
    ///   - gateway: the gateway's name.
    ///   - boot: this start; absent in a replay.
    package init(in directory: FilePath, gateway: Identifier, boot: String?) {
        self.init(in: directory, gateway: gateway, boot: boot, files: SystemFiles())
    }

    /// The same over a file system of the caller's, which a test makes fail.
    package init(in directory: FilePath, gateway: Identifier, boot: String?, files: any FileSystemCalls) {
        path = directory.appending(Self.name)
        var options = LineEncoder.Options(gateway: gateway)
        options.boot = boot
        encoder = LineEncoder(options)
        self.files = files
    }

    /// Says that the gateway is alive at `time`.
    ///
    /// - Parameters:
    ///   - time: the present.
    ///   - clockOffset: how far the wall clock is ahead of it.
    ///   - sequence: the last line that is durable.
    /// - Throws: `Errno` of open(2), pwrite(2) and ftruncate(2).
    package func write(at time: Instant, clockOffset: ClockOffset, after sequence: Int) throws(Errno) {
        var buffer = LineBuffer(capacity: 512)
        encoder.encodeAlive(after: sequence, at: time, clockOffset: clockOffset, into: &buffer)
        let file = try open()
        defer { files.close(file) }
        try files.writeAll(file, at: 0, buffer)
        if try files.size(of: file) > buffer.count { try files.truncate(file, to: buffer.count) }
    }

    private func open() throws(Errno) -> FileSystemCalls.Handle {
        do throws(Errno) {
            return try files.open(path, isNew: false)
        } catch .noSuchFileOrDirectory {
            return try files.open(path, isNew: true)
        }
    }

    /// What the file in `directory` says; `nil` where there is none, or none that is whole.
    ///
    /// - Throws: `Errno` of what reads it.
    package static func read(
        in directory: FilePath, files: any FileSystemCalls = SystemFiles()
    ) throws(Errno) -> ProofOfLife? {
        let path = directory.appending(name)
        guard let octets = try WholeFile.read(path, octetsMax: octetsMax, files: files) else { return nil }
        var parser = LineParser()
        parser.text.bytes = Array(octets.prefix { $0 != 0x0A })
        guard parser.parse(), parser.text.isText("alive", at: parser.text.find("type", in: parser.payload)) else {
            return nil
        }
        return ProofOfLife(
            gateway: parser.gateway, boot: parser.boot, sequence: parser.head.sequence ?? 0, time: parser.head.time,
            offset: parser.head.offset)
    }
}
