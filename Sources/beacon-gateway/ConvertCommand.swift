import ArgumentParser
import Captures
import CommandSupport
import Replaying

struct ConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Converts a capture to another format. A replay of the result gives the same lines.",
        discussion: """
            Reads the formats that replay reads. Writes btsnoop (for btmon and Wireshark), pcapng or the advertisement \
            log: the ending of the output's name (.btsnoop, .pcapng, .jsonl) or --format selects the format. If the \
            output format cannot store a part of the capture, a message names that part.
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

    @Argument(help: "The capture; use - for standard input.")
    var input: String

    @Argument(help: "The output file; use - for standard output.")
    var output: String

    @Option(help: "The output format. By default, the ending of the output's name selects it.")
    var format: Format?

    @Option(
        help: ArgumentHelp("The time between the records of a capture without times.", valueName: "duration"),
        transform: DurationArgument.init)
    var interval: DurationArgument?

    @OptionGroup var capture: CaptureArguments

    @Flag(help: "Exit with 0 also if the capture is truncated or corrupt, or if some of its records are rejected.")
    var lenient = false

    func run() throws {
        guard let format = format?.format ?? CaptureWriter.Format(fileName: output) else {
            throw ValidationError(
                "“\(output)” has no ending that selects a format; use .btsnoop, .pcapng or .jsonl, or set --format")
        }
        try Terminal.run {
            let outcome = try Conversion(
                .path(input), to: output, format: format, fields: try capture.fieldMap(),
                zone: capture.captureZone, interval: interval?.duration
            ).run()
            for loss in outcome.losses { Terminal.say("not stored in the output: \(loss)") }
            for remark in outcome.remarks { Terminal.say(remark) }
            for damage in outcome.damages { Terminal.say(damage) }
            guard outcome.damages.isEmpty || lenient else { throw ExitCode(ExitFailure.Code.dataInvalid.rawValue) }
        }
    }
}
