import ArgumentParser
import CommandSupport
import Reports

struct VisitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "visits",
        abstract: "Lists visits from the event files: who was present, and when.",
        discussion: """
            Without a folder, the command reads the folder of the configuration (output.directory). Visits that had not ended \
            when the gateway was last known to be alive are listed too. Dates from before the clock was set are corrected \
            if later lines have the difference.
            """)

    @OptionGroup var report: ReportArguments

    @Flag(help: "List who is present, as of the time at which the gateway was last known to be alive.")
    var now = false

    // These options are for the server. In a page that is a file, there is nothing to link to.
    @Option(help: .hidden) var explanations: String?
    @Option(help: .hidden) var pages: String?
    @Option(help: .hidden) var limit: Int?
    @Option(help: .hidden) var after: Int?

    func validate() throws {
        if now, report.from != nil || report.to != nil || report.on != nil {
            throw ValidationError("--now reports one moment; use it without --from, --to and --on")
        }
    }

    func run() throws {
        try Terminal.run {
            var options = try report.options()
            options.explanations = explanations
            options.pages = pages
            if let limit { options.listedMax = max(1, min(limit, options.listedMax)) }
            if let after { options.listedAfter = max(0, after) }
            var visits = Visits(options)
            let remarks = now ? try Present(options, now: .machine).run() : try visits.run()
            for remark in remarks { Terminal.say(remark) }
        }
    }
}
