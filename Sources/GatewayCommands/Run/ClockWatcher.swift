import BaseTypes
import BeaconMonitoring
import BeaconScanning
import EventLog
import EventLoops
import SystemPackage

/// Watches the wall clock for the gateway: how far it is ahead of the timeline, and whether it is synchronised.
///
/// It tells what became of the clock, once; what follows from it is for whoever asked.
struct ClockWatcher {
    /// What the machine's clocks show at one moment.
    struct Reading: Equatable {
        var offset: ClockOffset
        var isSynchronized: Bool

        /// The machine's own clocks, read now.
        static var machine: Reading {
            Reading(offset: SystemMonitorClock().offset, isSynchronized: WallClock.isSynchronized)
        }
    }

    private var watch: WallClockWatch
    private let read: () -> Reading
    private var alarm: WallClockAlarm?

    /// What lines are dated with.
    var offset: ClockOffset { watch.offset }
    /// Whether the kernel said that the clock has been set, when it was last asked.
    var isSynchronized: Bool { watch.isSynchronized }

    /// Watches a clock that was last known as `known`: the first reading tells what became of it since.
    ///
    /// - Parameters:
    ///   - known: what the clock was like.
    ///   - read: gives what the clocks show: the machine's, unless a test has its own.
    init(known: Reading, read: @escaping () -> Reading = { .machine }) {
        watch = WallClockWatch(offset: known.offset, isSynchronized: known.isSynchronized)
        self.read = read
    }

    /// Looks at the clock.
    ///
    /// - Returns: what is to be said of it; `nil` where it goes as before.
    mutating func observe(at time: Instant) -> ClockChange? {
        let reading = read()
        return watch.observe(reading.offset, isSynchronized: reading.isSynchronized, at: time)
    }

    /// Has the loop call `body` whenever the clock is set, as long as this value lives.
    ///
    /// - Throws: `Errno` of ``WallClockAlarm``.
    mutating func start(on loop: EventLoop, _ body: @escaping () -> Void) throws(Errno) {
        alarm = try WallClockAlarm(on: loop, body)
    }
}
