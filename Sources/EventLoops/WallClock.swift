import CLinux
import Glibc
package import SystemPackage

/// What the kernel says of the wall clock.
package enum WallClock {
    /// Whether it has been set: adjtimex(2) does not say STA_UNSYNC.
    package static var isSynchronized: Bool {
        var state = timex()
        // With no modes it only reads, which everybody may.
        let result = unsafe adjtimex(&state)
        return isSynchronized(result: result, status: state.status)
    }

    /// Whether the answer of adjtimex(2) says so. Where a filter of system calls refuses it (systemd's `ProtectClock`),
    /// nobody knows, and dates may be wrong.
    static func isSynchronized(result: Int32, status: Int32) -> Bool {
        result >= 0 && result != TIME_ERROR && status & STA_UNSYNC == 0
    }
}

/// Tells when the wall clock is set: a timer that the kernel cancels then (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET).
///
/// It wakes for nothing else. A clock that is slewed is not set, and needs no telling.
package final class WallClockAlarm {
    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?

    /// Calls `body` each time that the wall clock was set.
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
            // ECANCELED is the news; anything else was no news.
            _ = unsafe withUnsafeMutableBytes(of: &expirations) {
                unsafe read(descriptor.rawValue, $0.baseAddress, $0.count)
            }
            // That it can't be set again would be a mistake of ours, and costs only that steps are found out later.
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
        // A moment that never comes: the year 2255.
        setting.it_value.tv_sec = 9_000_000_000
        let flags = Int32(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
        guard unsafe timerfd_settime(descriptor.rawValue, flags, &setting, nil) == 0 else {
            throw Errno(rawValue: errno)
        }
    }
}
