import Glibc
package import SystemPackage

extension FileDescriptor {
    /// Whether the descriptor is a terminal (isatty(3)).
    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// The number of columns of the terminal (TIOCGWINSZ, ioctl_tty(2)); `nil` if the descriptor is not a terminal, or
    /// does not report it.
    package var columns: Int? {
        guard isTerminal else { return nil }
        var size = winsize()
        guard unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
