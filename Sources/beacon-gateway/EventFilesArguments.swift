import ArgumentParser
import CommandSupport
import GatewayConfiguration
import Reports
import SystemPackage

/// The event files that a command reads, and the names of the beacons in them.
struct EventFilesArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("Folders with event files, or event files.", valueName: "place"))
    var place: [String] = []

    @Option(
        help: ArgumentHelp(
            "The configuration with the folder and the names of beacons. By default, the gateway's, if it exists on this machine.",
            valueName: "file"))
    var config: String?

    /// The evaluated arguments.
    struct Places {
        /// The folders of event files, or the files.
        var paths: [FilePath]
        /// The names and groups of beacons from the configuration.
        var directory = BeaconDirectory()
        /// The reason why there are no names, if it must be reported.
        var remark: String?
    }

    /// Returns the given places or, if there are none, the folder of the configuration, with its names.
    ///
    /// A given configuration must be valid. Errors in the default one are only reported, because a report of files that
    /// were copied to this machine must not fail because of them.
    func read() throws(ExitFailure) -> Places {
        let named = place.map { FilePath($0) }
        let folder = [FilePath(OutputConfiguration().directory)]
        do throws(ExitFailure) {
            guard config != nil || ConfigurationFile.isThere(ConfigurationFile.defaultPath) else {
                return Places(paths: named.isEmpty ? folder : named)
            }
            let configuration = try ConfigurationFile.loadWithNames(
                config ?? ConfigurationFile.defaultPath, isReplay: false)
            return Places(
                paths: named.isEmpty ? [FilePath(configuration.output.directory)] : named,
                directory: BeaconDirectory(configuration.beacons))
        } catch {
            guard config == nil else { throw error }
            return Places(
                paths: named.isEmpty ? folder : named, remark: "beacons are shown without names: \(error.message)")
        }
    }
}
