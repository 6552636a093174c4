import ArgumentParser
import CommandSupport
import Reports

/// The command line. Each command has a file in this folder.
@main
struct BeaconGateway: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beacon-gateway",
        abstract: "Monitors BLE beacons, and explains each entry and exit.",
        discussion: """
            Exit codes (sysexits.h): 0 success, 1 failure, 64 invalid usage, 65 invalid input data, 66 input missing, \
            69 unavailable, 73 and 74 cannot write, 77 no permission, 78 invalid configuration.
            """,
        version: Program.version,
        subcommands: [
            RunCommand.self, StatusCommand.self, ScanCommand.self, RecordCommand.self, ReplayCommand.self,
            ConvertCommand.self, VisitsCommand.self, OccupancyCommand.self, ExplainCommand.self, ServeCommand.self,
            EraseCommand.self, PublishCommand.self, CheckCommand.self, DoctorCommand.self,
        ])

    static func main() {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if let problem = CommandNames.problem(in: arguments) { throw ValidationError(problem) }
            var command = try parseAsRoot(GivenDate.joined(arguments))
            try command.run()
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            // The message is written like all other messages for operators: harmless, and broken between words.
            Terminal.say(fullMessage(for: error))
            exit(withError: ExitCode.validationFailure)
        }
    }
}
