package import BaseTypes
import Glibc

/// The machine's clocks, as clock_gettime(2) gives them.
package enum BootClock {
    /// CLOCK_BOOTTIME: nanoseconds since the machine started, time suspended included. It never steps.
    package static var now: Instant { Instant(nanoseconds: read(CLOCK_BOOTTIME)) }

    /// How long the machine has been suspended since it started: CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in nanoseconds.
    ///
    /// The two are read one after the other. It is too much by the time between, some microseconds, and never too little;
    /// where the process was held up just there, it is read again.
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

    /// CLOCK_REALTIME, the wall clock: nanoseconds since 1970-01-01T00:00:00Z. It steps.
    package static var wall: Int64 { read(CLOCK_REALTIME) }

    private static func read(_ clock: clockid_t) -> Int64 {
        // It can't fail: these clocks are in every kernel since 2.6.39, and the memory is ours.
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
