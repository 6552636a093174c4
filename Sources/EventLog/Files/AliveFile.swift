package import BaseTypes
package import BeaconMonitoring
import JSON
package import SystemPackage

/// The last time at which a gateway was known to work, from the file `alive` next to its event files.
package struct ProofOfLife: Sendable, Hashable {
    /// The name of the gateway.
    package var gateway: String
    /// The ID of the start in which it was written; empty in a replay.
    package var boot: String
    /// The number of the last durable line; 0 if there was none.
    package var sequence: Int
    /// The time on the gateway's timeline.
    package var time: Instant
    /// How far the wall clock is ahead of the timeline at that time.
    package var offset: ClockOffset
    /// The time on the wall clock.
    package var date: WallDate { WallDate(time, offset: offset) }
}

/// The file `alive` in a folder of event files: one line, which is overwritten in place.
///
/// It is not synchronized: a power failure can lose the knowledge of the last minutes, and nothing else. It is not
/// renamed into place, because file systems write renamed files to the disk immediately, which wears an SD card.
package struct AliveFile {
    /// The name of the file in the folder of event files.
    package static let name = "alive"
    // A name has at most 128 bytes, and each byte can need an escape.
    private static let bytesMax = 4096

    /// The path of the file.
    package let path: FilePath
    private let encoder: LineEncoder
    private let files: any FileSystemCalls

    /// Creates the file of a gateway in `directory`. It is not written yet.
    ///
    /// - Parameters:
    ///   - directory: the folder of event files.
    ///   - gateway: the name of the gateway.
    ///   - boot: the ID of this start; `nil` in a replay.
    package init(in directory: FilePath, gateway: Identifier, boot: String?) {
        self.init(in: directory, gateway: gateway, boot: boot, files: SystemFiles())
    }

    /// Creates the file with another file system, for tests.
    package init(in directory: FilePath, gateway: Identifier, boot: String?, files: any FileSystemCalls) {
        path = directory.appending(Self.name)
        var options = LineEncoder.Options(gateway: gateway)
        options.boot = boot
        encoder = LineEncoder(options)
        self.files = files
    }

    /// Records that the gateway works at `time`.
    ///
    /// - Parameters:
    ///   - time: the current time.
    ///   - clockOffset: how far the wall clock is ahead of the timeline.
    ///   - sequence: the number of the last durable line.
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

    /// Reads the file in `directory`; `nil` if there is none, or if it is invalid.
    ///
    /// - Throws: `Errno` of the system calls that read it.
    package static func read(
        in directory: FilePath, files: any FileSystemCalls = SystemFiles()
    ) throws(Errno) -> ProofOfLife? {
        let path = directory.appending(name)
        guard let bytes = try WholeFile.read(path, bytesMax: bytesMax, files: files) else { return nil }
        var parser = LineParser()
        parser.text.bytes = Array(bytes.prefix { $0 != 0x0A })
        guard parser.parse(), parser.text.isText("alive", at: parser.text.find("type", in: parser.payload)) else {
            return nil
        }
        return ProofOfLife(
            gateway: parser.gateway, boot: parser.boot, sequence: parser.head.sequence ?? 0, time: parser.head.time,
            offset: parser.head.offset)
    }
}
