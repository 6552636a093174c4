import ArgumentParser
import BluetoothLE
import CommandSupport
import EventLog
import EventLoops
import GatewayCommands
import GatewayConfiguration
import Reports
import SystemPackage

struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erases a beacon from the data that a gateway stores (right to be forgotten).",
        discussion: """
            Lines of the beacon keep only their sequence number and date. Other lines that name the beacon lose only these \
            parts. All remaining lines, and all sequence numbers and positions, stay as they are. A running gateway forgets \
            the beacon too: if it is received again, it is new. The command can be interrupted and repeated. If a folder is given, only \
            that folder is changed, for example a copy, or the output of replay --output.
            """)

    @Argument(
        help: ArgumentHelp(
            "UUID/MAJOR/MINOR, MAJOR/MINOR, or the name of the beacon in the configuration.", valueName: "beacon"))
    var beacon: String

    @Argument(help: ArgumentHelp("A folder of event files that no gateway writes to.", valueName: "folder"))
    var folder: String?

    @Option(help: ArgumentHelp("The configuration that names the folders.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Erase only data from before this date: 2026-11-21, 2026-11-21T09:00, or -30d for 30 days ago.",
            valueName: "date"))
    var before: String?

    @Flag(help: "The date is in UTC.")
    var utc = false

    @Flag(help: "List the changes without making them.")
    var dryRun = false

    @Flag(help: "Print a JSON object.")
    var json = false

    @Flag(help: "Print comma-separated values.")
    var csv = false

    @Option(help: ArgumentHelp("Write a page to this file; use - for standard output.", valueName: "file"))
    var html: String?

    func validate() throws {
        if [json, csv, html != nil].filter({ $0 }).count > 1 {
            throw ValidationError("use only one of --json, --csv and --html")
        }
        try ZoneArguments.check(isUTC: utc)
        _ = try GivenDate.checked(before, of: "before", in: ZonedTime(isUTC: utc))
    }

    func run() throws {
        try Terminal.run {
            let configuration = try loadConfiguration()
            // This check must precede the errors of the reports, which cannot read a link whose target is missing.
            if let folder { try Erasing.check(FilePath(folder)) }
            let identity = try ErasureSubject.beacon(beacon, configuration) { (major, minor) throws(ExitFailure) in
                guard let folder else { return nil }
                return try NothingFound.uuids(of: major, minor, in: FilePath(folder))
            }
            // This throws if the folder has no event files. A folder that was given by mistake must not look like one
            // without the beacon.
            if let folder { _ = try NothingFound.uuids(of: identity.major, identity.minor, in: FilePath(folder)) }
            let time = ZonedTime(isUTC: utc)
            let date = try GivenDate.checked(before, of: "before", in: time)
            // Erased lines cannot be restored. If clocks show a date twice, the instant that erases less is used.
            if let ambiguity = date?.ambiguity(of: "before", taken: .first, in: time) { Terminal.say("--\(ambiguity)") }
            let request = ErasureRequest(identity, before: date?.date(.first))
            let output = configuration?.output ?? OutputConfiguration()
            var options = Erasing.Options(FilePath(folder ?? output.directory), request)
            if folder == nil {
                options.stateDirectory = FilePath(output.stateDirectory)
                options.cacheDirectory = configuration.map { FilePath($0.serve.cacheDirectory) }
                options.publishesLines = configuration?.mqtt != nil
                options.conditions = ErasureSubject.conditions(that: request, of: configuration)
            }
            options.isFolderAlone = folder != nil
            options.isDryRun = dryRun
            options.dateText = { "\(time.plainText($0)) \(time.zone(at: $0))" }
            let outcome = try Erasing(options).run()
            guard let format else { return outcome.words.forEach { Terminal.say($0) } }
            var report = ErasureReport(
                identity, in: options.directory, isDryRun: dryRun, before: request.before, made: .machine,
                time: time)
            (report.erased, report.cleared) = (outcome.counts.erased, outcome.counts.cleared)
            (report.damaged, report.files, report.words) = (outcome.counts.damaged, outcome.files, outcome.words)
            try report.write(format)
        }
    }

    private var format: ErasureReport.Format? {
        json ? .json : csv ? .csv : html.map { .page(FilePath($0)) }
    }

    /// Loads the configuration. A given file must exist. The default file may be missing, and is not read if a folder
    /// is given.
    private func loadConfiguration() throws -> Configuration? {
        let path = config ?? ConfigurationFile.defaultPath
        if config == nil, folder != nil || !SmallFile.exists(FilePath(path)) { return nil }
        return try ConfigurationFile.loadWithNames(path, isReplay: false)
    }
}
