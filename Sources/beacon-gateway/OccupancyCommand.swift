import ArgumentParser
import BaseTypes
import CommandSupport
import Reports

struct OccupancyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "occupancy",
        abstract: "Reports how many beacons were present at once, from the event files.",
        discussion: """
            For each interval: the maximum and the mean of the beacons that were present at once, the number of entries and \
            exits, the number of different beacons, and the share of the time that is unknown, because no adapter scanned \
            or the gateway did not run. Without a folder, the command reads the folder of the configuration \
            (output.directory).
            """)

    @OptionGroup var report: ReportArguments

    @Option(
        help: ArgumentHelp("The length of an interval, 1m to 1d. (default: 15m)", valueName: "duration"),
        transform: DurationArgument.init)
    var every: DurationArgument?

    @Option(help: ArgumentHelp("Report each condition, group or gateway separately.", valueName: "kind"))
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
                    "--by group needs groups, but no beacon in the configuration has one; set group in beacons "
                        + "(--config FILE)")
            }
            for remark in try Occupancy(options).run() { Terminal.say(remark) }
        }
    }
}
