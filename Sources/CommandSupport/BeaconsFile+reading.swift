import EventLog
package import GatewayConfiguration
import Glibc
import OperatorLogging
import SystemPackage

extension ConfigurationFile {
    /// Reads and checks the configuration at `path`, with the names of beacons from the file that it says, for who needs
    /// to know which beacons have names (rule P4).
    ///
    /// - Parameters:
    ///   - path: the file; `-` is standard input.
    ///   - isReplay: as for ``load(_:isReplay:)``.
    /// - Returns: the configuration, with the names.
    /// - Throws: ``ExitFailure`` where one of the two can't be read, with every mistake where it has any.
    package static func loadWithNames(_ path: String, isReplay: Bool) throws(ExitFailure) -> Configuration {
        var configuration = try load(path, isReplay: isReplay)
        try readNames(into: &configuration, from: path)
        return configuration
    }

    /// Reads the names of beacons from the file that the configuration at `path` says, if it says one.
    ///
    /// - Parameters:
    ///   - configuration: the configuration, which has the names afterwards.
    ///   - path: where it is.
    /// - Throws: ``ExitFailure`` if the file can't be read, with every mistake if it has any; nothing has changed then.
    package static func readNames(
        into configuration: inout Configuration, from path: String
    ) throws(ExitFailure) {
        guard let file = configuration.beaconsFile(besides: path) else { return }
        let bytes = try readBeacons(file, for: path)
        do throws(Mistakes) {
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
    /// The warnings as programs print them, a line for each, and one that counts the rest.
    package var warningLines: [String] {
        warnings.map { "warning: \($0)" }
            + (warningsLeftOut > 0 ? ["and \(PlainText.count(warningsLeftOut, "more warning"))"] : [])
    }

    /// Where the file with the names is, for a configuration at `path`: what is relative begins at that one's folder.
    package func beaconsFile(besides path: String) -> String? {
        guard let file = beaconsFile?.path else { return nil }
        guard !file.hasPrefix("/"), path != "-" else { return file }
        return FilePath(path).removingLastComponent().appending(file).string
    }

    /// What is wrong with the rights of the file that says who is who, with what to do; `nil` where nothing is.
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
