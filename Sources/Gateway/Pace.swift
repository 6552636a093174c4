import BluetoothLE

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Lets a replay go no faster than a multiple of the capture's own time.
struct Pace {
    private let speed: Double
    private let clock = ContinuousClock()
    private var begin: (wall: ContinuousClock.Instant, time: Instant)?

    init(speed: Double) { self.speed = speed }

    /// Waits until a record at `time` is due; what becomes due before it is written at its own time.
    mutating func wait<Handler: ReplayHandler & ~Copyable>(
        until time: Instant, _ handler: inout Handler
    ) throws(ExitFailure) {
        guard let begin else {
            self.begin = (clock.now, time)
            return
        }
        while let deadline = handler.nextDeadline, deadline < time {
            sleep(until: begin.wall + (deadline - begin.time) / speed)
            try handler.advance(to: deadline)
            try handler.deliver(isUrgent: true)
        }
        sleep(until: begin.wall + (time - begin.time) / speed)
    }

    private func sleep(until wall: ContinuousClock.Instant) {
        var left = (wall - clock.now).nanoseconds
        while left > 0 {
            var request = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
            unsafe _ = nanosleep(&request, nil)
            left = (wall - clock.now).nanoseconds
        }
    }
}
