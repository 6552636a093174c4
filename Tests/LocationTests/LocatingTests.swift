import BeaconMonitoring
import BeaconMonitoringTesting
import Foundation
import SystemPackage
import Testing

@testable import Location

/// A monitor that gets a location source when it is created: `locating:`.
@Suite struct LocatingTests {
    private func circle(radius: Double = 200) throws -> Condition {
        try .circle(center: vienna(), radius: radius)
    }

    private func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("ride-\(UUID().uuidString).gpx").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test func `only a monitor with a location source can evaluate circles`() async throws {
        let clock = ManualClock(at(0))
        let script = ScriptedFixes()
        let monitor = try BeaconMonitor(
            "located", clock: clock, locating: .scripted(script, feed: LocationFeed(service: ServiceRegistry())))
        try await monitor.add(circle(), identifier: "depot")
        #expect(try await monitor.requestState(for: "depot") == .unknown)
        await monitor.end()
        let other = try BeaconMonitor("unlocated", clock: clock)
        try await other.add(circle(), identifier: "depot")
        #expect(try await other.requestState(for: "depot") == .unmonitored)
        await other.end()
    }

    @Test func `G2: fixes of a script make events while the monitor runs, and live updates as well`()
        async throws
    {
        let clock = ManualClock(at(0))
        let script = ScriptedFixes()
        let feed = LocationFeed(service: ServiceRegistry())
        let monitor = try BeaconMonitor("scripted", clock: clock, locating: .scripted(script, feed: feed))
        try await monitor.add(circle(), identifier: "depot", assuming: .unsatisfied)
        let events = monitor.subscribe()
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        async let running: Void = monitor.run()
        script.give(try fix(0))
        var iterator = events.makeAsyncIterator()
        let entry = try await iterator.next()
        #expect(entry?.state == .satisfied)
        #expect(await updates.next()?.location?.coordinate == (try vienna()))
        clock.advance(to: at(10))
        script.give(try fix(10, north: 1000))
        #expect(try await iterator.next()?.state == .unsatisfied)
        await monitor.end()
        try await running
    }

    @Test func `G3: if a source has no fix, circles become unknown after the outage timeout`() async throws {
        let clock = ManualClock(at(0))
        let script = ScriptedFixes()
        let monitor = try BeaconMonitor(
            "lost", clock: clock, locating: .scripted(script, feed: LocationFeed(service: ServiceRegistry())))
        try await monitor.add(circle(), identifier: "depot", assuming: .unsatisfied)
        var events = monitor.subscribe().makeAsyncIterator()
        async let running: Void = monitor.run()
        script.give(try fix(0))
        #expect(try await events.next()?.state == .satisfied)
        clock.advance(to: at(5))
        script.lose(since: at(0), reason: "a tunnel")
        await clock.waitForSleeper(until: at(60))
        clock.advance(to: at(60))
        let event = try await events.next()
        #expect(event?.state == .unknown)
        #expect(event?.locationUnavailable == true)
        await monitor.end()
        try await running
    }

    @Test func `a GPX file is played on the monitor's own clock, and its end does not end the monitor`() async throws {
        let clock = ManualClock(at(0))
        let (here, there) = (try vienna(), try vienna(north: 1000))
        let path = try file(
            """
            <gpx version="1.1"><trk><trkseg>
            <trkpt lat="\(here.latitude)" lon="\(here.longitude)"><time>2026-11-21T08:00:00Z</time></trkpt>
            <trkpt lat="\(there.latitude)" lon="\(there.longitude)"><time>2026-11-21T08:00:10Z</time></trkpt>
            </trkseg></trk></gpx>
            """)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let monitor = try BeaconMonitor(
            "gpx", clock: clock, locating: .gpx(path, feed: LocationFeed(service: ServiceRegistry())))
        try await monitor.add(circle(), identifier: "depot", assuming: .unsatisfied)
        var events = monitor.subscribe().makeAsyncIterator()
        async let running: Void = monitor.run()
        #expect(try await events.next()?.state == .satisfied)
        for second in 1...10 {
            await clock.waitForSleeper(until: at(Double(second)))
            clock.advance(to: at(Double(second)))
        }
        let exit = try await events.next()
        #expect(exit?.state == .unsatisfied)
        // At 100 m per second: at 300 m, a fix of 5 m accuracy is outside the radius of 200 m.
        #expect(exit?.time == at(3))
        // The monitor continues: other deadlines are still handled.
        clock.advance(to: at(60))
        await clock.waitForSleeper(until: at(70))
        clock.advance(to: at(70))
        let outage = try await events.next()
        #expect(outage?.state == .unknown)
        #expect(outage?.time == at(70))
        await monitor.end()
        try await running
    }

    @Test func `a GPX file that does not exist ends the run with an error that names the file`() async throws {
        let monitor = try BeaconMonitor(
            "gpx none", clock: ManualClock(at(0)),
            locating: .gpx("/nowhere/ride.gpx", feed: LocationFeed(service: ServiceRegistry())))
        let error = await #expect(throws: LocationError.self) { try await monitor.run() }
        #expect(error?.description.contains("/nowhere/ride.gpx") == true)
        await monitor.end()
    }

