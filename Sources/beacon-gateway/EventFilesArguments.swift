import ArgumentParser
import CommandSupport
import GatewayConfiguration
import Reports
import SystemPackage

/// Which event files a command reads, and who is who in them.
struct EventFilesArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("Folders with event files, or event files.", valueName: "place"))
    var place: [String] = []

    @Option(
        help: ArgumentHelp(
            "The configuration with the folder and the names of beacons. By default, the gateway's, if it exists on this machine.",
            valueName: "file"))
    var config: String?

    /// What the arguments come to.
    struct Places {
        /// Folders of event files, or files.
        var paths: [FilePath]
        /// Names and groups of beacons, by the configuration.
        var directory = BeaconDirectory()
        /// Why there are no names, where that is to be said.
        var remark: String?
    }

    /// The places that were named or, without any, the configuration's; with the names that it has.
    ///
    /// A configuration that was named has to be right. The gateway's own, which nobody named, gives what it can: a report
    /// of files that were copied here must not fail for it.
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
