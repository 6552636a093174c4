import ArgumentParser
import BluetoothLE
import CommandSupport
import Reports
import SystemPackage

/// The arguments of all reports of visits: the event files, the period, the beacons and the output format.
struct ReportArguments: ParsableArguments {
    @OptionGroup var files: EventFilesArguments

    @Option(
        help: ArgumentHelp(
            "Report from this date on: 2026-11-21, 2026-11-21T09:00, today, yesterday, this-week, last-week, or -7d for 7 days ago.",
            valueName: "date"))
    var from: String?

    @Option(help: ArgumentHelp("Report until this date.", valueName: "date"))
    var to: String?

    @Option(
        help: ArgumentHelp(
            "Report this day or week: 2026-11-21, today, yesterday, this-week or last-week.", valueName: "day"))
    var on: String?

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
        _ = try range()
    }

    /// Returns the range of the report.
    ///
    /// - Throws: `ValidationError` if a date or the range is invalid.
    private func range() throws -> GivenRange {
        do throws(GivenRange.Invalid) {
            return try GivenRange(from: from, to: to, on: on, in: zone.time, now: .machine)
        } catch {
            switch error {
            case .date(let option, let text, let reason): throw ValidationError("--\(option) is \(text); \(reason)")
            case .onNotPeriod(let text):
                throw ValidationError("--on is \(text); expected a day or a week, such as 2026-11-21 or last-week")
            case .onWithOthers: throw ValidationError("--on is a complete range; use it without --from and --to")
            case .reversed(let from, let to):
                throw ValidationError("--from is \(from); must be before --to, which is \(to)")
            }
        }
    }

    /// Returns the options of a report. If names are missing that should exist, it prints a remark.
    func options() throws -> VisitsOptions {
        let places = try files.read()
        var options = VisitsOptions(paths: places.paths)
        options.directory = places.directory
        options.made = .machine
        options.time = zone.time
        let range = try range()
        (options.from, options.to, options.ambiguousDates) = (range.from, range.to, range.ambiguousDates)
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
