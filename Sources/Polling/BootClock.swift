public import BluetoothLE

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The machine's clocks, as clock_gettime(2) gives them.
public enum BootClock {
    /// CLOCK_BOOTTIME: nanoseconds since the machine started, time suspended included. It never steps.
    public static var now: Instant { Instant(nanoseconds: read(CLOCK_BOOTTIME)) }

    /// How long the machine has been suspended since it started: CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in nanoseconds.
    ///
    /// The two are read one after the other, so it is up to some microseconds too much, never too little.
    public static var suspended: Int64 {
        let monotonic = read(CLOCK_MONOTONIC)
        return read(CLOCK_BOOTTIME) &- monotonic
    }

    /// CLOCK_REALTIME, the wall clock: nanoseconds since 1970-01-01T00:00:00Z. It steps.
    public static var wall: Int64 { read(CLOCK_REALTIME) }

    private static func read(_ clock: clockid_t) -> Int64 {
        // It can't fail: these clocks are in every kernel since 2.6.39, and the memory is ours.
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
