import CLinux
import Glibc
package import SystemPackage

/// Delivers signals in an event loop: they are blocked and read from a descriptor (signalfd(2)).
///
/// A classic signal handler interrupts the process anywhere; here a signal is handled in a turn, like every other
/// event.
package final class SignalWatch {
    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?

    /// Blocks `signals` in this thread and in threads that it starts later, and passes each received signal to `body`.
    ///
    /// - Throws: `Errno` of sigprocmask(2), signalfd(2) and epoll_ctl(2).
    package init(_ signals: [Int32], on loop: EventLoop, _ body: @escaping (Int32) -> Void) throws(Errno) {
        self.loop = loop
        var set = try Self.block(signals)
        let made = unsafe signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
        guard made >= 0 else { throw Errno(rawValue: errno) }
        descriptor = FileDescriptor(rawValue: made)
        watch = try loop.watch(descriptor, for: .read) { [unowned self] _ in read(body) }
    }

    /// Blocks `signals` in this thread and in threads that it starts later, so that they stay pending for a watch that
    /// is created later. They stay blocked. Without this call, a signal that arrives before the watch exists would end
    /// the process.
    ///
    /// - Throws: `Errno` of sigprocmask(2).
    package static func hold(_ signals: [Int32]) throws(Errno) { _ = try block(signals) }

    private static func block(_ signals: [Int32]) throws(Errno) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        let blocked = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        guard blocked == 0 else { throw Errno(rawValue: blocked) }
        return set
    }

    deinit {
        if let watch { loop.end(watch) }
        _ = try? descriptor.close()
    }

    private func read(_ body: (Int32) -> Void) {
        var information = signalfd_siginfo()
        for _ in 0..<EventLoop.recordsPerTurn {
            let count = unsafe withUnsafeMutableBytes(of: &information) {
                unsafe Glibc.read(descriptor.rawValue, $0.baseAddress, $0.count)
            }
            guard count == MemoryLayout<signalfd_siginfo>.size else { return }
            body(Int32(truncatingIfNeeded: information.ssi_signo))
        }
    }
}
