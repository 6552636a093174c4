import CommandSupport
import Glibc
package import SystemPackage

/// Tells the service manager how the daemon stands: sd_notify(3)'s protocol, datagrams to `NOTIFY_SOCKET`.
///
/// Without a service manager it says nothing. It never waits: where the manager's socket is full, the word is not said,
/// and the error tells.
package final class ServiceNotifier {
    /// Where a manager may listen, by its environment variable.
    enum Address: Hashable {
        case path(String)
        /// A name in the abstract namespace, without the `@` that stands for its leading zero octet.
        case abstract(String)

        // sun_path has 108 octets; a path's last one is zero (unix(7)).
        static let octetsMax = 107

        init?(_ text: String) {
            guard text.utf8.count > 1, text.utf8.count <= Self.octetsMax, !text.utf8.contains(0) else { return nil }
            switch text.utf8.first {
            case UInt8(ascii: "/"): self = .path(text)
            case UInt8(ascii: "@"): self = .abstract(String(text.dropFirst()))
            default: return nil
            }
        }
    }

    /// What is wrong with the environment that the manager gave, for operators; absent where nothing is.
    package let problem: String?
    /// How often ``watchdog()`` should be called: half of what the manager allows between two; absent where it does not
    /// watch, or watches another process.
    package let watchdogInterval: Duration?
    /// What was last said of the status.
    package private(set) var lastStatus: String?

    private let descriptor: FileDescriptor?
    private let address: Address?

    /// Whether anybody listens.
    package var isActive: Bool { descriptor != nil && address != nil }

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    ///
    /// - Parameters:
    ///   - environment: gives a variable's value; the process's own unless a test has another.
    ///   - processID: this process's, unless a test has another.
    package init(
        environment: (String) -> String? = Program.variable, processID: Int32? = nil
    ) {
        var problem: String?
        var socket: FileDescriptor?
        var address: Address?
        if let text = environment("NOTIFY_SOCKET"), !text.isEmpty {
            address = Address(text)
            if address == nil {
                problem = "NOTIFY_SOCKET must be a path or an abstract socket of at most 107 bytes: \(text)"
            } else {
                let descriptor = Self.makeSocket()
                if descriptor < 0 {
                    problem = "the socket for NOTIFY_SOCKET can't be opened: \(Errno(rawValue: errno))"
                }
                socket = descriptor < 0 ? nil : FileDescriptor(rawValue: descriptor)
            }
        }
        self.problem = problem
        descriptor = socket
        self.address = address
        watchdogInterval = Self.interval(environment, processID ?? getpid())
    }

    deinit {
        // Nobody could act on it.
        if let descriptor { _ = try? descriptor.close() }
    }

    private static func makeSocket() -> Int32 {
        socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    private static func interval(_ environment: (String) -> String?, _ processID: Int32) -> Duration? {
        // A variable that was inherited watches the parent.
        if let owner = environment("WATCHDOG_PID"), Int32(owner) != processID { return nil }
        guard let text = environment("WATCHDOG_USEC"), let microseconds = Int64(text), microseconds > 1 else {
            return nil
        }
        return .microseconds(microseconds / 2)
    }
}

// MARK: What is said

extension ServiceNotifier {
    /// The daemon does what it is there for: it scans (again, after a reload).
    package func ready(status: String) throws(Errno) {
        lastStatus = Self.line(status)
        try send("READY=1\nSTATUS=\(Self.line(status))")
    }

    /// A reload begins; ``ready(status:)`` ends it.
    package func reloading() throws(Errno) {
        var time = timespec()
        // It can't fail: the clock is in every kernel, and the memory is ours.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        try send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// The daemon ends.
    package func stopping(status: String) throws(Errno) { try send("STOPPING=1\nSTATUS=\(Self.line(status))") }

    /// What `systemctl status` shows; the same as last time is not said again.
    package func status(_ text: String) throws(Errno) {
        let line = Self.line(text)
        guard line != lastStatus else { return }
        try send("STATUS=\(line)")
        lastStatus = line
    }

    /// The daemon lives.
    package func watchdog() throws(Errno) { try send("WATCHDOG=1") }

    // Assignments are told apart by line ends: a status that holds one could say anything.
    private static func line(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
    }

    private func send(_ text: String) throws(Errno) {
        guard let descriptor, let address else { return }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let isAbstract: Int
        let octets: [UInt8]
        switch address {
        case .path(let path): (isAbstract, octets) = (0, Array(path.utf8))
        case .abstract(let abstract): (isAbstract, octets) = (1, Array(abstract.utf8))
        }
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { place in
            for (index, octet) in octets.enumerated() { unsafe place[index + isAbstract] = octet }
        }
        // An abstract name ends with the address's length, a path with a zero octet.
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = socklen_t(start + octets.count + 1)
        let message = Array(text.utf8)
        let result = unsafe withUnsafePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                unsafe message.withUnsafeBytes { bytes in
                    unsafe sendto(
                        descriptor.rawValue, bytes.baseAddress, bytes.count,
                        Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                        name, length)
                }
            }
        }
        guard result == message.count else { throw Errno(rawValue: errno) }
    }
}
