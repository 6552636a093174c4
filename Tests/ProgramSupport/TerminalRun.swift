import Foundation
import Testing

extension Gateway {
    // Runs a program on a terminal and prints all of its output. On a terminal, line ends are CR LF.
    private static let onTerminal = """
        import fcntl, os, pty, struct, subprocess, sys, termios
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
        process = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                                   env={**os.environ, "TZ": sys.argv[2]})
        os.close(terminal)
        while True:
            try: data = os.read(main, 65536)
            except OSError: break
            if not data: break
            sys.stdout.buffer.write(data)
        sys.exit(process.wait())
        """

    /// Runs the command with standard output and standard error on a terminal of this number of columns, and with this
    /// value of `TZ`. Both streams are in the output.
    package static func run(columns: Int, zone: String = "UTC", _ arguments: String...) throws -> Ending {
        try run(columns: columns, zone: zone, arguments)
    }

    package static func run(columns: Int, zone: String = "UTC", _ arguments: [String]) throws -> Ending {
        var ending = try ProgramSupport.run(Tool.python, ["-c", onTerminal, "\(columns)", zone, path] + arguments)
        try #require(ending.errors.isEmpty, "\(ending.errors)")
        ending.output.removeAll { $0 == 0x0D }
        return ending
    }
}
