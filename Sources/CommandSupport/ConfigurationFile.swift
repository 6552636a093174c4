import EventLog
package import GatewayConfiguration
import Glibc
import SystemPackage

/// A configuration on disk.
package enum ConfigurationFile {
    /// Where a gateway's configuration is unless another is named.
    package static let defaultPath = "/etc/beacon-gateway/gateway.yaml"

    /// Whether there is a file at `path`, readable or not.
    package static func isThere(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Whether there is certainly no file at `path`; not if a folder above it cannot be searched, nor of standard input.
    package static func isMissing(_ path: String) -> Bool {
        guard path != "-", unsafe access(path, F_OK) != 0 else { return false }
        return [ENOENT, ENOTDIR].contains(errno)
    }

    // One octet more than a configuration may have: that it is too long is the parser's to say.
    private static let octetsMax = 64 * 1024 * 1024 + 1

    /// Reads and checks the configuration at `path`.
    ///
    /// - Parameters:
    ///   - path: the file; `-` is standard input.
    ///   - isReplay: whether it is for a replay, in which an adapter never goes deaf unless that is set (rule L5).
    /// - Returns: the configuration; the names of beacons that stand in a file of their own are not read.
    /// - Throws: ``ExitFailure`` where it can't be read, with every mistake where it has any.
    package static func load(_ path: String, isReplay: Bool) throws(ExitFailure) -> Configuration {
        let name = name(of: path)
        return try parse(try read(path, name), name, isReplay: isReplay).get()
    }

    /// Where the gateway whose configuration is at `path` writes and answers, even if the file has mistakes by now.
    ///
    /// - Returns: `output`, as far as the file says it; and the whole configuration, or every mistake in it.
    /// - Throws: ``ExitFailure`` where the file can't be read.
    package static func output(
        of path: String
    ) throws(ExitFailure) -> (output: OutputConfiguration, configuration: Result<Configuration, ExitFailure>) {
        let name = name(of: path)
        let bytes = try read(path, name)
        let parsed = parse(bytes, name, isReplay: false)
        if case .success(let configuration) = parsed { return (configuration.output, parsed) }
        return (Configuration.outputDespiteMistakes(bytes), parsed)
    }

    private static func name(of path: String) -> String { path == "-" ? "standard input" : path }

    private static func parse(
        _ bytes: [UInt8], _ name: String, isReplay: Bool
    ) -> Result<Configuration, ExitFailure> {
        let deafAfter = isReplay ? nil : EngineConfiguration.liveDeafAfter
        return Configuration.parse(bytes, file: name, deafAfterUnlessSet: deafAfter, locatesOtherwise: isReplay)
            .mapError { ExitFailure(.configurationInvalid, $0.description) }
    }

    /// The SHA-256 of the file at `path` as it is now, in hexadecimal; `nil` of standard input, which can be read once, and
    /// where it can't be read any more.
    package static func digest(_ path: String) -> String? {
        guard path != "-" else { return nil }
        do throws(ExitFailure) { return SHA256.hexadecimal(of: try read(path, path)) } catch { return nil }
    }

    private static func read(_ path: String, _ name: String) throws(ExitFailure) -> [UInt8] {
        do {
            let isStandard = path == "-"
            // A FIFO would be waited for, and SIGHUP would find nothing in it any more.
            let file =
                isStandard
                ? FileDescriptor.standardInput
                : FileDescriptor(rawValue: try SystemFiles().openForReading(FilePath(path)))
            defer { if !isStandard { try? file.close() } }
            var bytes: [UInt8] = []
            while bytes.count < octetsMax {
                // What grows by doubling is copied few times.
                let size = max(65_536, bytes.count)
                var isAtEnd = false
                let chunk = unsafe try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                    unsafe count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                    isAtEnd = count == 0
                }
                bytes += chunk
                if isAtEnd { break }
            }
            return bytes
        } catch {
            let code: ExitFailure.Code = error as? Errno == .permissionDenied ? .noPermission : .inputMissing
            let why =
                error as? Errno == .illegalSeek ? "it is not a regular file; use - for standard input" : "\(error)"
            throw ExitFailure(code, "\(name) can't be read: \(why)")
        }
    }
}
