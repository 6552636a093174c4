import ArgumentParser
import CommandSupport
import EventReports
import SystemPackage

/// What every report of stays is asked for: of which files, of when and of whom, and in which form.
struct ReportArguments: ParsableArguments {
    @OptionGroup var files: EventFilesArguments

    @Option(help: ArgumentHelp("Count from then on, such as 2026-11-21 or 2026-11-21T09:00.", valueName: "date"))
    var from: String?

    @Option(help: ArgumentHelp("Count up to then.", valueName: "date"))
    var to: String?

    @Option(help: ArgumentHelp("Only of this condition.", valueName: "identifier"))
    var condition: String?

    @Option(
        help: ArgumentHelp(
            "Only of these beacons: UUID, UUID/MAJOR, UUID/MAJOR/MINOR, MAJOR/MINOR, or a name of the configuration's.",
            valueName: "beacon"))
    var beacon: String?

    @OptionGroup var zone: ZoneArguments

    @Flag(help: "A JSON object a line.")
    var json = false

    @Flag(help: "Comma-separated values.")
    var csv = false

    @Option(help: ArgumentHelp("Write a page into this file; - is standard output.", valueName: "file"))
    var html: String?

    func validate() throws {
        if [json, csv, html != nil].filter({ $0 }).count > 1 {
            throw ValidationError("--json, --csv and --html exclude each other")
        }
        for (name, text) in [("--from", from), ("--to", to)] {
            guard let text, zone.time.date(text) == nil else { continue }
            throw ValidationError("\(name) is \(text); expected a date such as 2026-11-21 or 2026-11-21T09:00")
        }
        let time = zone.time
        if let from, let to, let begin = time.date(from), let end = time.date(to), begin >= end {
            throw ValidationError("--from is \(from), which is not before --to \(to): the range is reversed, or empty")
        }
    }

    /// What is asked for; that there are no names where there should be is said.
    func options() throws(ExitFailure) -> VisitsOptions {
        let places = try files.read()
        var options = VisitsOptions(paths: places.paths)
        options.directory = places.directory
        options.made = .machine
        options.time = zone.time
        options.from = from.flatMap { options.time.date($0) }
        options.to = to.flatMap { options.time.date($0) }
        options.condition = condition
        options.beacon = try beacon.map { (text) throws(ExitFailure) in try places.directory.filter(text) }
        options.format = json ? .json : csv ? .csv : .table
        options.html = html.map { FilePath($0) }
        if let remark = places.remark { Terminal.say(remark) }
        return options
    }
}
