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
        abstract: "Writes what is heard to a capture that replay, btmon and Wireshark read.",
        discussion: """
            Writes btsnoop, pcapng or the advertisement log, by the ending of the file's name (.btsnoop, .pcapng, .jsonl) \
            or as --format says. When adapters listen stands in it, so that a replay gives what run would have said; set \
            deaf_after in the replay's configuration as it is in run's (10s where it is not set).

            SIGINT and SIGTERM end it and leave a whole file. Hears as run does, the raw HCI channel first where this \
            user may use it, beside a running gateway too, and leaves adapters' power and settings as they are. Ends with \
            69 where the machine can't hear at all, 77 where this user may not, 73 and 74 where the file can't be written.
            """)

    @Argument(help: "The capture; - is standard output. A file that is there is overwritten.")
    var file: String

    @Option(help: "The capture's format, where its name does not tell.")
    var format: ConvertCommand.Format?

    @Option(
        help: ArgumentHelp(
            "The configuration; without it \(ConfigurationFile.defaultPath), if that is there.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Hear by this way: auto, management, dbus or hci.", valueName: "way"))
    var backend: BackendArgument?

    @Option(
        help: ArgumentHelp(
            "Hear with this adapter: hci0, or its address; can be given several times.", valueName: "adapter"))
    var adapter: [AdapterArgument] = []

    @Option(help: ArgumentHelp("End after this time.", valueName: "duration"), transform: DurationArgument.init)
    var duration: DurationArgument?

    func run() throws {
        guard let format = format?.format ?? CaptureWriter.Format(fileName: file) else {
            throw ValidationError(
                "“\(file)” does not tell a format: end it in .btsnoop, .pcapng or .jsonl, or say --format")
        }
        try Terminal.run {
            var observer = ObserverOptions(configuration: try ObserverOptions.configuration(config))
            observer.backend = backend?.backend
            observer.adapters = adapter.map(\.name)
            observer.hearsAll = true
            observer.heedsCanary = true
            observer.record = "record"
            var options = Recording.Options(to: file, format: format, observer: observer)
            options.duration = duration?.duration
            let outcome = try Recording(options, log: OperatorLog().write).run()
            Terminal.say(outcome.words)
        }
    }
}
