import AdapterScanning
import ArgumentParser
import Captures
import CommandSupport
import GatewayCommands
import GatewayConfiguration
import OperatorLogging
import SystemPackage

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs the gateway: scans for beacons, monitors them, and writes event files.",
        discussion: """
            Scans with the best backend that this user may use (scanner.backend): the kernel's management socket \
            (CAP_NET_ADMIN), bluetoothd over D-Bus (any user), or the raw HCI channel (CAP_NET_RAW). If an adapter or \
            bluetoothd fails, it recovers automatically. --from replaces the adapters by a capture, or by another program \
            that writes one.

            On a terminal, it shows one short line per event.

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

    @Flag(
        help: "Try the gateway without a radio: run with simulated badges in the new folder \(Demo.folder).")
    var demo = false

    @Flag(help: "Log also messages for developers (info and debug).")
    var verbose = false

    func validate() throws {
        let hasCaptureOptions = capture.fields != nil || capture.zone != nil
        if demo, from != nil || hasCaptureOptions || config != ConfigurationFile.defaultPath {
            throw ValidationError(
                """
                --demo has a configuration and a capture of its own; omit --config, --from, --fields and --zone
                """)
        }
        guard from == nil, hasCaptureOptions else { return }
        throw ValidationError("--fields and --zone are for the capture of --from")
    }

    func run() throws {
        let log = OperatorLog(atLeast: verbose ? .debug : .notice)
        try Terminal.run(saying: log.end) {
            let options = CaptureOptions(fields: try capture.fieldMap(), zone: capture.captureZone)
            Program.protectFiles()
            let demo = demo ? try Demo() : nil
            let origin = try (demo?.capture ?? from).map {
                try CaptureOrigin($0, options: options, repeats: demo != nil)
            }
            let config = demo?.configuration ?? config
            try Daemon.holdSignals()
            if demo != nil { Terminal.write(Self.advice) }
            // On a slow disk, this is the only message until the files are read.
            log.write(.gatewayStarts, "reads \(config) and the stored state")
            let terminal = FileDescriptor.standardOutput.isTerminal ? FileDescriptor.standardOutput : nil
            let daemon = try Daemon(configuration: config, from: origin, showingEventsOn: terminal, log: log.write)
            try daemon.run()
        }
    }

    /// The commands that show the demo.
    private static var advice: String {
        // The program as the user called it, unless a shell would need quotation marks.
        let name = CommandLine.arguments.first ?? ""
        let isPlain =
            !name.isEmpty && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "./_-".contains($0)) }
        let program = isPlain ? name : "beacon-gateway"
        let option = "--config \(Demo.folder)/gateway.yaml"
        return """
            Simulated badges instead of a radio. In another terminal, in the same folder:

              \(program) visits --now \(option)
              \(program) explain Marie \(option)   # after a minute: why she left
              \(program) serve \(option)           # http://127.0.0.1:8080/

            The day has ten minutes and repeats. Ctrl-C ends it. You can then delete the folder \(Demo.folder).


            """
    }
}
