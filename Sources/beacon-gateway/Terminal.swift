import ArgumentParser
import Captures
import CommandSupport
import GatewayConfiguration
import OperatorLogging
import Replaying
import SystemPackage

/// What commands have in common: how they speak to the operator, and how they end.
enum Terminal {
    /// Runs a command; a failure is said on standard error, or as `saying` has it, and becomes the exit code.
    static func run(saying: (String) -> Void = say, _ command: () throws -> Void) throws {
        do {
            try command()
        } catch let failure as ExitFailure {
            saying(failure.message)
            throw ExitCode(failure.code.rawValue)
        }
    }

    /// The map of `--fields`.
    static func fields(_ text: String?) throws(ExitFailure) -> FieldMap {
        guard let text else { return FieldMap() }
        do {
            return try FieldMap(text)
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Writes a line to standard error, or several: what of it came from a file can do a terminal no harm, and on one no
    /// word is broken.
    static func say(_ text: String) {
        write(WordWrap.wrapped(PlainText.safe(lines: text), to: FileDescriptor.standardError.columns) + "\n")
    }

    /// Writes text for people, which ends its lines itself, to standard output: on a terminal no word is broken.
    static func show(_ text: String) {
        print(WordWrap.wrapped(text, to: FileDescriptor.standardOutput.columns), terminator: "")
    }

    /// Writes to standard error.
    static func write(_ text: String) {
        // There is nowhere else to say that this failed.
        _ = try? FileDescriptor.standardError.writeAll(text.utf8)
    }
}

/// A duration as the configuration spells it: `30s`, `500ms`, `2m`.
///
/// An option takes it by `transform`: so what is said where it is none has what to write, in the configuration's own words.
struct DurationArgument {
    let duration: Duration

    init(_ argument: String) throws(DurationProblem) { duration = try Duration(setting: argument) }
}
