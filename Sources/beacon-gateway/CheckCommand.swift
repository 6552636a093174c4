import ArgumentParser
import CommandSupport
import ConfiguredShipping
import GatewayConfiguration

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks a configuration: every mistake at once, each with its line and a hint.",
        discussion: "Ends with 78 where there is a mistake. Warnings are no mistakes.")

    @Argument(help: "The configuration; - is standard input.")
    var file = ConfigurationFile.defaultPath

    func run() throws {
        try Terminal.run {
            let configuration = try ConfigurationFile.loadWithNames(file, isReplay: false)
            for warning in configuration.warnings { Terminal.say("warning: \(warning)") }
            for exposure in configuration.mqtt?.exposures ?? [] { Terminal.say("warning: \(exposure)") }
            let namesExposure = configuration.namesExposure(besides: file)
            if let namesExposure { Terminal.say("warning: \(namesExposure)") }
            let obstacles = configuration.obstacles(in: file)
            for obstacle in obstacles { Terminal.say("warning: \(obstacle)") }
            let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
            Terminal.show(
                """
                \(file): no mistake; monitors: \(configuration.monitors.count), conditions: \(conditions), \
                \(configuration.beacons.count > 0 ? "named beacons: \(configuration.beacons.count), " : "")\
                warnings: \(configuration.warnings.count + obstacles.count)

                """)
        }
    }
}
