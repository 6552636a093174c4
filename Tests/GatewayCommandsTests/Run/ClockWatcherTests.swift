import BaseTypes
import BeaconMonitoring
import EventLog
import Testing

@testable import GatewayCommands

@Suite struct ClockWatcherTests {
    /// A machine whose clocks have the values that a test sets.
    private final class Machine {
        var reading = ClockWatcher.Reading(offset: ClockOffset(nanoseconds: 1_000_000_000), isSynchronized: false)
    }

    private let machine = Machine()

    private func watcher(known: ClockWatcher.Reading? = nil) -> ClockWatcher {
        ClockWatcher(known: known ?? machine.reading) { [machine] in machine.reading }
    }

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `an unchanged clock is not reported, and a clock that was set is reported once`() throws {
        var watcher = watcher()
        #expect(watcher.observe(at: at(1)) == nil)
        machine.reading.offset = ClockOffset(nanoseconds: 61_000_000_000)
        let observed = watcher.observe(at: at(2))
        let change = try #require(observed)
        #expect(change.before == ClockOffset(nanoseconds: 1_000_000_000))
        #expect(change.after == ClockOffset(nanoseconds: 61_000_000_000))
        #expect(watcher.offset == change.after)
        #expect(watcher.observe(at: at(3)) == nil)
    }

    @Test func `synchronization is reported once, and its end only changes isSynchronized`() throws {
        var watcher = watcher()
        machine.reading.isSynchronized = true
        let observed = watcher.observe(at: at(1))
        let change = try #require(observed)
        #expect(change.before == change.after)
        #expect(watcher.isSynchronized)
        machine.reading.isSynchronized = false
        #expect(watcher.observe(at: at(2)) == nil)
        #expect(!watcher.isSynchronized)
    }

    @Test func `after a restart, the first reading returns the change of the clock since the previous run`() throws {
        let known = ClockWatcher.Reading(offset: ClockOffset(nanoseconds: -5_000_000_000), isSynchronized: true)
        var watcher = watcher(known: known)
        #expect(watcher.offset == known.offset)
        let observed = watcher.observe(at: at(1))
        let change = try #require(observed)
        #expect(change.before == known.offset)
        #expect(change.after == machine.reading.offset)
    }
}
