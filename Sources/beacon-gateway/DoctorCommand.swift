import ArgumentParser
import CommandSupport
import GatewayCommands

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Says what stands between this machine and a working gateway, each with what mends it.",
        discussion: """
            Looks at the configuration, the kernel, rfkill, the adapters, D-Bus and bluetoothd, the rights of this process, \
            the clock, the disks, the broker and the running gateway. It changes nothing. Rights are those of whoever runs \
            it: for the service's own, `sudo -u beacon-gateway beacon-gateway doctor`.

            Ends with 1 where something is wrong; warnings are not.
            """)

    @Option(help: "The configuration. (default: \(ConfigurationFile.defaultPath))")
    var config: String?

    @Flag(help: "One JSON object on one line in place of text.")
    var json = false

    func run() throws {
        let path = config ?? ConfigurationFile.defaultPath
        let doctor = Doctor(configuration: path, isDefault: config == nil)
        if json { print(doctor.json, terminator: "") } else { Terminal.show(doctor.text) }
        if doctor.isSomethingWrong { throw ExitCode(ExitFailure.Code.failed.rawValue) }
    }
}
