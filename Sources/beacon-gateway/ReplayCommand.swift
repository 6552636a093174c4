import ArgumentParser
import Captures
import CommandSupport
import EventLoops
import GatewayConfiguration
import OperatorLogging
import Replaying
import SystemPackage

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Replays captures through the monitor and writes its events.",
        discussion: """
            Reads btsnoop, pcap, pcapng, PacketLogger, hcidump text and the advertisement log (JSON or CSV), also compressed with \
            gzip, bzip2, xz or zstd. The content of a file determines its format. GPX files have the positions of the \
            gateway, for conditions with a center. Without --config, each UUID is a condition with events for each of \
            its beacons.

            Writes one short line per event on a terminal, and JSON Lines to a pipe or file. --sightings are always JSON \
            Lines.

            Times are those of the capture. At its last record time stops, unless --settle is set.
            """)

    @Argument(
        help: ArgumentHelp(
            "Captures. NAME= adds a prefix to the names of adapters; use - for standard input.",
            valueName: "[name=]file"))
    var files: [String]

    @Option(help: ArgumentHelp("The configuration with the conditions.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Write the lines to this folder, which must be empty.", valueName: "folder"))
    var output: String?

    @Option(
        help: ArgumentHelp("Replay at most this many times as fast as the capture; 1 is real time.", valueName: "n"))
    var speed: Double?

    @Flag(help: "Continue after the last record until nothing more can become due.")
    var settle = false

    @Flag(help: "Exit with 0 also if a capture is truncated or corrupt, or if some of its records are rejected.")
    var lenient = false

    @Flag(help: "Write sightings instead of events, one per line.")
    var sightings = false

    @Flag(help: "Write the evidence of each exit, for explain. This implies --json.")
    var evidence = false

    @Flag(help: "Write JSON Lines also on a terminal.")
    var json = false

    @Flag(help: "Write counters to standard error, as one JSON object.")
    var stats = false

    @Flag(
        help:
            "Write a line with the results to standard error. On a terminal, this is the default without --stats."
    )
    var summary = false

    @Option(help: ArgumentHelp("Use only the records of this adapter.", valueName: "name"))
    var adapter: String?

    @Option(
        help: ArgumentHelp(
            "Delay records by up to this time, and sort them by their times.", valueName: "duration"),
        transform: DurationArgument.init)
    var reorder: DurationArgument?

    @Option(
        help: ArgumentHelp("The time between the records of a capture without times.", valueName: "duration"),
        transform: DurationArgument.init)
    var interval: DurationArgument?

    @Option(help: ArgumentHelp("The speed on a track without times, in metres per second.", valueName: "m/s"))
    var pace: Double?

    @OptionGroup var capture: CaptureArguments

    func validate() throws {
        if let speed, !ReplayOptions.speeds.contains(speed) {
            throw ValidationError("--speed is \(speed); must be \(ReplayOptions.speeds.lowerBound) to a million")
        }
        if let pace, !(pace > 0 && pace.isFinite) { throw ValidationError("--pace is \(pace); must be above 0") }
        if sightings, output != nil {
            throw ValidationError("--sightings writes to standard output; use it without --output")
        }
        if files.filter({ $0 == "-" || $0.hasSuffix("=-") }).count > 1 {
            throw ValidationError("standard input (-) can be used only once")
        }
    }

    func run() throws {
        try Terminal.run {
            var options = ReplayOptions(
                inputs: files.map { ReplayOptions.Input(argument: $0) { SmallFile.exists(FilePath($0)) } })
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
            options.fields = try capture.fieldMap()
            options.zone = capture.captureZone
            options.waitsForBeacons = FileDescriptor.standardOutput.isTerminal
            options.writesText = options.waitsForBeacons && output == nil && !json && !evidence
            for warning in options.configuration?.warningLines ?? [] { Terminal.say(warning) }
            let outcome = try Replay(options).run()
            if stats { Terminal.write(outcome.statistics.json) }
            // With --stats, the summary is written only on request, because programs that read the object expect
            // nothing else.
            let writesSummary = summary || (!stats && FileDescriptor.standardError.isTerminal)
            if writesSummary { Terminal.say(outcome.summary) }
            if !stats { outcome.warnings(withSummary: writesSummary).forEach { Terminal.say($0) } }
            for remark in outcome.remarks { Terminal.say(remark) }
            for damage in outcome.damages { Terminal.say(damage) }
            guard outcome.damages.isEmpty || lenient else { throw ExitCode(ExitFailure.Code.dataInvalid.rawValue) }
        }
    }
}
