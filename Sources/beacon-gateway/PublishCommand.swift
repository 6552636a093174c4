import ArgumentParser
import CommandSupport
import GatewayCommands
import OperatorLogging
import SystemPackage

struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Ships event files to an MQTT broker, from another process or machine, or once again.",
        discussion: """
            Lines alone, in order, with QoS 1, each until the broker has acknowledged it. How far that is stands in a \
            checkpoint beside the files, and the next time goes on from there. A broker that is away is waited for. \
            Retained states and availability are the running gateway's own.
            """)

    @Argument(help: ArgumentHelp("The folder of event files.", valueName: "dir"))
    var directory: String

    @Option(help: ArgumentHelp("The configuration whose mqtt section says which broker.", valueName: "file"))
    var config = ConfigurationFile.defaultPath

    @Option(help: ArgumentHelp("Ship from this line on, whatever the checkpoint says.", valueName: "sequence"))
    var from: Int?

    @Flag(help: "Wait for more at the end, until SIGTERM or SIGINT.")
    var follow = false

    @Option(help: ArgumentHelp("Where the checkpoint is kept; publish.json in the folder.", valueName: "file"))
    var checkpoint: String?

    func validate() throws {
        if let from, from < 1 { throw ValidationError("--from is \(from); lines are numbered from 1") }
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
