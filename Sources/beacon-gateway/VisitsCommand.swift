import ArgumentParser
import CommandSupport
import EventReports
import GatewayConfiguration
import SystemPackage

struct VisitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "visits",
        abstract: "Tells who was here when, from the event files.",
        discussion: """
            Without a folder it reads the one that the configuration names (output.directory). Whoever \
            had not left when the gateway was last known to be alive is told too. Dates before the clock was set are put right where later lines say by how much.
            """)

    @OptionGroup var files: EventFilesArguments

    @Option(help: ArgumentHelp("Count from then on, such as 2026-11-21 or 2026-11-21T09:00.", valueName: "date"))
    var from: String?

    @Option(help: ArgumentHelp("Count up to then.", valueName: "date"))
    var to: String?

    @Option(help: ArgumentHelp("Only of this condition.", valueName: "identifier"))
    var condition: String?

    @Option(
        help: ArgumentHelp(
            "Only of these beacons: UUID, UUID/MAJOR, UUID/MAJOR/MINOR, MAJOR/MINOR.", valueName: "beacon"))
    var beacon: String?

    @Flag(help: "Tell dates, and take those given, in UTC.")
    var utc = false

    @Flag(help: "A JSON object a line.")
    var json = false

    @Flag(help: "Comma-separated values.")
    var csv = false

    @Option(help: ArgumentHelp("Write a page with a timeline into this file; - is standard output.", valueName: "file"))
    var html: String?

    func validate() throws {
        if [json, csv, html != nil].filter({ $0 }).count > 1 {
            throw ValidationError("--json, --csv and --html exclude each other")
        }
        try ZoneArgument.check(isUTC: utc)
        if let beacon, BeaconFilter(beacon) == nil {
            throw ValidationError("--beacon is \(beacon); expected UUID, UUID/MAJOR, UUID/MAJOR/MINOR or MAJOR/MINOR")
        }
        for (name, text) in [("--from", from), ("--to", to)] {
            guard let text, VisitsTime(isUTC: utc).date(text) == nil else { continue }
            throw ValidationError("\(name) is \(text); expected a date such as 2026-11-21 or 2026-11-21T09:00")
        }
        let time = VisitsTime(isUTC: utc)
        if let from, let to, let begin = time.date(from), let end = time.date(to), begin >= end {
            throw ValidationError("--from is \(from), which is not before --to \(to): the range is reversed, or empty")
        }
    }

    func run() throws {
        try Terminal.run {
            var options = VisitsOptions(paths: try files.paths())
            options.time = VisitsTime(isUTC: utc)
            options.from = from.flatMap { options.time.date($0) }
            options.to = to.flatMap { options.time.date($0) }
            options.condition = condition
            options.beacon = beacon.flatMap { BeaconFilter($0) }
            options.format = json ? .json : csv ? .csv : .table
            options.html = html.map { FilePath($0) }
            var visits = Visits(options)
            for remark in try visits.run() { Terminal.say(remark) }
        }
    }
}

/// Which event files a command reads.
struct EventFilesArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("Folders of event files, or files.", valueName: "place"))
    var place: [String] = []

    @Option(help: ArgumentHelp("The configuration that names the folder.", valueName: "file"))
    var config: String?

    func paths() throws -> [FilePath] {
        if !place.isEmpty { return place.map { FilePath($0) } }
        guard let config else { return [FilePath(OutputConfiguration().directory)] }
        return [FilePath(try ConfigurationFile.load(config, isReplay: false).output.directory)]
    }
}
