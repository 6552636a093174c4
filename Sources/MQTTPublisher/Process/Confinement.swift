import CLinux
import EventLoops
import Glibc
import SystemPackage

/// What the publisher's process takes from itself before it says a word to anybody: what a broker makes of it costs the
/// publisher, and nobody else.
enum Confinement {
    // The states of 100,000 conditions and of 10,000 beacons take a part of it; a broker that sends 256 MiB gets none.
    private static let dataBytes: UInt = 128 << 20
    // Half way to "first": before whatever hears and writes.
    private static let oomScore = 500

    /// Gives up every capability and all ways to new ones, core files, and memory past a bound; lets itself be ended first
    /// where the machine has none left.
    ///
    /// - Returns: what could not be done, for operators; it runs on all the same.
    static func apply() -> [String] {
        var problems: [String] = []
        if clinux_give_up_privileges() < 0 {
            problems.append("its capabilities can't be dropped: \(Errno(rawValue: errno))")
        }
        var core = rlimit(rlim_cur: 0, rlim_max: 0)
        if unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core) < 0 {
            problems.append("core files can't be turned off: \(Errno(rawValue: errno))")
        }
        // Beyond what it began with: sanitizers map much.
        let size = rlim_t(dataSize() + dataBytes)
        var data = rlimit(rlim_cur: size, rlim_max: size)
        if unsafe setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &data) < 0 {
            problems.append("its memory can't be limited: \(Errno(rawValue: errno))")
        }
        if let error = raiseOOMScore() { problems.append("/proc/self/oom_score_adj can't be written: \(error)") }
        return problems
    }

    /// Signals go to the gateway, which tells it; a connection that ends is no reason to end (SIGPIPE).
    static func ignoreSignals() {
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE] { _ = Glibc.signal(signal, SIG_IGN) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// VmData of /proc/self/status (proc(5)), in octets: what RLIMIT_DATA bounds.
    private static func dataSize() -> UInt {
        let text = SmallFile.text(of: "/proc/self/status") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmData:") }
        return line.flatMap { $0.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst().first }
            .flatMap { UInt($0) }.map { $0 << 10 } ?? 0
    }

    private static func raiseOOMScore() -> Errno? {
        let path = "/proc/self/oom_score_adj"
        // Its own, where whoever started it gave it more.
        if let now = SmallFile.value(of: FilePath(path)).flatMap({ Int($0) }), now >= oomScore { return nil }
        do {
            let file = try FileDescriptor.open(FilePath(path), .writeOnly, options: .closeOnExec)
            defer { try? file.close() }
            _ = try file.writeAll("\(oomScore)\n".utf8)
            return nil
        } catch {
            return error as? Errno ?? .ioError
        }
    }
}

/// A moment in which nothing is done.
enum Pause {
    static func milliseconds(_ count: Int32) -> Int32 { poll(nil, 0, count) }
}
