import BaseTypes
import CommandSupport
import Glibc

/// Limits the speed of a replay to a multiple of real time.
struct Pace {
    private let speed: Double
    private let clock = ContinuousClock()
    private var begin: (wall: ContinuousClock.Instant, time: Instant)?

    init(speed: Double) { self.speed = speed }

    /// Waits until a record at `time` is due. Lines that become due before the record are written at their own times.
    mutating func wait<Handler: ReplayHandler & ~Copyable>(
        until time: Instant, _ handler: inout Handler
    ) throws(ExitFailure) {
        guard let begin else {
            self.begin = (clock.now, time)
            return
        }
        while let deadline = handler.nextDeadline, deadline < time {
            sleep(until: begin.wall + scaled(deadline - begin.time))
            try handler.advance(to: deadline)
            try handler.deliver(isUrgent: true)
        }
        sleep(until: begin.wall + scaled(time - begin.time))
    }

    // The longest wait in seconds. Captures can span centuries. No user waits that long, and the times would exceed the
    // range of the clock.
    private static let longest: Double = 1e9

    private func scaled(_ duration: Duration) -> Duration {
        .nanoseconds(Int64(min(max(Double(duration.nanoseconds) / 1e9 / speed, 0), Self.longest) * 1e9))
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
