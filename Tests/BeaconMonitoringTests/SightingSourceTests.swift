import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import Synchronization
import Testing

@testable import BeaconMonitoring

/// A monitor with ears: what its source does to it, and it to its source.
@Suite(.timeLimit(.minutes(6))) struct SightingSourceTests {
    private final class Flag: Sendable {
        private let state = Mutex(false)
        var isRaised: Bool { state.withLock { $0 } }
        func raise() { state.withLock { $0 = true } }
    }

    private struct Broken: Error, CustomStringConvertible {
        let description = "the radio is under water"
    }

    @Test func `what a source hears becomes events, and its end the monitor's`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source", source: script)
        try await monitor.add(.anyA, identifier: "lobby")
        var events = monitor.events.makeAsyncIterator()
        async let hearing: Void = monitor.run()
        await script.hear(.a(7))
        await script.wait(.seconds(30))
        script.finish()
        try await hearing
        let entry = try await events.next()
        #expect(entry?.state == .satisfied && entry?.refinement == .a(7))
        let exit = try await events.next()
        #expect(exit?.state == .unsatisfied && exit?.time == entry.map { $0.time + .seconds(30) })
        #expect(try await events.next() == nil)
        // The name is free at once.
        await (try BeaconMonitor("source", clock: HandClock())).end()
    }

    @Test func `an error that ends hearing ends events and visits, with the error`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source broken", source: script)
        try await monitor.add(.anyA, identifier: "lobby")
        var events = monitor.events.makeAsyncIterator()
        var visits = monitor.visits.makeAsyncIterator()
        let run = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            group.addTask {
                do { return .success(try await monitor.run()) } catch { return .failure(error) }
            }
            await script.hear(.a(7))
            script.fail(Broken())
            return await group.next()
        }
        #expect(throws: Broken.self) { try run?.get() }
        let reason = MonitorError.hearingEnded("the radio is under water")
        #expect(try await events.next()?.state == .satisfied)
        await #expect(throws: reason) { try await events.next() }
        // Once; then it has ended.
        #expect(try await events.next() == nil)
        #expect(try await visits.next() != nil)
        await #expect(throws: reason) { try await visits.next() }
        // Who comes later is told too.
        await #expect(throws: reason) { for try await _ in monitor.events {} }
    }

    @Test func `a task that is cancelled ends its source, the monitor and its events`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source cancelled", source: script)
        var events = monitor.events.makeAsyncIterator()
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await monitor.run() }
            await script.hear(.a(7))
            group.cancelAll()
            await #expect(throws: CancellationError.self) { try await group.next() }
        }
        #expect(try await events.next() == nil)
        // Nobody performs it any more, so nobody waits.
        await script.hear(.a(7))
        await (try BeaconMonitor("source cancelled", clock: HandClock())).end()
    }

    @Test func `a monitor that is ended has its source end, and run() returns`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("source ended", source: script)
        async let hearing: Void = monitor.run()
        await script.hear(.a(7))
        await monitor.end()
        try await hearing
        try await monitor.run()
    }

    /// A source with a buffer, which a test fills; it is emptied when it is drained, and never else.
    private final class Buffered: SightingSource {
        let hands = HandClock(World.start)
        var clock: any MonitorClock { hands }
        private let buffer = Mutex<(monitor: BeaconMonitor?, beacons: [Duration])>((nil, []))

        func put(_ times: [Duration]) { buffer.withLock { $0.beacons += times } }

        func run(into monitor: BeaconMonitor) async throws {
            buffer.withLock { $0.monitor = monitor }
            defer { buffer.withLock { $0.monitor = nil } }
            try await hands.sleep(until: .latest)
        }

        func drain() async {
            let (monitor, times) = buffer.withLock { buffer in
                defer { buffer.beacons = [] }
                return (buffer.monitor, buffer.beacons)
            }
            guard let monitor, let adapter = try? await monitor.adapter(named: "hci0") else { return }
            for time in times {
                hands.set(time)
                await monitor.sighted(
                    Sighting(
                        time: World.start + time, adapter: adapter, beacon: .a(1), measuredPower: -59,
                        rssi: RSSI(dBm: -60)))
            }
        }
    }

    @Test func `T5: the loop has the source drained before a deadline is handled`() async throws {
        let source = Buffered()
        let monitor = try BeaconMonitor("T5", source: source)
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        async let hearing: Void = monitor.run()
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.sighted(
            Sighting(time: World.start, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60)))
        await source.hands.sleeperStands(at: .seconds(30))
        // One that lay in a source's buffer, and one that came while it was drained.
        source.put([.seconds(29), .seconds(31)])
        source.hands.set(.seconds(30))
        // A deadline may be early: what the first of them moved to is looked at before the second's.
        await source.hands.sleeperStands(at: .seconds(59))
        #expect(try await monitor.requestState(for: "lobby") == .satisfied)
        #expect(await monitor.counters.lateInputs == 0)
        #expect(await monitor.counters.futureInputs == 0)
        await monitor.end()
        try await hearing
    }

    @Test func `who can hold back what comes waits for the slowest subscriber`() async throws {
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
            // Of nineteen events thirteen have been handled and one is in hand: six are not handled.
            for _ in 0..<14 { _ = try await events.next() }
            #expect(!flag.isRaised)
            _ = try await events.next()
            try await group.waitForAll()
        }
        #expect(flag.isRaised)
        // Nor does it outlast being cancelled, or the monitor.
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

    @Test func `L5: on the machine's clock silence makes deaf after 10 s, on a test's it does not`() async throws {
        struct Live: MonitorClock {
            let hands: HandClock
            var now: Instant { hands.now }
            var offset: ClockOffset { hands.offset }
            var isLive: Bool { true }
            func sleep(until instant: Instant) async throws { try await hands.sleep(until: instant) }
        }
        let clock = Live(hands: HandClock())
        for (clock, expected) in [
            (clock as any MonitorClock, BeaconMonitor.Event.State.unknown), (clock.hands, .unsatisfied),
        ] {
            let monitor = try BeaconMonitor("L5 \(expected)", clock: clock)
            try await monitor.add(.anyA, identifier: "lobby")
            let adapter = try await monitor.adapter(named: "hci0")
            await monitor.sighted(
                Sighting(
                    time: clock.now, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60)))
            (clock as? Live)?.hands.turn(by: .seconds(70))
            (clock as? HandClock)?.turn(by: .seconds(70))
            await monitor.catchUp()
            #expect(try await monitor.requestState(for: "lobby") == expected)
            await monitor.end()
        }
    }
}
