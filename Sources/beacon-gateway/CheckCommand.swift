import ArgumentParser
import CommandSupport
import GatewayCommands
import GatewayConfiguration

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks a configuration and lists all errors, each with its line and a remedy.",
        discussion: "Exits with 78 if there is an error, and with 0 if there are only warnings.")

    @Argument(help: "The configuration; use - for standard input.")
    var file = ConfigurationFile.defaultPath

    func run() throws {
        try Terminal.run {
            let configuration = try ConfigurationFile.loadWithNames(file, isReplay: false)
            let files =
                (configuration.mqtt?.exposures ?? []) + [configuration.namesExposure(besides: file)].compactMap(\.self)
            let others = files + configuration.obstacles(in: file).map { "\($0)" }
            for line in configuration.warningLines + others.map({ "warning: \($0)" }) { Terminal.say(line) }
            let warnings = configuration.warnings.count + configuration.warningsLeftOut + others.count
            let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
            Terminal.show(
                """
                \(file): no errors; monitors: \(configuration.monitors.count), conditions: \(conditions), \
                \(configuration.beacons.count > 0 ? "named beacons: \(configuration.beacons.count), " : "")\
                warnings: \(warnings)

                """)
        }
    }
}
