import Glibc
package import SystemPackage

extension FileDescriptor {
    /// Whether it is a terminal (isatty(3)).
    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// How many columns the terminal has that this is (TIOCGWINSZ, ioctl_tty(2)); absent where it is none, or does not tell.
    package var columns: Int? {
        guard isTerminal else { return nil }
        var size = winsize()
        guard unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
