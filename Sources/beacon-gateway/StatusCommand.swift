import ArgumentParser
import CommandSupport
import GatewayCommands
import GatewayConfiguration

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what the running daemon knows: adapters, conditions, output, diagnostics.",
        discussion:
            """
            Asks the status socket (output.status_socket), also while the configuration has mistakes. Without a daemon it shows \
            what the last one left, and ends with 69.
            """)

    @Option(help: ArgumentHelp("The configuration, for its status socket.", valueName: "file"))
    var config = ConfigurationFile.defaultPath

    @Option(help: ArgumentHelp("The socket to ask, whatever the configuration says.", valueName: "path"))
    var socket: String?

    @Flag(help: "One JSON object.")
    var json = false

    func run() throws {
        try Terminal.run {
            let status = try socket.map(Status.ask(socket:)) ?? Status.ask(configuration: config)
            if json { print(status.json, terminator: "") } else { Terminal.show(status.page) }
            if let note = status.note { Terminal.say(note) }
            if let remark = status.remark {
                Terminal.say(remark)
                throw ExitCode(ExitFailure.Code.serviceUnavailable.rawValue)
            }
        }
    }
}
