import ArgumentParser
import CommandSupport
import GatewayCommands
import OperatorLogging
import SystemPackage

struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publishes event files to an MQTT broker, from another process or machine, or again.",
        discussion: """
            Publishes the lines in order with QoS 1. A line that the broker has not acknowledged is sent again. A checkpoint \
            next to the files stores the last acknowledged line; the next run continues after it. If the broker cannot be \
            reached, the command waits for it. Only the running gateway publishes retained states and availability.
            """)

    @Argument(help: ArgumentHelp("The folder with the event files.", valueName: "dir"))
    var directory: String

    @Option(help: ArgumentHelp("The configuration with the broker, in the section mqtt.", valueName: "file"))
    var config = ConfigurationFile.defaultPath

    @Option(help: ArgumentHelp("Start at this line and ignore the checkpoint.", valueName: "sequence"))
    var from: Int?

    @Flag(help: "Wait for more lines at the end, until SIGTERM or SIGINT.")
    var follow = false

    @Option(help: ArgumentHelp("The file of the checkpoint. (default: publish.json in the folder)", valueName: "file"))
    var checkpoint: String?

    func validate() throws {
        if let from, from < 1 { throw ValidationError("--from is \(from); must be at least 1") }
    }

    func run() throws {
        try Terminal.run {
            var options = PublishingOptions(directory: FilePath(directory))
            options.configuration = config
            options.from = from
            options.follows = follow
            options.checkpoint = checkpoint.map { FilePath($0) }
            try Publishing(options, log: OperatorLog().write).run()
        }
    }
}
