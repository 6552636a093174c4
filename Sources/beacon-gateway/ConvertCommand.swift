import ArgumentParser
import Captures
import CommandSupport
import Replaying

struct ConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Takes a capture over into another format, so that a replay of it gives the same lines.",
        discussion: """
            Reads whatever replay reads. Writes btsnoop (what btmon and Wireshark read), pcapng, or the advertisement \
            log, by the ending of the result's name (.btsnoop, .pcapng, .jsonl) or as --format says. What the result \
            can't hold is named.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case btsnoop, pcapng, log

        var format: CaptureWriter.Format {
            switch self {
            case .btsnoop: .btsnoop
            case .pcapng: .pcapng
            case .log: .advertisementLog
            }
        }
    }

    @Argument(help: "The capture; - is standard input.")
    var input: String

    @Argument(help: "The result; - is standard output.")
    var output: String

    @Option(help: "The result's format, where its name does not tell.")
    var format: Format?

    @Option(
        help: ArgumentHelp("The time between the records of a capture that has no times.", valueName: "duration"),
        transform: DurationArgument.init)
    var interval: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Other names for a log's fields, such as adapter=scannerID,measuredPower=power.", valueName: "map"))
    var fields: String?

    @OptionGroup var localTime: LocalTimeArguments

    @Flag(help: "Exit with 0 also if the capture is cut off or corrupt, or some of its records are refused.")
    var lenient = false

    func run() throws {
        guard let format = format?.format ?? CaptureWriter.Format(fileName: output) else {
            throw ValidationError(
                "“\(output)” does not tell a format: end it in .btsnoop, .pcapng or .jsonl, or say --format")
        }
        try Terminal.run {
            let outcome = try Conversion(
                .path(input), to: output, format: format, fields: try Terminal.fields(fields),
                zone: localTime.captureZone, interval: interval?.duration
            ).run()
            for loss in outcome.losses { Terminal.say("not held by the result: \(loss)") }
            for remark in outcome.remarks { Terminal.say(remark) }
            for damage in outcome.damages { Terminal.say(damage) }
            guard outcome.damages.isEmpty || lenient else { throw ExitCode(ExitFailure.Code.dataInvalid.rawValue) }
        }
    }
}
