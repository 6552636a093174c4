import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import Synchronization
import Testing

@testable import BeaconMonitoring

/// A monitor with a source: the effects of each on the other.
@Suite(.timeLimit(.minutes(6))) struct SightingSourceTests {
    private final class Flag: Sendable {
        private let state = Mutex(false)
        var isRaised: Bool { state.withLock { $0 } }
        func raise() { state.withLock { $0 = true } }
    }

    private struct Broken: Error, CustomStringConvertible {
        let description = "the radio is under water"
    }

    @Test func `sightings of a source become events, and its end ends the monitor`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source", source: script)
        try await monitor.add(.anyA, identifier: "lobby")
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        await script.receive(.a(7))
        await script.wait(.seconds(30))
        script.finish()
        try await running
        let entry = try await events.next()
        #expect(entry?.state == .satisfied && entry?.refinement == .a(7))
        let exit = try await events.next()
        #expect(exit?.state == .unsatisfied && exit?.time == entry.map { $0.time + .seconds(30) })
        #expect(try await events.next() == nil)
        // The name can be used again at once.
        await (try BeaconMonitor("source", clock: ManualClock())).end()
    }

    @Test func `if a source fails, run() throws its error, and events and visits throw sourceFailed`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source broken", source: script)
        try await monitor.add(.anyA, identifier: "lobby")
        var events = monitor.events.makeAsyncIterator()
        var visits = monitor.visits.makeAsyncIterator()
        let run = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            group.addTask {
                do { return .success(try await monitor.run()) } catch { return .failure(error) }
            }
            await script.receive(.a(7))
            script.fail(Broken())
            return await group.next()
        }
        #expect(throws: Broken.self) { try run?.get() }
        let reason = MonitorError.sourceFailed("the radio is under water")
        // A further attempt does not look like a success.
        await #expect(throws: reason) { try await monitor.run() }
        #expect(try await events.next()?.state == .satisfied)
        await #expect(throws: reason) { try await events.next() }
        // The error is thrown once. After it, the sequence has ended.
        #expect(try await events.next() == nil)
        #expect(try await visits.next() != nil)
        await #expect(throws: reason) { try await visits.next() }
        // Later subscribers get the error too.
        await #expect(throws: reason) { for try await _ in monitor.events {} }
    }

    @Test func `if the task of run() is canceled, its source, the monitor and its events end`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source cancelled", source: script)
        var events = monitor.events.makeAsyncIterator()
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await monitor.run() }
            await script.receive(.a(7))
            group.cancelAll()
            await #expect(throws: CancellationError.self) { try await group.next() }
        }
        #expect(try await events.next() == nil)
        // No run performs this step any more, so the call returns.
        await script.receive(.a(7))
        await (try BeaconMonitor("source cancelled", clock: ManualClock())).end()
    }

    @Test func `if a monitor is ended, its source ends and run() returns`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source ended", source: script)
        async let running: Void = monitor.run()
        await script.receive(.a(7))
        await monitor.end()
        try await running
        try await monitor.run()
    }

    /// A source with a buffer that a test fills. Only a drain empties the buffer.
    private final class Buffered: SightingSource {
        let manualClock = ManualClock(Fixture.start)
        var clock: any MonitorClock { manualClock }
        private let buffer = Mutex<(monitor: BeaconMonitor?, beacons: [Duration])>((nil, []))

        func put(_ times: [Duration]) { buffer.withLock { $0.beacons += times } }

        func run(into monitor: BeaconMonitor) async throws {
            buffer.withLock { $0.monitor = monitor }
            defer { buffer.withLock { $0.monitor = nil } }
            try await manualClock.sleep(until: .latest)
        }

        func drain() async {
            let (monitor, times) = buffer.withLock { buffer in
                defer { buffer.beacons = [] }
                return (buffer.monitor, buffer.beacons)
            }
            guard let monitor, let adapter = try? await monitor.adapter(named: "hci0") else { return }
            for time in times {
                manualClock.set(time)
                await monitor.sighted(
                    Sighting(
                        time: Fixture.start + time, adapter: adapter, beacon: .a(1), measuredPower: -59,
                        rssi: RSSI(dBm: -60)))
            }
        }
    }

    @Test func `T5: the loop drains the source before it handles a deadline`() async throws {
        let source = Buffered()
        let monitor = try BeaconMonitor("T5", source: source)
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        async let running: Void = monitor.run()
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.sighted(
            Sighting(time: Fixture.start, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60)))
        await source.manualClock.waitForSleeper(at: .seconds(30))
        // One sighting was in the source's buffer, and one arrived during the drain.
        source.put([.seconds(29), .seconds(31)])
        source.manualClock.set(.seconds(30))
        // A deadline can be early: the loop wakes for the deadline of the first sighting before that of the second.
        await source.manualClock.waitForSleeper(at: .seconds(59))
        #expect(try await monitor.requestState(for: "lobby") == .satisfied)
        #expect(await monitor.counters.lateInputs == 0)
        #expect(await monitor.counters.futureInputs == 0)
        await monitor.end()
        try await running
    }

    @Test func `a producer that can pause waits for the slowest subscriber`() async throws {
        let site = try await Site("settled")
        try await site.lobby()
        var events = site.monitor.events.makeAsyncIterator()
        for round in 0..<10 { await site.sighted(at: .seconds(40 * round)) }
        let flag = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await site.monitor.settled(to: 5)
                flag.raise()
            }
            // There are 19 events. 13 are handled and one is being handled, so 6 are not handled.
            for _ in 0..<14 { _ = try await events.next() }
            #expect(!flag.isRaised)
            _ = try await events.next()
            try await group.waitForAll()
        }
        #expect(flag.isRaised)
        // The wait also ends if its task is canceled, or if the monitor ends.
        for round in 10..<20 { await site.sighted(at: .seconds(40 * round)) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await site.monitor.settled(to: 0) }
            group.cancelAll()
        }
        async let settled: Void = site.monitor.settled(to: 0)
        await site.monitor.end()
        await settled
        withExtendedLifetime(events) {}
    }

    @Test func `L5: 10 s of silence make an adapter deaf with a live clock, but not with a test clock`() async throws {
        struct Live: MonitorClock {
            let manualClock: ManualClock
            var now: Instant { manualClock.now }
            var offset: ClockOffset { manualClock.offset }
            var isLive: Bool { true }
            func sleep(until instant: Instant) async throws { try await manualClock.sleep(until: instant) }
        }
        let clock = Live(manualClock: ManualClock())
        for (clock, expected) in [
            (clock as any MonitorClock, BeaconMonitor.Event.State.unknown), (clock.manualClock, .unsatisfied),
        ] {
            let monitor = try BeaconMonitor("L5 \(expected)", clock: clock)
            try await monitor.add(.anyA, identifier: "lobby")
            let adapter = try await monitor.adapter(named: "hci0")
            await monitor.sighted(
                Sighting(
                    time: clock.now, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60)))
            (clock as? Live)?.manualClock.advance(by: .seconds(70))
            (clock as? ManualClock)?.advance(by: .seconds(70))
            await monitor.catchUp()
            #expect(try await monitor.requestState(for: "lobby") == expected)
            await monitor.end()
        }
    }
}
