import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import Synchronization
import Testing

@testable import BeaconMonitoring

/// Inputs that arrive while a source still has received reports to deliver, and errors of a source at the end.
@Suite(.timeLimit(.minutes(6))) struct UndrainedTests {
    /// A source whose drain waits until a test releases it, and then delivers one report that had been received.
    private final class Held: SightingSource {
        private struct State {
            var monitor: BeaconMonitor?
            var buffered: Sighting?
        }

        let manualClock = ManualClock()
        var clock: any MonitorClock { manualClock }
        let running = Gate()
        let asked = Gate()
        let released = Gate()
        let handed = Gate()
        private let state = Mutex(State())

        func buffer(_ sighting: Sighting) { state.withLock { $0.buffered = sighting } }

        func run(into monitor: BeaconMonitor) async throws {
            state.withLock { $0.monitor = monitor }
            defer { state.withLock { $0.monitor = nil } }
            running.open()
            try await manualClock.sleep(until: .latest)
        }

        func drain() async {
            let (monitor, sighting) = state.withLock { state in (state.monitor, state.buffered.take()) }
            guard let monitor, let sighting else { return }
            asked.open()
            await released.passed()
            await monitor.sighted(sighting)
            handed.open()
        }
    }

    /// A gate that tasks can pass after it was opened.
    private final class Gate: Sendable {
        private let stream: AsyncStream<Never>
        private let continuation: AsyncStream<Never>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func open() { continuation.finish() }
        func passed() async { for await _ in stream {} }
    }

    private enum Input: CaseIterable { case fix, loss, condition, names }

    @Test(arguments: Input.allCases)
    private func `T5: no fix and no call of the program is handled before the report that prevents an exit`(
        _ input: Input
    ) async throws {
        let source = Held()
        var engine = EngineSettings()
        engine.locationSource = "gps"
        let monitor = try BeaconMonitor("undrained \(input)", source: source, engine: engine)
        try await monitor.add(.anyA, identifier: "lobby")
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        await source.running.passed()
        let adapter = try await monitor.adapter(named: "hci0")
        func sighting() -> Sighting {
            Sighting(
                time: source.manualClock.now, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60))
        }
        await monitor.sighted(sighting())
        #expect(try await events.next()?.state == .satisfied)
        // The beacon is sighted again just before its exit. That report is not delivered yet when the exit is due.
        source.manualClock.advance(by: .seconds(29))
        source.buffer(sighting())
        source.manualClock.advance(by: .seconds(2))
        await source.asked.passed()
        let now = source.manualClock.now
        switch input {
        case .fix:
            await monitor.located(
                try LocationFix(
                    time: now, coordinate: try Coordinate(latitude: 48, longitude: 16), horizontalAccuracy: 5))
        case .loss: await monitor.lostLocation(since: now, reason: "a tunnel")
        case .condition:
            try await monitor.add(
                .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: BeaconIdentity.a(1).uuid, major: 999)),
                identifier: "other")
        case .names: try await monitor.setNamedBeacons([])
        }
        source.released.open()
        await source.handed.passed()
        await monitor.end()
        try await running
        // There was no exit.
        #expect(try await events.next() == nil)
    }

    @Test func `C4, T5: a place that another monitor releases does not overtake a report that was received before`()
        async throws
    {
        let (source, service) = (Held(), ServiceRegistry())
        var engine = EngineSettings()
        engine.conditionLimit = 2
        let first = try BeaconMonitor("undrained first", clock: source.clock, engine: engine, service: service)
        try await first.add(.anyA, identifier: "gate")
        let monitor = try BeaconMonitor("undrained place", source: source, engine: engine, service: service)
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        try await monitor.add(.anyB, identifier: "yard")
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        await source.running.passed()
        let adapter = try await monitor.adapter(named: "hci0")
        source.manualClock.set(.seconds(3))
        source.buffer(
            Sighting(
                time: source.manualClock.now, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60))
        )
        source.manualClock.set(.seconds(5))
        await first.end()
        // No deadline is due: the source is drained because of the place.
        await source.asked.passed()
        source.released.open()
        #expect(try await events.next()?.brief == .unknown("yard", at: .seconds(3)))
        #expect(try await events.next()?.brief == .satisfied("lobby", at: .seconds(3)))
        await monitor.end()
        try await running
        #expect(await monitor.counters.lateInputs == 0)
    }

    @Test func `run() does not throw an error that its source gets because the monitor has ended`() async throws {
        struct Hasty: SightingSource {
            let manualClock = ManualClock()
            let asked = Gate()
            var clock: any MonitorClock { manualClock }
            func run(into monitor: BeaconMonitor) async throws {
                let adapter = try await monitor.adapter(named: "hci0")
                await monitor.sighted(
                    Sighting(
                        time: manualClock.now, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60)
                    ))
                manualClock.advance(by: .seconds(31))
                // The loop waits in `drain()` until this function ends, so no deadline is handled.
                await asked.passed()
                await monitor.end()
                _ = try await monitor.adapter(named: "hci0")
            }
            func drain() async {
                asked.open()
                await Gate().passed()
            }
        }
        let monitor = try BeaconMonitor("ended within", source: Hasty())
        try await monitor.add(.anyA, identifier: "lobby", assuming: .satisfied)
        var events = monitor.events.makeAsyncIterator()
        try await monitor.run()
        #expect(try await events.next() == nil)
    }

    @Test func `a step of a script without a run ends if its task is canceled, and is never performed`()
        async throws
    {
        let script = ScriptedSightings()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await script.receive(.a(1)) }
            group.cancelAll()
        }
        let monitor = try BeaconMonitor("step cancelled", source: script)
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        async let running: Void = monitor.run()
        await script.wait(.seconds(1))
        #expect(try await monitor.requestState(for: "lobby") == .unsatisfied)
        script.finish()
        try await running
    }

    @Test func `a step of a script ends after the location source was drained too`() async throws {
        struct Place: LocatingSource {
            let name = "gps"
            let coordinate: Coordinate
            func run(into monitor: BeaconMonitor) async throws { await Gate().passed() }
            func drain(into monitor: isolated BeaconMonitor) async {
                guard
                    let fix = try? LocationFix(
                        time: monitor.clock.now, coordinate: coordinate, horizontalAccuracy: 5)
                else { return }
                monitor.located(fix)
            }
        }
        let script = ScriptedSightings()
        let here = try Coordinate(latitude: 48, longitude: 16)
        let monitor = try BeaconMonitor("script located", source: script, locating: Locating(Place(coordinate: here)))
        try await monitor.add(
            .circle(BeaconMonitor.CircularGeographicCondition(center: here, radius: 200)), identifier: "depot",
            assuming: .unsatisfied)
        async let running: Void = monitor.run()
        await script.wait(.seconds(1))
        #expect(try await monitor.requestState(for: "depot") == .satisfied)
        script.finish()
        try await running
    }
}
