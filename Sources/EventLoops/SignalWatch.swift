import CLinux
import Glibc
package import SystemPackage

/// Signals as what a loop waits for: they are blocked, and read from a descriptor (signalfd(2)).
///
/// A handler of the old kind interrupts the process anywhere; here a signal is handled in a turn, like everything else.
package final class SignalWatch {
    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?

    /// Blocks `signals` in this thread, and those that it starts, and hands each that comes to `body`.
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

    /// Has `signals` wait for the watch that is to come, in this thread and those that it starts: before, they would do what
    /// they do to a process that knows nothing of them, which is to end it.
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
