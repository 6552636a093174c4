import EventLog
package import GatewayConfiguration
import Glibc
import OperatorLogging
import SystemPackage

extension ConfigurationFile {
    /// Reads and checks the configuration at `path`, and the names of beacons from its beacons file. Use it for
    /// commands that must know which beacons have names (rule P4).
    ///
    /// - Parameters:
    ///   - path: the path of the file; `-` is standard input.
    ///   - isReplay: as for ``load(_:isReplay:)``.
    /// - Returns: the configuration with the names.
    /// - Throws: ``ExitFailure`` if one of the two files cannot be read, or with every error in it.
    package static func loadWithNames(_ path: String, isReplay: Bool) throws(ExitFailure) -> Configuration {
        var configuration = try load(path, isReplay: isReplay)
        try readNames(into: &configuration, from: path)
        return configuration
    }

    /// Reads the names of beacons from the beacons file of a configuration, if it has one.
    ///
    /// - Parameters:
    ///   - configuration: receives the names.
    ///   - path: the path of the configuration.
    /// - Throws: ``ExitFailure`` if the file cannot be read, or with every error in it. The configuration does not
    ///   change then.
    package static func readNames(
        into configuration: inout Configuration, from path: String
    ) throws(ExitFailure) {
        guard let file = configuration.beaconsFile(besides: path) else { return }
        let bytes = try readBeacons(file, for: path)
        do throws(ConfigurationErrors) {
            try configuration.readBeacons(bytes, file: file)
        } catch {
            throw ExitFailure(.configurationInvalid, error.description)
        }
    }

    private static func readBeacons(_ path: String, for configuration: String) throws(ExitFailure) -> [UInt8] {
        let failure: Errno
        do throws(Errno) {
            // One byte more than the parser accepts, so that the parser reports a file that is too long.
            if let bytes = try WholeFile.prefix(of: FilePath(path), count: 64 * 1024 * 1024 + 1) { return bytes }
            failure = .noSuchFileOrDirectory
        } catch {
            failure = error
        }
        switch failure {
        case .isDirectory, .illegalSeek:
            throw ExitFailure(
                .configurationInvalid,
                "\(path), which \(configuration) has for beacons.file, is not a regular file; name the CSV file itself")
        case .permissionDenied:
            throw ExitFailure(
                .noPermission,
                """
                \(path), which \(configuration) has for beacons.file, can't be read: \(failure); \
                let the gateway's group read it: sudo chgrp beacon-gateway \(path); sudo chmod 640 \(path)
                """)
        default:
            throw ExitFailure(
                .inputMissing,
                """
                \(path), which \(configuration) has for beacons.file, can't be read: \(failure); \
                create it, or remove beacons from the configuration
                """)
        }
    }
}

extension Configuration {
    /// The warnings as programs print them: one line for each, and one with the number of those that were left out.
    package var warningLines: [String] {
        warnings.map { "warning: \($0)" }
            + (warningsLeftOut > 0 ? ["and \(PlainText.count(warningsLeftOut, "more warning"))"] : [])
    }

    /// Returns the path of the file with the names of beacons. A relative path starts at the folder of the
    /// configuration at `path`.
    package func beaconsFile(besides path: String) -> String? {
        guard let file = beaconsFile?.path else { return nil }
        guard !file.hasPrefix("/"), path != "-" else { return file }
        return FilePath(path).removingLastComponent().appending(file).string
    }

    /// Returns the problem with the permissions of the file with the names of beacons, and a remedy; `nil` if there is
    /// none.
    package func namesExposure(besides path: String) -> String? {
        guard let file = beaconsFile(besides: path) else { return nil }
        var status = stat()
        guard unsafe stat(file, &status) == 0 else { return nil }
        if status.st_mode & 0o002 != 0 {
            return "all users can change \(file), which has the names of beacons: sudo chmod o= \(file)"
        }
        if status.st_mode & 0o004 != 0 {
            return "all users can read \(file), which has the names of beacons: sudo chmod o= \(file)"
        }
        return nil
    }
}
