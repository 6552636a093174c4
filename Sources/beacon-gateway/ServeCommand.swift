import ArgumentParser
import CommandSupport
import PublisherProtocol

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Shows who is here on a page that changes by itself, and to programs and Prometheus.",
        discussion: """
            Reads the event files and hears nothing; the service beacon-gateway-serve does the same at boot. On this \
            machine alone without TLS and users, or a proxy (serve, in the configuration). Ends on SIGTERM or SIGINT; \
            SIGHUP reads the names of beacons again, the certificate and the users.
            """)

    @Option(
        help: ArgumentHelp("The configuration: where the event files are, and its section serve.", valueName: "file"))
    var config = ConfigurationFile.defaultPath

    func run() throws {
        try Terminal.run {
            // A program of its own: no other has a library for HTTP.
            let failure = Companions.become("beacon-gateway-serve", [config])
            throw ExitFailure(.failed, "\(failure); install beacon-gateway again")
        }
    }
}
