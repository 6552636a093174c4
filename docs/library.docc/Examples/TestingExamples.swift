import BeaconMonitoringTesting
import BeaconScanning
import Testing

/// The listings of “Test a monitor”.
@Suite(.timeLimit(.minutes(20))) struct TestingExamples {
    let badge = BeaconIdentity(uuid: staff, major: 1, minor: 7)

    @Test func `a beacon arrives and leaves`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("doors", scanning: .scripted(script))
        try await monitor.add(.beacon(uuid: staff), identifier: "near")
        let events = monitor.subscribe()
        async let running: Void = monitor.run()
        await script.receive(badge)
        await script.wait(.seconds(30))
        script.finish()
        try await running
        var states: [BeaconMonitor.Event.State] = []
        for try await event in events { states.append(event.state) }
        #expect(states == [.satisfied, .unsatisfied])
    }

    @Test func `no beacon leaves if an adapter is unplugged`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("unplugged", scanning: .scripted(script))
        try await monitor.add(.beacon(uuid: staff), identifier: "near")
        async let running: Void = monitor.run()
        await script.receive(badge)
        await script.stopListening(because: "unplugged")
        await script.waitInSilence(.seconds(3600))
        #expect(try await monitor.requestState(for: "near") == .unknown)
        await script.listen()
        await script.wait(.seconds(29))
        #expect(try await monitor.requestState(for: "near") == .unknown)
        await script.wait(.seconds(1))
        #expect(try await monitor.requestState(for: "near") == .unsatisfied)
        await script.receive(badge, rssi: RSSI(dBm: -70))
        #expect(try await monitor.requestState(for: "near") == .satisfied)
        await script.report(.accuracyLimited)
        script.finish()
        try await running
    }

    private struct OutOfRange: Error {}

    @Test func `an error of the source ends the run of the monitor`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("failing", scanning: .scripted(script))
        script.fail(OutOfRange())
        await #expect(throws: OutOfRange.self) { try await monitor.run() }
    }

    @Test func `time alone`() async throws {
        let clock = ManualClock()
        let monitor = try BeaconMonitor("gate", clock: clock)
        clock.advance(by: .seconds(86_400))
        try await monitor.add(.beacon(uuid: staff), identifier: "near")
        #expect(await monitor.record(for: "near")?.lastEvent.time == clock.now)
        #expect(clock.advance(to: clock.now) == clock.now)
        #expect(clock.sleepers == 0)
        await monitor.end()
    }
}
