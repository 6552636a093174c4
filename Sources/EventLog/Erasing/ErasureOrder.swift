import BeaconMonitoring
import JSON
package import SystemPackage

/// A request of `erase` to a running gateway, and its answer: a file in the state directory.
///
/// The answer does not name the beacon. If the gateway ends before it answers, its next start answers.
package enum ErasureOrder: Sendable, Hashable {
    /// A request to erase a beacon.
    case wanted(ErasureRequest)
    /// The gateway has removed the beacon from its state, and no longer writes to event files up to this line. `erase`
    /// can then rewrite these files.
    case done(upTo: Int)
    /// The request was refused, with the reason.
    case refused(String)

    /// The name of the file.
    package static let fileName = "erase.json"
    private static let version = 1
    private static let sizeMax = 65_536

    /// Reads the file in a state directory; `nil` if there is none.
    ///
    /// - Throws: ``EventLogError`` if it cannot be read or is invalid.
    package static func read(from directory: FilePath) throws(EventLogError) -> ErasureOrder? {
        let path = directory.appending(fileName)
        let bytes = try EventLogError.reading(path, WholeFile.read(path, bytesMax: sizeMax))
        guard let bytes else { return nil }
        var text = JSONText(bytes)
        guard text.parse(), let found = text.integer(text.find("version", in: 0)) else {
            throw .readFailed(path.string, .invalidArgument)
        }
        guard found <= version else { throw .newerVersion(path.string, found) }
        if let number = text.integer(text.find("done", in: 0)) { return .done(upTo: number) }
        if let why = text.string(text.find("refused", in: 0)) { return .refused(why) }
        let before = text.find("before", in: 0)
        guard let beacon = text.beacon(0), before == nil || text.date(before) != nil else {
            throw .readFailed(path.string, .invalidArgument)
        }
        return .wanted(ErasureRequest(beacon, before: text.date(before)))
    }

    /// Replaces the file in a state directory.
    ///
    /// - Throws: ``EventLogError``.
    package func write(in directory: FilePath) throws(EventLogError) {
        var buffer = LineBuffer(capacity: 1024)
        buffer.object { buffer in
            buffer.write("version", Self.version)
            switch self {
            case .wanted(let request):
                buffer.write(request.beacon)
                buffer.write("before", request.before)
            case .done(let number): buffer.write("done", number)
            case .refused(let why): buffer.write("refused", why)
            }
        }
        buffer.append(byte: 0x0A)
        let path = directory.appending(Self.fileName)
        try EventLogError.writing(path, WholeFile.replace(path, with: buffer, files: SystemFiles()))
    }

    /// Deletes the file in a state directory.
    ///
    /// - Throws: ``EventLogError``.
    package static func remove(from directory: FilePath) throws(EventLogError) {
        let path = directory.appending(fileName)
        try EventLogError.writing(path, SystemFiles().removeIfPresent(path))
    }
}
