import CLinux
import EventLoops
import Glibc
import SystemPackage

/// Restricts the publisher's process before it sends or receives any message. If a hostile broker takes control of it,
/// the damage must be limited to the publisher.
enum Confinement {
    // The states of 100,000 conditions and of 10,000 beacons need only a part of this. A packet of 256 MiB from a
    // broker does not fit.
    private static let dataBytes: UInt = 128 << 20
    // Half of the maximum: if memory runs out, the kernel should kill the publisher before the processes that scan and
    // write.
    private static let oomScore = 500

    /// Drops all capabilities and all means to get new ones, disables core files, and limits the memory. It also makes
    /// the kernel kill this process first if the machine has no memory left.
    ///
    /// - Returns: descriptions of the steps that failed, for operators. The process continues all the same.
    static func apply() -> [String] {
        var problems: [String] = []
        if clinux_give_up_privileges() < 0 {
            problems.append("its capabilities can't be dropped: \(Errno(rawValue: errno))")
        }
        var core = rlimit(rlim_cur: 0, rlim_max: 0)
        if unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core) < 0 {
            problems.append("core files can't be turned off: \(Errno(rawValue: errno))")
        }
        // Added to the size at the start, because sanitizers map much memory.
        let size = rlim_t(dataSize() + dataBytes)
        var data = rlimit(rlim_cur: size, rlim_max: size)
        if unsafe setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &data) < 0 {
            problems.append("its memory can't be limited: \(Errno(rawValue: errno))")
        }
        if let error = raiseOOMScore() { problems.append("/proc/self/oom_score_adj can't be written: \(error)") }
        return problems
    }

    /// Ignores the signals that the gateway handles, which then notifies this process. It also ignores SIGPIPE, because
    /// the process must not end if a connection ends.
    static func ignoreSignals() {
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE] { _ = Glibc.signal(signal, SIG_IGN) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Returns VmData of /proc/self/status (proc(5)) in bytes, which RLIMIT_DATA limits; 0 if it cannot be read.
    private static func dataSize() -> UInt {
        let text = SmallFile.text(of: "/proc/self/status") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmData:") }
        return line.flatMap { $0.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst().first }
            .flatMap { UInt($0) }.map { $0 << 10 } ?? 0
    }

    private static func raiseOOMScore() -> Errno? {
        let path = "/proc/self/oom_score_adj"
        // If the starting process has set this value or a higher one, it stays.
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

/// Waits without doing anything.
enum Pause {
    static func milliseconds(_ count: Int32) -> Int32 { poll(nil, 0, count) }
}
