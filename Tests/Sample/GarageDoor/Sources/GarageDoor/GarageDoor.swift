import ArgumentParser
import BeaconScanning
import Logging
import Subprocess
import SystemPackage

@main struct GarageDoor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "garage-door",
        abstract: "Runs a command when one badge comes back.",
        discussion: """
            Example: garage-door --badge F7826DA6-4FA2-4E98-8024-BC5B71E0893E/1/7 -- \
            gpioset --mode=time --usec=500000 gpiochip0 17=1
            """)

    @Option(help: "The badge that opens the door.") var badge: BeaconIdentity

    @Option(name: .customLong("from"), help: "A capture, used instead of the adapters of the machine.")
    var capture: String?

    @Option(help: "The number of seconds without the badge after which it is absent, at least 60.") var absence = 300

    @Argument(parsing: .postTerminator, help: "The command that opens the door, within 10 s.") var command: [String]

    func validate() throws {
        guard absence >= 60 else {
            throw ValidationError(
                "--absence is \(absence); it must be at least 60 s, because a weak badge is not received each second"
            )
        }
    }

    func run() async throws {
        let logger = Logger(label: "garage-door") { StreamLogHandler.standardError(label: $0) }
        let opener = try await DoorOpener(
            badge: badge, absence: .seconds(absence), scanning: capture.map { .capture($0) } ?? .automatic,
            logger: logger, open: { try await Self.execute(command) })
        try await opener.serviceGroup(shutdownSignals: [.sigint, .sigterm]).run()
    }

    /// Runs the command, and kills its process (not the children of it) after 10 s.
    private static func execute(_ command: [String]) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask {
                // In a process group of its own, so that Ctrl-C does not end the command.
                var options = PlatformOptions()
                options.processGroupID = 0
                let program = command[0]
                let result = try await Subprocess.run(
                    program.contains("/") ? .path(FilePath(program)) : .name(program),
                    arguments: Arguments(Array(command.dropFirst())), platformOptions: options,
                    output: .currentStandardOutput, error: .currentStandardError)
                guard result.terminationStatus.isSuccess else {
                    throw CommandError(description: "\(program): \(result.terminationStatus)")
                }
            }
            group.addTask {
                try await Task.sleep(for: .seconds(10))
                throw CommandError(description: "\(command[0]) did not end within 10 s")
            }
            // The first task to end decides; the other one is cancelled, which kills the command.
            try await group.next()
            group.cancelAll()
        }
    }

    private struct CommandError: Error, CustomStringConvertible {
        let description: String
    }
}

extension BeaconIdentity: @retroactive ExpressibleByArgument {}
