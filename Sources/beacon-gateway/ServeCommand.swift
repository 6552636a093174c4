import ArgumentParser
import CommandSupport
import PublisherProtocol

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves a live page of the present beacons, the same data for programs, and Prometheus metrics.",
        discussion: """
            Reads the event files and does not scan; the service beacon-gateway-serve does the same from boot on. Only this \
            machine can connect, unless TLS and users, or a proxy, are configured (section serve). SIGTERM and SIGINT \
            stop it; SIGHUP reads the names of beacons, the certificate and the users again.
            """)

    @Option(
        help: ArgumentHelp("The configuration with the folder of event files and the section serve.", valueName: "file")
    )
    var config = ConfigurationFile.defaultPath

    func run() throws {
        try Terminal.run {
            // This is a separate program, so that no other program links the HTTP library.
            let failure = ProgramFinder.become("beacon-gateway-serve", [config])
            throw ExitFailure(.failed, "\(failure); reinstall beacon-gateway")
        }
    }
}
