import ArgumentParser
import CommandSupport
import GatewayCommands
import GatewayConfiguration

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the state of the running gateway: adapters, conditions, output and diagnostics.",
        discussion:
            """
            Asks the status socket (output.status_socket), also if the configuration has errors. If no gateway runs, it shows \
            the state that the last one stored, and exits with 69.
            """)

    @Option(help: ArgumentHelp("The configuration with the status socket.", valueName: "file"))
    var config = ConfigurationFile.defaultPath

    @Option(help: ArgumentHelp("Ask this socket instead of the configured one.", valueName: "path"))
    var socket: String?

    @Flag(help: "Print one JSON object.")
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
