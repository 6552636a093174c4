import ArgumentParser
import BaseTypes
import CommandSupport
import Reports

struct OccupancyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "occupancy",
        abstract: "Tells how many were here at once, from the event files.",
        discussion: """
            Of each interval the most that were here at once, the mean, how many came and went, how many different ones \
            there were, and which share of it is not known: no adapter listened then, or the gateway was not running. \
            Without a folder it reads the one that the configuration names (output.directory).
            """)

    @OptionGroup var report: ReportArguments

    @Option(
        help: ArgumentHelp("How long an interval is: 1m to 1d; 15m where nothing is said.", valueName: "duration"),
        transform: DurationArgument.init)
    var every: DurationArgument?

    @Option(help: ArgumentHelp("Tell of each apart: condition, group or gateway.", valueName: "what"))
    var by: String?

    private var division: OccupancyOptions.Division? {
        guard let by else { return .all }
        return by == "all" ? nil : OccupancyOptions.Division(rawValue: by)
    }

    func validate() throws {
        if let every {
            let isWhole = every.duration.components.attoseconds == 0
            guard OccupancyOptions.lengths.contains(every.duration), isWhole else {
                throw ValidationError(
                    "--every is \(every.duration.inExactWords); expected whole seconds from 1m to 1d, such as 15m or 1h"
                )
            }
        }
        if division == nil { throw ValidationError("--by is \(by ?? ""); expected condition, group or gateway") }
    }

    func run() throws {
        try Terminal.run {
            var options = OccupancyOptions(try report.options())
            if let every { options.every = every.duration }
            if let division { options.by = division }
            if options.by == .group, options.visits.directory.groups.isEmpty {
                throw ExitFailure(
                    .usage,
                    "--by group needs groups, and the configuration's beacons have none: give them a group in beacons "
                        + "(--config FILE)")
            }
            for remark in try Occupancy(options).run() { Terminal.say(remark) }
        }
    }
}
