import CLinux
import Glibc
import SystemPackage

/// The terminal while `scan` uses it: with the alternate screen, without a cursor, and with keys that are read at once.
/// It restores the previous state.
///
/// Source: termios(3), console_codes(4); xterm's private modes 7 (wrapping), 25 (cursor), 1049 (alternate screen).
final class ScanTerminal {
    /// The escape sequences that switch to the alternate screen, without wrapping and without a cursor.
    static let entering = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l\u{1B}[2J"
    /// The escape sequences that restore the cursor, wrapping and the previous screen.
    static let leaving = "\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l"

    let input: FileDescriptor
    private let output: FileDescriptor
    private var before: termios?

    /// The value of TERM in the environment (environ(7)).
    static var environmentType: String? { unsafe getenv("TERM").map { unsafe String(cString: $0) } }

    /// Creates the terminal; `nil` if the output is not a terminal, or if its type is `dumb`, which does not support
    /// escapes.
    init?(
        input: FileDescriptor = .standardInput, output: FileDescriptor = .standardOutput,
        type: String? = environmentType
    ) {
        self.input = input
        self.output = output
        guard isatty(output.rawValue) == 1, type != "dumb" else { return nil }
    }

    deinit { restoreKeys() }

    /// Whether the input is a terminal too.
    var hasKeys: Bool { isatty(input.rawValue) == 1 }

    /// Makes keys readable one by one and without echo. Keys that send signals do not change.
    func takeKeys() {
        guard hasKeys else { return }
        var settings = termios()
        guard unsafe tcgetattr(input.rawValue, &settings) == 0 else { return }
        if before == nil { before = settings }
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        // If this fails, keys appear as letters on the screen, and q needs a Return.
        unsafe tcsetattr(input.rawValue, TCSANOW, &settings)
    }

    /// Restores the previous handling of keys.
    func restoreKeys() {
        guard var settings = before else { return }
        before = nil
        unsafe tcsetattr(input.rawValue, TCSANOW, &settings)
    }

    /// The size of the terminal; 80 by 24 if it does not report its size.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard unsafe ioctl(output.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Returns the text that shows a page with as many lines as the terminal has rows.
    static func picture(_ lines: [String]) -> String {
        // Each line is cleared after its end. The last one has no line end, because that would scroll.
        "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
    }

    /// Returns the keys that were pressed; `nil` if the terminal has been closed.
    func readKeys() -> [UInt8]? {
        var keys = [UInt8](repeating: 0, count: 64)
        let count = unsafe keys.withUnsafeMutableBytes { unsafe read(input.rawValue, $0.baseAddress, $0.count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return [] }
        return count > 0 ? Array(keys.prefix(count)) : nil
    }
}
