import Glibc
import SystemPackage

/// The log for operators.
///
/// If standard error goes to systemd's journal, messages are entries of the journal. Otherwise they are lines on
/// standard error. Errors, warnings and debug messages then have a word in front.
package struct OperatorLog: Sendable {
    private let journal: JournalSocket?
    private let isJournal: Bool
    private let output: FileDescriptor
    private let level: LogLevel

    /// Creates a log for messages of `level` and more urgent ones.
    package init(atLeast level: LogLevel = .notice) {
        let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "beacon-gateway"
        self.init(
            atLeast: level, stream: unsafe getenv("JOURNAL_STREAM").map { unsafe String(cString: $0) }, program: program
        )
    }

    init(
        atLeast level: LogLevel, stream: String?, output: FileDescriptor = .standardError,
        journal path: String = JournalSocket.standardPath, program: String
    ) {
        isJournal = JournalSocket.names(stream, output)
        journal = JournalSocket(stream: stream, of: output, path: path, program: program)
        self.output = output
        self.level = level
    }

    /// Logs a message of one or more lines, if its level is logged.
    package func write(_ kind: MessageKind, _ text: String) {
        guard kind.level <= level else { return }
        write(kind, text, word: Self.word(kind.level))
    }

    /// Logs why the program ends, whatever level is logged. There is no word in front, as with other commands.
    package func end(_ text: String) { write(.cannotRun, text, word: "") }

    private func write(_ kind: MessageKind, _ text: String, word: String) {
        let text = PlainText.safe(lines: text)
        if let journal, journal.send(kind, text) { return }
        // The journal takes the severity from the start of the line (sd-daemon(3)).
        let prefix = isJournal ? "<\(kind.level.rawValue)>" : word
        let lines = text.split(separator: "\n").map { "\(prefix)\($0)" }.joined(separator: "\n")
        let shown = WordWrap.wrapped(lines, to: output.columns) + "\n"
        // There is no other place to report this failure.
        _ = try? output.writeAll(shown.utf8)
    }

    private static func word(_ level: LogLevel) -> String {
        switch level {
        case .error: "error: "
        case .warning: "warning: "
        case .notice, .info: ""
        case .debug: "debug: "
        }
    }
}
