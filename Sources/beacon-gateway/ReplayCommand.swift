import ArgumentParser
import Captures
import CommandSupport
import GatewayConfiguration
import OperatorLogging
import Replaying
import SystemPackage

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Replays captures through the monitor and writes its lines.",
        discussion: """
            Reads GPX files too, as where the gateway was, for conditions with a center.

            Reads btsnoop, pcap, pcapng, hcidump text and the advertisement log, gzip and zstd too, recognised by their \
            content. Without --config each UUID becomes a condition with events for each of its beacons.

            The time is the capture's own; at its last record time stops, unless --settle lets it go on until nothing \
            is left to become due.
            """)

    @Argument(
        help: ArgumentHelp(
            "Captures; NAME= puts a name before its adapters', - is standard input.", valueName: "[name=]file"))
    var files: [String]

    @Option(help: ArgumentHelp("The configuration with the conditions.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Write the lines into this folder, which must be empty.", valueName: "folder"))
    var output: String?

    @Option(help: ArgumentHelp("Go no faster than this many times the capture's time; 1 is as it was.", valueName: "n"))
    var speed: Double?

    @Flag(help: "Let time go on after the last record until nothing is left to become due.")
    var settle = false

    @Flag(help: "Exit with 0 also if a capture is cut off or corrupt, or some of its records are refused.")
    var lenient = false

    @Flag(help: "Write sightings, one a line, in place of events.")
    var sightings = false

    @Flag(help: "Write beside each exit what it rests on, for explain.")
    var evidence = false

    @Flag(help: "Write what was counted to standard error, as one JSON object.")
    var stats = false

    @Flag(
        help:
            "Say in a line on standard error what was read and found; on a terminal that is said without asking for it."
    )
    var summary = false

    @Option(help: ArgumentHelp("Take only this adapter's records.", valueName: "name"))
    var adapter: String?

    @Option(
        help: ArgumentHelp(
            "Hold records back this long, and hand them over in the order of their times.", valueName: "duration"),
        transform: DurationArgument.init)
    var reorder: DurationArgument?

    @Option(
        help: ArgumentHelp("The time between the records of a capture that has no times.", valueName: "duration"),
        transform: DurationArgument.init)
    var interval: DurationArgument?

    @Option(help: ArgumentHelp("How fast a track without times was travelled, in metres a second.", valueName: "m/s"))
    var pace: Double?

    @Option(
        help: ArgumentHelp(
            "Other names for a log's fields, such as adapter=scannerID,measuredPower=power.", valueName: "map"))
    var fields: String?

    @OptionGroup var localTime: LocalTimeArguments

    func validate() throws {
        if let speed, !ReplayOptions.speeds.contains(speed) {
            throw ValidationError("--speed is \(speed); expected \(ReplayOptions.speeds.lowerBound) to a million")
        }
        if let pace, !(pace > 0 && pace.isFinite) { throw ValidationError("--pace is \(pace); expected above 0") }
        if sightings, output != nil { throw ValidationError("--sightings goes to standard output, not with --output") }
        if files.filter({ $0 == "-" || $0.hasSuffix("=-") }).count > 1 {
            throw ValidationError("standard input (-) can be read once only")
        }
    }

    func run() throws {
        try Terminal.run {
            var options = ReplayOptions(inputs: files.map { ReplayOptions.Input(argument: $0) })
            options.configuration = try config.map { try ConfigurationFile.loadWithNames($0, isReplay: true) }
            options.outputDirectory = output
            options.speed = speed
            options.settles = settle
            options.isLenient = lenient
            options.writesSightings = sightings
            options.writesStatistics = stats
            options.writesEvidence = evidence
            options.adapter = adapter
            options.reorder = reorder?.duration
            options.interval = interval?.duration
            options.pace = pace
            options.fields = try Terminal.fields(fields)
            options.zone = localTime.captureZone
            options.waitsForBeacons = FileDescriptor.standardOutput.isTerminal
            for warning in options.configuration?.warningLines ?? [] { Terminal.say(warning) }
            let outcome = try Replay(options).run()
            if stats { Terminal.write(outcome.statistics.json) }
            // With --stats only on request: programs that read the object expect nothing else.
            let writesSummary = summary || (!stats && FileDescriptor.standardError.isTerminal)
            if writesSummary { Terminal.say(outcome.summary) }
            if !stats { outcome.warnings(withSummary: writesSummary).forEach { Terminal.say($0) } }
            for remark in outcome.remarks { Terminal.say(remark) }
            for damage in outcome.damages { Terminal.say(damage) }
            guard outcome.damages.isEmpty || lenient else { throw ExitCode(ExitFailure.Code.dataInvalid.rawValue) }
        }
    }
}
