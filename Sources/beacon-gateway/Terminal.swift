import ArgumentParser
import Captures
import CommandSupport
import GatewayConfiguration
import OperatorLogging
import Replaying
import SystemPackage

/// Functions that all commands use to write messages for the operator, and to end.
enum Terminal {
    /// Runs a command. A failure is passed to `saying`, which by default writes it to standard error, and becomes the
    /// exit code.
    static func run(saying: (String) -> Void = say, _ command: () throws -> Void) throws {
        do {
            try command()
        } catch let failure as ExitFailure {
            saying(failure.message)
            throw ExitCode(failure.code.rawValue)
        }
    }

    /// Writes one or more lines to standard error. Text from files is made harmless. On a terminal, lines are broken
    /// between words.
    static func say(_ text: String) {
        write(WordWrap.wrapped(PlainText.safe(lines: text), to: FileDescriptor.standardError.columns) + "\n")
    }

    /// Writes text for people, including its line ends, to standard output. On a terminal, lines are broken between
    /// words.
    static func show(_ text: String) {
        print(WordWrap.wrapped(text, to: FileDescriptor.standardOutput.columns), terminator: "")
    }

    /// Writes to standard error.
    static func write(_ text: String) {
        // There is no other place to report this failure.
        _ = try? FileDescriptor.standardError.writeAll(text.utf8)
    }
}

/// A duration in the format of the configuration: `30s`, `500ms`, `2m`.
///
/// Options must use it with `transform`. Error messages for invalid durations are then the same as in the
/// configuration.
struct DurationArgument {
    let duration: Duration

    init(_ argument: String) throws(DurationProblem) { duration = try Duration(setting: argument) }
}
