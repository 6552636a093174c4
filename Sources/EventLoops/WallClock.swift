import CLinux
import Glibc
package import SystemPackage

/// The kernel's state of the wall clock.
package enum WallClock {
    /// Whether the wall clock is synchronized: adjtimex(2) does not report STA_UNSYNC.
    package static var isSynchronized: Bool {
        var state = timex()
        // Without modes it only reads, which every user can do.
        let result = unsafe adjtimex(&state)
        return isSynchronized(result: result, status: state.status)
    }

    /// Returns whether the answer of adjtimex(2) means that the clock is synchronized. If a system call filter refuses
    /// the call (systemd's `ProtectClock`), the state is unknown and the result is `false`, because dates may be wrong.
    static func isSynchronized(result: Int32, status: Int32) -> Bool {
        result >= 0 && result != TIME_ERROR && status & STA_UNSYNC == 0
    }
}

/// Reports when the wall clock is set, with a timer that the kernel cancels then (timerfd_create(2),
/// TFD_TIMER_CANCEL_ON_SET).
///
/// It wakes for nothing else. A clock that is slewed is not set, and needs no report.
package final class WallClockAlarm {
    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?

    /// Calls `body` each time the wall clock was set.
    ///
    /// - Throws: `Errno` of timerfd_create(2), timerfd_settime(2) and epoll_ctl(2).
    package init(on loop: EventLoop, _ body: @escaping () -> Void) throws(Errno) {
        self.loop = loop
        let made = timerfd_create(CLOCK_REALTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        guard made >= 0 else { throw Errno(rawValue: errno) }
        descriptor = FileDescriptor(rawValue: made)
        try arm()
        watch = try loop.watch(descriptor, for: .read) { [unowned self] _ in
            var expirations: UInt64 = 0
            // The read fails with ECANCELED if the clock was set. Its result is not needed.
            _ = unsafe withUnsafeMutableBytes(of: &expirations) {
                unsafe read(descriptor.rawValue, $0.baseAddress, $0.count)
            }
            // A failure to arm it again would be a bug of this program. Its only effect is that later steps are
            // detected later.
            try? arm()
            body()
        }
    }

    deinit {
        if let watch { loop.end(watch) }
        _ = try? descriptor.close()
    }

    private func arm() throws(Errno) {
        var setting = itimerspec()
        // A time that is never reached: the year 2255.
        setting.it_value.tv_sec = 9_000_000_000
        let flags = Int32(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
        guard unsafe timerfd_settime(descriptor.rawValue, flags, &setting, nil) == 0 else {
            throw Errno(rawValue: errno)
        }
    }
}
