import AdapterScanning
import ArgumentParser
import CommandSupport
import GatewayCommands
import GatewayConfiguration
import OperatorLogging

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Hears beacons, monitors them, and writes event files: the daemon.",
        discussion: """
            Hears by the best way that this user may (scanner.backend): the kernel's management socket (CAP_NET_ADMIN), \
            bluetoothd over D-Bus (anybody), or the raw HCI channel (CAP_NET_RAW). Comes back by itself after whatever \
            happens to an adapter or to bluetoothd.

            SIGTERM ends it; SIGHUP applies the changed configuration; SIGUSR1 begins a new event file. Ends with 69 \
            where the machine can't hear at all and 77 where this user may not; `beacon-gateway doctor` says more.
            """)

    @Option(help: ArgumentHelp("The configuration.", valueName: "file"))
    var config = ConfigurationFile.defaultPath

    @Flag(help: "Log what only its makers want to know.")
    var verbose = false

    func run() throws {
        let log = OperatorLog(atLeast: verbose ? .debug : .notice)
        try Terminal.run(saying: log.end) {
            Program.protectFiles()
            try Daemon.holdSignals()
            // Where the disk is slow nothing else is said for as long as that takes.
            log.write(.gatewayStarts, "reads \(config), and what was written before")
            let daemon = try Daemon(configuration: config, log: log.write)
            try daemon.run()
        }
    }
}
