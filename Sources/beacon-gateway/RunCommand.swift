import AdapterScanning
import ArgumentParser
import Captures
import CommandSupport
import GatewayCommands
import GatewayConfiguration
import OperatorLogging

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs the gateway: scans for beacons, monitors them, and writes event files.",
        discussion: """
            Scans with the best backend that this user may use (scanner.backend): the kernel's management socket \
            (CAP_NET_ADMIN), bluetoothd over D-Bus (any user), or the raw HCI channel (CAP_NET_RAW). If an adapter or \
            bluetoothd fails, it recovers automatically. --from replaces the adapters by a capture, or by another program \
            that writes one.

            SIGTERM stops it; SIGHUP applies the changed configuration; SIGUSR1 starts a new event file. Exits with 69 if \
            this machine cannot scan, and with 77 if this user may not scan; `beacon-gateway doctor` finds the reason.
            """)

    @Option(help: ArgumentHelp("The configuration.", valueName: "file"))
    var config = ConfigurationFile.defaultPath

    @Option(
        help: ArgumentHelp(
            "Read this capture, FIFO or Unix socket instead of the Bluetooth adapters; use - for standard input.",
            valueName: "file"))
    var from: String?

    @OptionGroup var capture: CaptureArguments

    @Flag(help: "Log also messages for developers (info and debug).")
    var verbose = false

    func validate() throws {
        guard from == nil, capture.fields != nil || capture.zone != nil else { return }
        throw ValidationError("--fields and --zone are for the capture of --from")
    }

    func run() throws {
        let log = OperatorLog(atLeast: verbose ? .debug : .notice)
        try Terminal.run(saying: log.end) {
            let options = CaptureOptions(fields: try capture.fieldMap(), zone: capture.captureZone)
            let origin = try from.map { try CaptureOrigin($0, options: options) }
            Program.protectFiles()
            try Daemon.holdSignals()
            // On a slow disk, this is the only message until the files are read.
            log.write(.gatewayStarts, "reads \(config) and the stored state")
            let daemon = try Daemon(configuration: config, from: origin, log: log.write)
            try daemon.run()
        }
    }
}
