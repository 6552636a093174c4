import CLinux
import Glibc
import SystemPackage

/// The terminal while `scan` has it: another screen, no cursor, keys at once; and how it was before.
///
/// Source: termios(3), console_codes(4); xterm's private modes 7 (wrapping), 25 (cursor), 1049 (other screen).
final class ScanTerminal {
    /// What is to be written to have the screen.
    static let entering = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l\u{1B}[2J"
    /// What is to be written to give it back.
    static let leaving = "\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l"

    let input: FileDescriptor
    private let output: FileDescriptor
    private var before: termios?

    /// The environment's TERM (environ(7)).
    static var environmentType: String? { unsafe getenv("TERM").map { unsafe String(cString: $0) } }

    /// `nil` if the output is not a terminal, or if the type of the terminal is `dumb`: it takes no escapes.
    init?(
        input: FileDescriptor = .standardInput, output: FileDescriptor = .standardOutput,
        type: String? = environmentType
    ) {
        self.input = input
        self.output = output
        guard isatty(output.rawValue) == 1, type != "dumb" else { return nil }
    }

    deinit { restoreKeys() }

    /// Whether keys come from a terminal too.
    var hasKeys: Bool { isatty(input.rawValue) == 1 }

    /// Has keys come one by one and unseen; signals' keys stay what they are.
    func takeKeys() {
        guard hasKeys else { return }
        var settings = termios()
        guard unsafe tcgetattr(input.rawValue, &settings) == 0 else { return }
        if before == nil { before = settings }
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        // What can't be set shows as letters in the picture, and q needs a Return.
        unsafe tcsetattr(input.rawValue, TCSANOW, &settings)
    }

    /// Puts back how keys came.
    func restoreKeys() {
        guard var settings = before else { return }
        before = nil
        unsafe tcsetattr(input.rawValue, TCSANOW, &settings)
    }

    /// How large it is; 80 by 24 where it does not tell.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard unsafe ioctl(output.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// What brings a page of as many lines as there are rows to the screen.
    static func picture(_ lines: [String]) -> String {
        // Each line is cleared behind its end; no line end follows the last, which would scroll.
        "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
    }

    /// The keys that were pressed; `nil` where the terminal is gone.
    func readKeys() -> [UInt8]? {
        var keys = [UInt8](repeating: 0, count: 64)
        let count = unsafe keys.withUnsafeMutableBytes { unsafe read(input.rawValue, $0.baseAddress, $0.count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return [] }
        return count > 0 ? Array(keys.prefix(count)) : nil
    }
}
