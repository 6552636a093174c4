package import BaseTypes
import Glibc

/// The machine's clocks (clock_gettime(2)).
package enum BootClock {
    /// CLOCK_BOOTTIME: nanoseconds since the machine started, including time in suspend. It is never set.
    package static var now: Instant { Instant(nanoseconds: read(CLOCK_BOOTTIME)) }

    /// How long the machine was suspended since it started: CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in nanoseconds.
    ///
    /// The clocks are read one after the other. The result is too large by the time between, some microseconds, and
    /// never too small. If more than 100 µs passed in between, they are read again, up to eight times in total.
    package static var suspended: Int64 {
        var best = Int64.max
        var tightest = Int64.max
        for _ in 0..<8 where tightest > 100_000 {
            let before = read(CLOCK_MONOTONIC)
            let boot = read(CLOCK_BOOTTIME)
            let took = read(CLOCK_MONOTONIC) &- before
            guard took < tightest else { continue }
            tightest = took
            best = boot &- before
        }
        return best
    }

    /// CLOCK_REALTIME, the wall clock: nanoseconds since 1970-01-01T00:00:00Z. It can be set.
    package static var wall: Int64 { read(CLOCK_REALTIME) }

    private static func read(_ clock: clockid_t) -> Int64 {
        // This cannot fail: all kernels since 2.6.39 have these clocks, and the pointer is valid.
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
