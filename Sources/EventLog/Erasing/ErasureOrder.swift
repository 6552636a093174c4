import BeaconMonitoring
import JSON
package import SystemPackage

/// What passes between `erase` and a gateway that runs: a file in its state directory that one writes and the other answers.
///
/// The answer names nobody. Where the gateway ends before it has answered, its next start does.
package enum ErasureOrder: Sendable, Hashable {
    /// A beacon is to be forgotten.
    case wanted(ErasureRequest)
    /// It is: the event files up to this line are written no more.
    case done(upTo: Int)
    /// It is not, and why.
    case refused(String)

    /// What the file is called.
    package static let fileName = "erase.json"
    private static let version = 1
    private static let sizeMax = 65_536

    /// What stands in a state directory; `nil` where nothing was asked.
    ///
    /// - Throws: ``EventLogError`` where it can't be read, or makes no sense.
    package static func read(from directory: FilePath) throws(EventLogError) -> ErasureOrder? {
        let path = directory.appending(fileName)
        let bytes = try EventLogError.reading(path, WholeFile.read(path, octetsMax: sizeMax))
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

    /// Puts it in place of what stood there.
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
        buffer.append(octet: 0x0A)
        let path = directory.appending(Self.fileName)
        try EventLogError.writing(path, WholeFile.replace(path, with: buffer, files: SystemFiles()))
    }

    /// Takes it away.
    ///
    /// - Throws: ``EventLogError``.
    package static func remove(from directory: FilePath) throws(EventLogError) {
        let path = directory.appending(fileName)
        try EventLogError.writing(path, SystemFiles().removeIfPresent(path))
    }
}
