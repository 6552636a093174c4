import ArgumentParser
import Reports
import SystemPackage

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Tells why an event happened, from the event files.",
        discussion: """
            The event is the number of its line (sequence, the LINE of `visits`; hall:12 of the gateway hall where the \
            files are of several), or what `visits` calls somebody \
            ('staff 100/7', staff, 100/7, or a name of the configuration's beacons, such as Ada, or a part that only one \
            of them has) for the last event, with --at for the last one at or before a date. Any line with a number can \
            be explained.
            """)

    @Argument(help: ArgumentHelp("A sequence number, or who: staff, 'staff 100/7', Ada.", valueName: "event"))
    var event: String

    @OptionGroup var files: EventFilesArguments

    @Option(help: ArgumentHelp("The last event of the condition at or before it.", valueName: "date"))
    var at: String?

    @OptionGroup var zone: ZoneArguments

    @Flag(help: "A JSON object.")
    var json = false

    @Option(help: ArgumentHelp("Write a page into this file; - is standard output.", valueName: "file"))
    var html: String?

    // An explanation is no table; whoever looks for it is told.
    @Flag(help: .hidden) var csv = false

    func validate() throws {
        if csv {
            throw ValidationError("an explanation is no table: --json has what it rests on, `visits --csv` the visits")
        }
        if json, html != nil { throw ValidationError("--json and --html exclude each other") }
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
