import Glibc
import SystemPackage

/// The log that operators read: standard error, a line each; under systemd with the level that journald takes
/// (sd-daemon(3)), else with a word where it is more than a notice.
package struct OperatorLog: Sendable {
    private let isJournal: Bool
    private let level: LogLevel

    /// A log of all lines that matter at least as much as `level`.
    package init(atLeast level: LogLevel = .notice) {
        // systemd sets it where standard output or error go to its journal (systemd.exec(5)).
        isJournal = unsafe getenv("JOURNAL_STREAM") != nil
        self.level = level
    }

    /// Writes a line, or several.
    package func write(_ level: LogLevel, _ text: String) {
        guard level <= self.level else { return }
        let prefix = isJournal ? "<\(level.rawValue)>" : Self.word(level)
        let lines = PlainText.safe(lines: text).split(separator: "\n").map { "\(prefix)\($0)" }.joined(separator: "\n")
        let shown = WordWrap.wrapped(lines, to: FileDescriptor.standardError.columns) + "\n"
        // There is nowhere else to say that this failed.
        _ = try? FileDescriptor.standardError.writeAll(shown.utf8)
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
