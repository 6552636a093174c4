import ArgumentParser
import BluetoothLE
import CommandSupport
import EventReports
import SystemPackage

struct OccupancyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "occupancy",
        abstract: "Tells how many were here at once, from the event files.",
        discussion: """
            Of each interval the most that were here at once, the mean, how many came and went, how many different ones \
            there were, and which share of it is not known: no adapter listened then, or the gateway was not running. \
            Without a folder it reads the one that the configuration names (output.directory).
            """)

    @OptionGroup var files: EventFilesArguments

    @Option(
        help: ArgumentHelp("How long an interval is: 1m to 1d; 15m where nothing is said.", valueName: "duration"),
        transform: DurationArgument.init)
    var every: DurationArgument?

    @Option(help: ArgumentHelp("Tell of each apart: condition or gateway.", valueName: "what"))
    var by: String?

    @Option(help: ArgumentHelp("Count from then on, such as 2026-11-21 or 2026-11-21T09:00.", valueName: "date"))
    var from: String?

    @Option(help: ArgumentHelp("Count up to then.", valueName: "date"))
    var to: String?

    @Option(help: ArgumentHelp("Only of this condition.", valueName: "identifier"))
    var condition: String?

    @Flag(help: "Tell dates, and take those given, in UTC.")
    var utc = false

    @Flag(help: "A JSON object a line.")
    var json = false

    @Flag(help: "Comma-separated values.")
    var csv = false

    private var division: OccupancyOptions.Division? {
        guard let by else { return .all }
        return by == "condition" || by == "gateway" ? OccupancyOptions.Division(rawValue: by) : nil
    }

    func validate() throws {
        if json, csv { throw ValidationError("--json and --csv exclude each other") }
        if let every {
            let isWhole = every.duration.components.attoseconds == 0
            guard OccupancyOptions.lengths.contains(every.duration), isWhole else {
                throw ValidationError(
                    "--every is \(every.duration.inExactWords); expected whole seconds from 1m to 1d, such as 15m or 1h"
                )
            }
        }
        if division == nil { throw ValidationError("--by is \(by ?? ""); expected condition or gateway") }
        try ZoneArguments.check(isUTC: utc)
        let time = VisitsTime(isUTC: utc)
        for (name, text) in [("--from", from), ("--to", to)] {
            guard let text, time.date(text) == nil else { continue }
            throw ValidationError("\(name) is \(text); expected a date such as 2026-11-21 or 2026-11-21T09:00")
        }
        if let from, let to, let begin = time.date(from), let end = time.date(to), begin >= end {
            throw ValidationError("--from is \(from), which is not before --to \(to): the range is reversed, or empty")
        }
    }

    func run() throws {
        try Terminal.run {
            var visits = VisitsOptions(paths: try files.read().paths)
            visits.time = VisitsTime(isUTC: utc)
            visits.from = from.flatMap { visits.time.date($0) }
            visits.to = to.flatMap { visits.time.date($0) }
            visits.condition = condition
            visits.format = json ? .json : csv ? .csv : .table
            var options = OccupancyOptions(visits)
            if let every { options.every = every.duration }
            if let division { options.by = division }
            for remark in try Occupancy(options).run() { Terminal.say(remark) }
        }
    }
}
