import BeaconMonitoring
import BeaconMonitoringTesting
import Testing

/// The listings of “Coming from Core Location” about ranging and sessions.
@Suite struct RangingExamples {
    let clock = ManualClock()
    let uuid = staff

    @Test func `the beacons in view, the nearest first`() async throws {
        let monitor = try BeaconMonitor("desk", clock: clock)
        let adapter = try await monitor.adapter(named: "hci0")
        var rangings = monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(uuid: uuid)).makeAsyncIterator()
        for _ in 0..<3 {
            let time = clock.advance(by: .seconds(1))
            await monitor.sighted([
                sighting(8, by: adapter, at: time, rssi: -85), sighting(7, by: adapter, at: time, rssi: -59),
            ])
        }
        let ranging = await rangings.next()
        #expect(ranging?.beacons.map(\.beacon.minor) == [7, 8])
        let nearest = try #require(ranging?.beacons.first)
        #expect(nearest.rssi == -59)
        let metres = try #require(nearest.accuracy)
        #expect(abs(metres - 1) < 0.2)
        await monitor.end()
    }

    @Test func `the demand is the most that any session requests`() async throws {
        let registry = ServiceRegistry()
        let survey = ServiceSession(.lowPower(.low), in: registry)
        #expect(registry.demand?.scanning == .lowPower(.low))
        let badges = ServiceSession(.active, fullAccuracyPurpose: "badges open doors", in: registry)
        #expect(registry.demand?.scanning == .active)
        #expect(registry.purposes == ["badges open doors"])
        var flags = badges.diagnostics.makeAsyncIterator()
        #expect(await flags.next() == [])
        registry.report(.accuracyLimited)
        #expect(await flags.next() == .accuracyLimited)
        badges.invalidate()
        #expect(registry.demand?.scanning == .lowPower(.low))
        survey.invalidate()
        #expect(registry.demand == nil)
    }

    @Test func `a missing session is reported if sessions are required`() async throws {
        let registry = ServiceRegistry(requiresExplicitSessions: true)
        let monitor = try BeaconMonitor("sessions", clock: clock, service: registry)
        #expect(registry.diagnostics.contains(.serviceSessionRequired))
        #expect(registry.diagnostics.contains(.insufficientlyInUse))
        let session = ServiceSession(in: registry)
        #expect(!registry.diagnostics.contains(.insufficientlyInUse))
        session.invalidate()
        await monitor.end()
        #expect(registry.diagnostics == [])
    }
}
