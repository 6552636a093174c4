import EventLog
import SiteLog
import SystemPackage

/// Small values in files of a folder: `value-<key>` has the revision in 64 bits, its lowest octet first, and the octets.
struct ValueFiles {
    private static let prefix = "value-"

    private let directory: FilePath
    private let files: any FileSystemCalls
    private let octetsMax: Int
    /// The greatest revision that there was.
    private(set) var revision: UInt64 = 0

    /// Those in a folder.
    ///
    /// - Throws: ``LogTrouble/damaged(_:_:)``.
    init(
        in directory: FilePath, names: [String], limits: LogLimits, _ files: any FileSystemCalls
    ) throws(LogTrouble) {
        self.directory = directory
        self.files = files
        octetsMax = limits.valueOctetsMax
        for name in names where name.hasPrefix(Self.prefix) {
            let value = try read(LogName(String(name.dropFirst(Self.prefix.count))))
            revision = max(revision, value?.revision ?? 0)
        }
    }

    /// What stands under a key.
    func read(_ key: LogName) throws(LogTrouble) -> StoredValue? {
        let path = path(key)
        let octets = try trouble(path) { () throws(Errno) in
            try WholeFile.read(path, octetsMax: octetsMax + 8, files: files)
        }
        guard var rest = octets?[...] else { return nil }
        guard let revision = rest.takeNumber(UInt64.self), revision > 0, revision < .max else {
            throw .damaged(path.string, "it holds no value")
        }
        return StoredValue(octets: Array(rest), revision: revision)
    }

    /// Puts a value under a key, where what is there is what was expected.
    mutating func write(_ key: LogName, _ octets: [UInt8], over: UInt64?) throws(LogTrouble) -> LogResponse {
        let present = try read(key)?.revision ?? 0
        guard over == nil || over == present else { return .differs(revision: present) }
        var text: [UInt8] = []
        text.append(number: revision + 1)
        let path = path(key)
        do throws(Errno) { try WholeFile.replace(path, with: text + octets, files: files) } catch {
            throw .unavailable("\(path) can't be written: \(error)")
        }
        revision += 1
        return .written(revision: revision)
    }

    private func path(_ key: LogName) -> FilePath { directory.appending(Self.prefix + key.description) }
}
