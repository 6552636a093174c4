import Glibc
import SystemPackage

/// The log that operators read: entries of systemd's journal where standard error goes there; else lines of standard error,
/// with a word before each where it is more than a notice.
package struct OperatorLog: Sendable {
    private let journal: JournalSocket?
    private let isJournal: Bool
    private let output: FileDescriptor
    private let level: LogLevel

    /// A log of all that matters at least as much as `level`.
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

    /// Says something, of one line or several.
    package func write(_ kind: MessageKind, _ text: String) {
        guard kind.level <= level else { return }
        write(kind, text, word: Self.word(kind.level))
    }

    /// Says why the program ends, as commands do on a terminal: without a word before it.
    package func end(_ text: String) { write(.cannotRun, text, word: "") }

    private func write(_ kind: MessageKind, _ text: String, word: String) {
        let text = PlainText.safe(lines: text)
        if let journal, journal.send(kind, text) { return }
        // The journal takes the rank from the line's beginning (sd-daemon(3)).
        let prefix = isJournal ? "<\(kind.level.rawValue)>" : word
        let lines = text.split(separator: "\n").map { "\(prefix)\($0)" }.joined(separator: "\n")
        let shown = WordWrap.wrapped(lines, to: output.columns) + "\n"
        // There is nowhere else to say that this failed.
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