    @Test(arguments: [0, -1, .nan, .infinity]) func `a GPX file cannot be played with an invalid speed`(speed: Double)
        async throws
    {
        let path = try file(#"<gpx version="1.1"><wpt lat="50" lon="8"/><wpt lat="50.01" lon="8"/></gpx>"#)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var options = GPXOptions()
        options.speed = speed
        let feed = LocationFeed(service: ServiceRegistry())
        let error = await #expect(throws: LocationError.self) {
            try await feed.run(.gpx(path, options: options, pace: 1.5), clock: ManualClock(at(0)))
        }
        #expect(error?.description == "\(path): the speed is \(speed); expected a finite number above 0")
    }

    @Test func `a feed can be run without a monitor`() async throws {
        let clock = ManualClock(at(0))
        let script = ScriptedFixes()
        let feed = LocationFeed(service: ServiceRegistry())
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        let running = Task { try await feed.run(.scripted(script), clock: clock) }
        script.give(try fix(0))
        #expect(await updates.next()?.location != nil)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test func `a fix has the date at which it was received, also after a step of the wall clock`() async throws {
        let clock = ManualClock(at(0), offset: ClockOffset(nanoseconds: 60_000_000_000))
        let script = ScriptedFixes()
        let feed = LocationFeed(service: ServiceRegistry())
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        var running = Task { try await feed.run(.scripted(script), clock: clock) }
        script.give(try fix(0))
        let first = try #require(await updates.next()?.location)
        #expect(first.date == WallDate(at(60), offset: .zero))
        clock.offset = ClockOffset(nanoseconds: -60_000_000_000)
        script.give(try fix(0))
        #expect(await updates.next()?.location?.date == WallDate(at(-60), offset: .zero))
        #expect(first.date == WallDate(at(60), offset: .zero))
        // A source of the program can know the date better.
        script.give(first)
        #expect(await updates.next()?.location == first)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }

        // The same if a monitor runs the provider, and for a track.
        let here = try vienna()
        let path = try file(
            """
            <gpx version="1.1"><trk><trkseg>
            <trkpt lat="\(here.latitude)" lon="\(here.longitude)"><time>2026-11-21T08:00:00Z</time></trkpt>
            </trkseg></trk></gpx>
            """)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let monitor = try BeaconMonitor("dates", clock: clock, locating: .gpx(path, feed: feed))
        running = Task { try await monitor.run() }
        #expect(await updates.next()?.location?.date == WallDate(at(-60), offset: .zero))
        await monitor.end()
        try await running.value
    }

    @Test func `gpsd is read on a thread of its own, which ends with the run`() async throws {
        let feed = LocationFeed(service: ServiceRegistry())
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        // No process listens on port 1. Until this is known, it is also unknown whether this user has the permission.
        let monitor = try BeaconMonitor(
            "gpsd", clock: ManualClock(at(0)), locating: .gpsd(host: "127.0.0.1", port: 1, feed: feed))
        let running = Task { try await monitor.run() }
        #expect(await updates.next()?.authorizationRequestInProgress == true)
        #expect(await updates.next()?.authorizationRequestInProgress == false)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        await monitor.end()
    }

    // MARK: Permissions

    @Test func `diagnostics of a script are delivered when they are raised and when they end`() async throws {
        let script = ScriptedFixes()
        let feed = LocationFeed(service: ServiceRegistry())
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        let running = Task { try await feed.run(.scripted(script), clock: ManualClock(at(0))) }
        script.raise(.authorizationDenied)
        #expect(await updates.next()?.authorizationDenied == true)
        script.raise([])
        #expect(await updates.next()?.authorizationDenied == false)
        running.cancel()
        _ = await running.result
    }

    @Test(arguments: [
        (Errno.permissionDenied, Diagnostics.authorizationDenied), (.notPermitted, .authorizationDenied),
        (.connectionRefused, Diagnostics()),
    ])
    func `a connection that the kernel denies is authorizationDenied`(_ error: Errno, _ flags: Diagnostics) {
        #expect(GPSDSource.flags(for: error) == flags)
    }

    @Test func `if explicit sessions are required and none is held, live updates report it at once`() async throws {
        let registry = ServiceRegistry(requiresExplicitSessions: true)
        let feed = LocationFeed(service: registry)
        var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        let first = await updates.next()
        #expect(first?.serviceSessionRequired == true)
        #expect(first?.insufficientlyInUse == true)
        let session = ServiceSession(in: registry)
        #expect(await updates.next()?.serviceSessionRequired == false)
        session.invalidate()
        #expect(await updates.next()?.serviceSessionRequired == true)
    }

    @Test func `a subscriber of locations holds a session without a demand for the scanners`() async throws {
        let registry = ServiceRegistry()
        let feed = LocationFeed(service: registry)
        var updates: AsyncStream<LocationUpdate>.Iterator? = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
        #expect(registry.demand == nil)
        #expect(feed.subscriberCount == 1)
        updates = nil
        #expect(feed.subscriberCount == 0)
        withExtendedLifetime(updates) {}
    }

    @Test func `of more than 1,024 elements that nothing takes, the oldest are dropped and counted`() throws {
        let script = ScriptedFixes()
        for second in 0..<1030 { script.give(try fix(Double(second))) }
        #expect(script.dropped == 6)
    }
}
