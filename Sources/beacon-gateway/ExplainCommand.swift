import ArgumentParser
import Reports
import SystemPackage

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains why an event happened, from the event files.",
        discussion: """
            The event is either the sequence number of its line, or the condition or beacon that it is about.

            `visits` prints the sequence number in the column LINE. If the files are of several gateways, hall:12 is \
            line 12 of the gateway hall. Each line with a sequence number can be explained.

            A condition or beacon is written as in `visits`: 'staff 100/7', staff, 100/7, or a name in the configuration, \
            such as Ada, or a part of a name that no other beacon has. Its last event is explained; with --at, its last \
            event at or before that date.
            """)

    @Argument(
        help: ArgumentHelp(
            "A sequence number, a condition or a beacon: 12, staff, 'staff 100/7', Ada.", valueName: "event"))
    var event: String

    @OptionGroup var files: EventFilesArguments

    @Option(
        help: ArgumentHelp(
            "Explain the last event of the condition or beacon at or before this date: 2026-11-21T09:00, or -2h for 2 hours ago.",
            valueName: "date"))
    var at: String?

    @OptionGroup var zone: ZoneArguments

    @Flag(help: "Print a JSON object.")
    var json = false

    @Option(help: ArgumentHelp("Write a page to this file; use - for standard output.", valueName: "file"))
    var html: String?

    // An explanation is not a table. The option exists only for a helpful error message.
    @Flag(help: .hidden) var csv = false

    func validate() throws {
        if csv {
            throw ValidationError(
                "an explanation is not a table; use --json for its evidence, or `visits --csv` for the visits")
        }
        if json, html != nil { throw ValidationError("use only one of --json and --html") }
        _ = try GivenDate.checked(at, of: "at", in: zone.time)
    }

    func run() throws {
        try Terminal.run {
            let time = zone.time
            let places = try files.read()
            if let remark = places.remark { Terminal.say(remark) }
            let date = try GivenDate.checked(at, of: "at", in: time)
            if let ambiguity = date?.ambiguity(of: "at", taken: .second, in: time) { Terminal.say("--\(ambiguity)") }
            let explain = try Explain(
                Explain.Target(event, at: date?.date(.second)), paths: places.paths, time: time,
                directory: places.directory)
            for remark in try explain.run(json ? .json : html.map { .page(FilePath($0)) } ?? .text) {
                Terminal.say(remark)
            }
        }
    }
}
