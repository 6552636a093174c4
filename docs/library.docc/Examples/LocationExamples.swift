import BaseTypes
import BeaconMonitoring
import BeaconMonitoringTesting
import Location
import Testing

/// The listings of “Coming from Core Location” that use `Location`.
@Suite struct LocationExamples {
    let clock = ManualClock()

    private func fix(_ latitude: Double, after seconds: Int, accuracy: Double = 5) throws -> LocationFix {
        try LocationFix(
            time: Instant(nanoseconds: 1_000_000_000_000) + .seconds(seconds),
            coordinate: Coordinate(latitude: latitude, longitude: 8), horizontalAccuracy: accuracy)
    }

    @Test func `live updates are at least the requested distance apart`() async throws {
        let feed = LocationFeed()
        var filter = LocationFilter()
        filter.distanceFilter = 100
        filter.unavailableAfter = .seconds(30)
        var updates = LocationUpdate.liveUpdates(.otherNavigation, filter: filter, from: feed).makeAsyncIterator()
        feed.located(try fix(50, after: 0))
        feed.located(try fix(50.0001, after: 1))
        feed.located(try fix(50.01, after: 20))
        #expect(await updates.next()?.location?.coordinate.latitude == 50)
        #expect(await updates.next()?.location?.coordinate.latitude == 50.01)
    }

    @Test func `a monitor evaluates circles with the fixes of a provider`() async throws {
        let script = ScriptedFixes()
        let provider: LocationProvider = .scripted(script)
        let feed = LocationFeed()
        let monitor = try BeaconMonitor("ferry", clock: clock, locating: .provider(provider, feed: feed))
        let pier = try Condition.circle(center: Coordinate(latitude: 50, longitude: 8), radius: 200)
        try await monitor.add(pier, identifier: "pier", assuming: .unsatisfied)
        var events = monitor.subscribe().makeAsyncIterator()
        async let running: Void = monitor.run()
        script.give(try fix(50, after: 0))
        #expect(try await events.next()?.state == .satisfied)
        await monitor.end()
        try await running
    }

    @Test func `a fix with a negative accuracy is invalid`() {
        #expect(throws: MonitorError.accuracyInvalid(-1)) { try fix(50, after: 0, accuracy: -1) }
    }

    @Test func `a visit is reported before and after its departure; significant changes are far apart`() async throws {
        let feed = LocationFeed()
        var visits = feed.visits.makeAsyncIterator()
        var changes = feed.significantChanges.makeAsyncIterator()
        for seconds in stride(from: 0, through: 600, by: 60) { feed.located(try fix(50, after: seconds)) }
        feed.located(try fix(50.1, after: 700))
        #expect(await visits.next()?.departure == nil)
        #expect(await visits.next()?.departure == Instant(nanoseconds: 1_600_000_000_000))
        #expect(await changes.next()?.coordinate.latitude == 50)
        #expect(await changes.next()?.coordinate.latitude == 50.1)
    }

    @Test func `a circle is entered and left`() async throws {
        let monitor = try BeaconMonitor("harbour", clock: clock, engine: locating)
        try await monitor.add(
            .circle(try BeaconMonitor.CircularGeographicCondition(latitude: 50, longitude: 8, radius: 200)),
            identifier: "pier",
            assuming: .unsatisfied)
        await monitor.located(try fix(50, after: 0))
        #expect(try await monitor.requestState(for: "pier") == .satisfied)
        await monitor.end()
    }
}
