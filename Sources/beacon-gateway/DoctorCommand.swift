import ArgumentParser
import CommandSupport
import GatewayCommands

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Finds the problems of this machine and of the gateway, each with a remedy.",
        discussion: """
            Checks the configuration, the kernel, rfkill, the adapters, D-Bus and bluetoothd, the rights of this process, \
            the clock, the disks, the broker and the running gateway. It changes nothing. It checks the rights of the user \
            who runs it; for those of the service, use `sudo -u beacon-gateway beacon-gateway doctor`.

            Exits with 1 if something is wrong, and with 0 if there are only warnings.
            """)

    @Option(help: "The configuration. (default: \(ConfigurationFile.defaultPath))")
    var config: String?

    @Flag(help: "Print one JSON object on one line instead of text.")
    var json = false

    func run() throws {
        let path = config ?? ConfigurationFile.defaultPath
        let doctor = Doctor(configuration: path, isDefault: config == nil)
        if json { print(doctor.json, terminator: "") } else { Terminal.show(doctor.text) }
        if doctor.isSomethingWrong { throw ExitCode(ExitFailure.Code.failed.rawValue) }
    }
}
