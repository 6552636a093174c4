import ArgumentParser
import BluetoothLE
import CommandSupport
import Reports
import SystemPackage

/// The arguments of all reports of visits: the event files, the period, the beacons and the output format.
struct ReportArguments: ParsableArguments {
    @OptionGroup var files: EventFilesArguments

    @Option(help: ArgumentHelp("Report from this date on, such as 2026-11-21 or 2026-11-21T09:00.", valueName: "date"))
    var from: String?

    @Option(help: ArgumentHelp("Report until this date.", valueName: "date"))
    var to: String?

    @Option(help: ArgumentHelp("Report only this condition.", valueName: "identifier"))
    var condition: String?

    @Option(
        help: ArgumentHelp(
            "Report only these beacons: UUID, UUID/MAJOR, UUID/MAJOR/MINOR, MAJOR/MINOR, a name in the configuration, "
                + "or a part of a name that no other beacon has.",
            valueName: "beacon"))
    var beacon: String?

    @OptionGroup var zone: ZoneArguments

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Flag(help: "Print comma-separated values.")
    var csv = false

    @Option(help: ArgumentHelp("Write a page to this file; use - for standard output.", valueName: "file"))
    var html: String?

    func validate() throws {
        if [json, csv, html != nil].filter({ $0 }).count > 1 {
            throw ValidationError("use only one of --json, --csv and --html")
        }
        let begin = try GivenDate.checked(from, of: "from", in: zone.time)
        let end = try GivenDate.checked(to, of: "to", in: zone.time)
        if let from, let to, let begin, let end, begin.date(.first) >= end.date(.second) {
            throw ValidationError("--from is \(from); must be before --to, which is \(to)")
        }
    }

    /// Returns the options of a report. If names are missing that should exist, it prints a remark.
    func options() throws -> VisitsOptions {
        let places = try files.read()
        var options = VisitsOptions(paths: places.paths)
        options.directory = places.directory
        options.made = .machine
        options.time = zone.time
        let time = options.time
        // If clocks show a date twice, the instants that leave nothing out are used.
        let begin = try GivenDate.checked(from, of: "from", in: time)
        let end = try GivenDate.checked(to, of: "to", in: time)
        (options.from, options.to) = (begin?.date(.first), end?.date(.second))
        options.ambiguousDates = [
            begin?.ambiguity(of: "from", taken: .first, in: time), end?.ambiguity(of: "to", taken: .second, in: time),
        ].compactMap(\.self)
        for date in options.ambiguousDates { Terminal.say("--\(date)") }
        options.condition = condition
        options.beacon = try beacon.map { (text) throws(ExitFailure) in try places.directory.filter(text) }
        if let beacon, let name = options.beacon?.text, name != beacon {
            Terminal.say("--beacon \(beacon) matches \(name)")
        }
        options.format = json ? .json : csv ? .csv : .table
        options.html = html.map { FilePath($0) }
        if let remark = places.remark { Terminal.say(remark) }
        return options
    }
}
