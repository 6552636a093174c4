import BaseTypes
import BeaconMonitoring
import BeaconScanning
import EventLog
import EventLoops
import SystemPackage

/// Watches the wall clock for the gateway: how far it is ahead of the timeline, and whether it is synchronized.
///
/// It returns each change once. The caller decides what follows from it.
struct ClockWatcher {
    /// The state of the machine's clocks at one time.
    struct Reading: Equatable {
        var offset: ClockOffset
        var isSynchronized: Bool

        /// The present state of the machine's clocks.
        static var machine: Reading {
            Reading(offset: SystemMonitorClock().offset, isSynchronized: WallClock.isSynchronized)
        }
    }

    private var watch: WallClockWatch
    private let read: () -> Reading
    private var alarm: WallClockAlarm?

    /// How far the wall clock is ahead of the timeline, for the dates of lines.
    var offset: ClockOffset { watch.offset }
    /// Whether the kernel reported that the clock was set, when it was last asked.
    var isSynchronized: Bool { watch.isSynchronized }

    /// Creates a watcher of a clock with the last known state `known`. The first reading returns any change since.
    ///
    /// - Parameters:
    ///   - known: the last known state of the clock.
    ///   - read: returns the present state of the clocks: those of the machine, unless a test has other clocks.
    init(known: Reading, read: @escaping () -> Reading = { .machine }) {
        watch = WallClockWatch(offset: known.offset, isSynchronized: known.isSynchronized)
        self.read = read
    }

    /// Reads the clock.
    ///
    /// - Returns: the change to report; `nil` if nothing has changed.
    mutating func observe(at time: Instant) -> ClockChange? {
        let reading = read()
        return watch.observe(reading.offset, isSynchronized: reading.isSynchronized, at: time)
    }

    /// Makes the loop call `body` each time the clock is set, as long as this value exists.
    ///
    /// - Throws: `Errno` of ``WallClockAlarm``.
    mutating func start(on loop: EventLoop, _ body: @escaping () -> Void) throws(Errno) {
        alarm = try WallClockAlarm(on: loop, body)
    }
}
