import EventLog
package import GatewayConfiguration
import Glibc
import SystemPackage

/// Reads configurations from files.
package enum ConfigurationFile {
    /// The path of the gateway's configuration, unless another one is given.
    package static let defaultPath = "/etc/beacon-gateway/gateway.yaml"

    /// Returns whether a file exists at `path`, even if it is not readable.
    package static func isThere(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Returns whether certainly no file exists at `path`. The result is `false` if a folder above it cannot be
    /// searched, and for standard input.
    package static func isMissing(_ path: String) -> Bool {
        guard path != "-", unsafe access(path, F_OK) != 0 else { return false }
        return [ENOENT, ENOTDIR].contains(errno)
    }

    // One byte more than a configuration may have, so that the parser reports a file that is too long.
    private static let bytesMax = 64 * 1024 * 1024 + 1

    /// Reads and checks the configuration at `path`.
    ///
    /// - Parameters:
    ///   - path: the path of the file; `-` is standard input.
    ///   - isReplay: whether it is for a replay. In a replay, an adapter never counts as not scanning because of
    ///     silence unless `deaf_after` is set (rule L5).
    /// - Returns: the configuration. Names of beacons in a separate file are not read.
    /// - Throws: ``ExitFailure`` if it cannot be read, or with every error in it.
    package static func load(_ path: String, isReplay: Bool) throws(ExitFailure) -> Configuration {
        let name = name(of: path)
        return try parse(try read(path, name), name, isReplay: isReplay).get()
    }

    /// Returns where the gateway with the configuration at `path` writes and answers, even if the file has errors now.
    ///
    /// - Returns: the section `output`, as far as it can be read; and the whole configuration, or every error in it.
    /// - Throws: ``ExitFailure`` if the file cannot be read.
    package static func output(
        of path: String
    ) throws(ExitFailure) -> (output: OutputConfiguration, configuration: Result<Configuration, ExitFailure>) {
        let name = name(of: path)
        let bytes = try read(path, name)
        let parsed = parse(bytes, name, isReplay: false)
        if case .success(let configuration) = parsed { return (configuration.output, parsed) }
        return (Configuration.outputDespiteErrors(bytes), parsed)
    }

    private static func name(of path: String) -> String { path == "-" ? "standard input" : path }

    private static func parse(
        _ bytes: [UInt8], _ name: String, isReplay: Bool
    ) -> Result<Configuration, ExitFailure> {
        let deafAfter = isReplay ? nil : EngineConfiguration.liveDeafAfter
        return Configuration.parse(bytes, file: name, deafAfterUnlessSet: deafAfter, locatesOtherwise: isReplay)
            .mapError { ExitFailure(.configurationInvalid, $0.description) }
    }

    /// Returns the SHA-256 digest of the present content of the file at `path`, in hexadecimal.
    ///
    /// It is `nil` for standard input, which can be read only once, and if the file cannot be read any more.
    package static func digest(_ path: String) -> String? {
        guard path != "-" else { return nil }
        do throws(ExitFailure) { return SHA256.hexadecimal(of: try read(path, path)) } catch { return nil }
    }

    private static func read(_ path: String, _ name: String) throws(ExitFailure) -> [UInt8] {
        do {
            let isStandard = path == "-"
            // Opening a FIFO would block, and at SIGHUP it would be empty.
            let file =
                isStandard
                ? FileDescriptor.standardInput
                : FileDescriptor(rawValue: try SystemFiles().openForReading(FilePath(path)))
            defer { if !isStandard { try? file.close() } }
            var bytes: [UInt8] = []
            while bytes.count < bytesMax {
                // The array doubles in size, so it is copied only a few times.
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
