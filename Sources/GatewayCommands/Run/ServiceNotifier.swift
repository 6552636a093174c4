import CommandSupport
import Glibc
package import SystemPackage

/// Notifies the service manager of the state of the gateway with the protocol of sd_notify(3): datagrams to
/// `NOTIFY_SOCKET`.
///
/// Without a service manager it sends nothing. It never waits: if the socket of the manager is full, the message is not
/// sent, and the error reports that.
package final class ServiceNotifier {
    /// The address of the manager's socket, from the environment variable.
    enum Address: Hashable {
        case path(String)
        /// A name in the abstract namespace, without the `@` that represents the zero byte at its start.
        case abstract(String)

        // sun_path has 108 bytes, and the last byte of a path is zero (unix(7)).
        static let bytesMax = 107

        init?(_ text: String) {
            guard text.utf8.count > 1, text.utf8.count <= Self.bytesMax, !text.utf8.contains(0) else { return nil }
            switch text.utf8.first {
            case UInt8(ascii: "/"): self = .path(text)
            case UInt8(ascii: "@"): self = .abstract(String(text.dropFirst()))
            default: return nil
            }
        }
    }

    /// The problem with the environment that the manager set, for operators; `nil` if there is none.
    package let problem: String?
    /// How often ``watchdog()`` should be called: half of the interval that the manager permits. `nil` if the manager
    /// has no watchdog, or if it watches another process.
    package let watchdogInterval: Duration?
    /// The status that was sent last.
    package private(set) var lastStatus: String?

    private let descriptor: FileDescriptor?
    private let address: Address?

    /// Whether there is a manager to notify.
    package var isActive: Bool { descriptor != nil && address != nil }

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    ///
    /// - Parameters:
    ///   - environment: returns the value of a variable: that of the process, unless a test has another.
    ///   - processID: the ID of this process, unless a test has another.
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
        // No caller could handle an error.
        if let descriptor { _ = try? descriptor.close() }
    }

    private static func makeSocket() -> Int32 {
        socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    private static func interval(_ environment: (String) -> String?, _ processID: Int32) -> Duration? {
        // An inherited variable is for the watchdog of the parent process.
        if let owner = environment("WATCHDOG_PID"), Int32(owner) != processID { return nil }
        guard let text = environment("WATCHDOG_USEC"), let microseconds = Int64(text), microseconds > 1 else {
            return nil
        }
        return .microseconds(microseconds / 2)
    }
}

// MARK: Notifications

extension ServiceNotifier {
    /// Notifies the manager that the gateway is ready: it scans, for the first time or again after a reload.
    package func ready(status: String) throws(Errno) {
        lastStatus = Self.line(status)
        try send("READY=1\nSTATUS=\(Self.line(status))")
    }

    /// Notifies the manager that a reload starts. ``ready(status:)`` must be called at its end.
    package func reloading() throws(Errno) {
        var time = timespec()
        // This cannot fail: every kernel has the clock, and the memory is valid.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        try send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// Notifies the manager that the gateway stops.
    package func stopping(status: String) throws(Errno) { try send("STOPPING=1\nSTATUS=\(Self.line(status))") }

    /// Sends the text that `systemctl status` shows, unless it is the same as the last one that was sent.
    package func status(_ text: String) throws(Errno) {
        let line = Self.line(text)
        guard line != lastStatus else { return }
        try send("STATUS=\(line)")
        lastStatus = line
    }

    /// Notifies the watchdog that the gateway is alive.
    package func watchdog() throws(Errno) { try send("WATCHDOG=1") }

    // Line ends separate assignments. If the status contained one, it could assign any variable.
    private static func line(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
    }

    private func send(_ text: String) throws(Errno) {
        guard let descriptor, let address else { return }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let isAbstract: Int
        let bytes: [UInt8]
        switch address {
        case .path(let path): (isAbstract, bytes) = (0, Array(path.utf8))
        case .abstract(let abstract): (isAbstract, bytes) = (1, Array(abstract.utf8))
        }
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { place in
            for (index, byte) in bytes.enumerated() { unsafe place[index + isAbstract] = byte }
        }
        // The length of the address ends an abstract name, and a zero byte ends a path.
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = socklen_t(start + bytes.count + 1)
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
