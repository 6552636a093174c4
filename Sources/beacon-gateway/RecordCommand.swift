import ArgumentParser
import Captures
import CommandSupport
import GatewayCommands
import GatewayConfiguration
import OperatorLogging
import Replaying

struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Records advertising reports in a capture for replay, btmon or Wireshark.",
        discussion: """
            Writes btsnoop, pcapng or the advertisement log: the ending of the file's name (.btsnoop, .pcapng, .jsonl) or \
            --format selects the format. The capture contains when adapters scan, so a replay gives the lines that run \
            would have written. The configuration of the replay must set deaf_after as run does (10s if run does not set \
            it).

            SIGINT and SIGTERM stop it and leave a complete file. It scans as run does, but uses the raw HCI channel if \
            this user may open it. It can run at the same time as a gateway, and does not change the power or the settings \
            of adapters. Exits with 69 if this machine cannot scan, with 77 if this user may not scan, and with 73 or 74 if \
            the file cannot be written.
            """)

    @Argument(help: "The capture; use - for standard output. An existing file is overwritten.")
    var file: String

    @Option(help: "The format of the capture. By default, the ending of the file's name selects it.")
    var format: ConvertCommand.Format?

    @Option(
        help: ArgumentHelp(
            "The configuration. (default: \(ConfigurationFile.defaultPath), if it exists)", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Scan with this backend: auto, management, dbus or hci.", valueName: "backend"))
    var backend: BackendArgument?

    @Option(
        help: ArgumentHelp(
            "Scan with this adapter: hci0, or its address. Can be repeated.", valueName: "adapter"))
    var adapter: [AdapterArgument] = []

    @Option(help: ArgumentHelp("Stop after this time.", valueName: "duration"), transform: DurationArgument.init)
    var duration: DurationArgument?

    func run() throws {
        guard let format = format?.format ?? CaptureWriter.Format(fileName: file) else {
            throw ValidationError(
                "“\(file)” has no ending that selects a format; use .btsnoop, .pcapng or .jsonl, or set --format")
        }
        try Terminal.run {
            var observer = ObserverOptions(configuration: try ObserverOptions.configuration(config))
            observer.backend = backend?.backend
            observer.adapters = adapter.map(\.name)
            observer.receivesAll = true
            observer.heedsCanary = true
            observer.record = "record"
            var options = Recording.Options(to: file, format: format, observer: observer)
            options.duration = duration?.duration
            let outcome = try Recording(options, log: OperatorLog().write).run()
            Terminal.say(outcome.words)
        }
    }
}
