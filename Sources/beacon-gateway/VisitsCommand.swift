import ArgumentParser
import CommandSupport
import Reports

struct VisitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "visits",
        abstract: "Tells who was here when, from the event files.",
        discussion: """
            Without a folder it reads the one that the configuration names (output.directory). Whoever \
            had not left when the gateway was last known to be alive is told too. Dates before the clock was set are put right where later lines say by how much.
            """)

    @OptionGroup var report: ReportArguments

    @Flag(help: "Tell who is here, as of when the gateway was last known to be alive.")
    var now = false

    // What serves pages asks for it: a page in a file has nothing to lead to.
    @Option(help: .hidden) var explanations: String?
    @Option(help: .hidden) var pages: String?
    @Option(help: .hidden) var limit: Int?
    @Option(help: .hidden) var after: Int?

    func validate() throws {
        if now, report.from != nil || report.to != nil {
            throw ValidationError("--now is about one moment: it takes no --from and no --to")
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
