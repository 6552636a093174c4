import BeaconMonitoring
import BeaconMonitoringTesting
import Testing

/// The listings of “Coming from Core Location” that use `BeaconMonitor`.
@Suite struct MonitoringExamples {
    let clock = ManualClock()
    let uuid = staff

    @Test func `from a name to the first event`() async throws {
        let monitor = try BeaconMonitor("site", clock: clock)
        try await monitor.add(.beacon(uuid: uuid), identifier: "lobby")
        let events = monitor.subscribe()
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.sighted(sighting(7, by: adapter, at: clock.now))
        var iterator = events.makeAsyncIterator()
        let event = try await iterator.next()
        #expect(event?.state == .satisfied)
        #expect(event?.refinement?.minor == 7)
        let flags: (any Diagnosed)? = event
        #expect(flags?.accuracyLimited == false)
        // The record has the previous event until this one is handled.
        #expect(await monitor.record(for: "lobby")?.lastEvent.state == .unknown)
        await monitor.end()
        #expect(try await iterator.next() == nil)
        #expect(await monitor.record(for: "lobby")?.lastEvent.state == .satisfied)
    }

    @Test func `a loop over events runs next to a task that reports sightings`() async throws {
        let monitor = try BeaconMonitor("entrance", clock: clock)
        try await monitor.add(.beacon(uuid: uuid), identifier: "lobby")
        let adapter = try await monitor.adapter(named: "hci0")
        let sighting = sighting(7, by: adapter, at: clock.now)
        let events = monitor.subscribe()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await monitor.run() }
            group.addTask { await monitor.sighted(sighting) }
            group.addTask {
                for try await event in events {
                    #expect(event.identifier == "lobby")
                    await monitor.end()
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a condition in the store is monitored again without being added`() async throws {
        let data = StoredData()
        let adapterName = "hci0"
        let before = try BeaconMonitor("shelf", clock: clock, store: MemoryStore(data))
        try await before.add(.beacon(uuid: uuid), identifier: "lobby")
        let adapter = try await before.adapter(named: adapterName)
        await before.sighted(sighting(7, by: adapter, at: clock.now))
        await before.end()
        let after = try BeaconMonitor("shelf", clock: clock, store: MemoryStore(data))
        #expect(await after.identifiers == ["lobby"])
        #expect(try await after.requestState(for: "lobby") == .satisfied)
        await after.end()
    }

    @Test func `replacing a set of conditions changes only the conditions that differ`() async throws {
        let monitor = try BeaconMonitor("set", clock: clock)
        let lobby = try MonitorSetup.Condition(
            .beacon(uuid: uuid), identifier: "lobby")
        let forklift = try MonitorSetup.Condition(
            .beacon(uuid: uuid, major: 100, minor: 7), identifier: "forklift-7")
        try await monitor.setConditions([lobby])
        let changes = try await monitor.setConditions([lobby, forklift])
        #expect(changes.map(\.identifier) == ["forklift-7"])
        #expect(await monitor.identifiers == ["lobby", "forklift-7"])
    }

    @Test func `the nearest of many stops`() async throws {
        let monitor = try BeaconMonitor(
            "bus", clock: clock, engine: locating)
        let stops = try (0..<50).map { number in
            try PlacedCondition(
                BeaconMonitor.CircularGeographicCondition(
                    latitude: 50 + Double(number) / 100, longitude: 8, radius: 60),
                identifier: "stop-\(number)")
        }
        let fix = try LocationFix(
            time: clock.now, coordinate: Coordinate(latitude: 50.2, longitude: 8), horizontalAccuracy: 5)
        try await monitor.monitorNearest(3, of: stops, to: fix)
        #expect(await Set(monitor.identifiers) == ["stop-19", "stop-20", "stop-21"])
        await monitor.located(fix)
        #expect(try await monitor.requestState(for: "stop-20") == .satisfied)
    }

    @Test func `a subscriber can receive only arrivals, and visits have their own sequence`() async throws {
        let monitor = try BeaconMonitor("stays", clock: clock)
        try await monitor.add(
            .beacon(uuid: uuid), identifier: "lobby", assuming: .unsatisfied)
        var arrivals = monitor.events
        arrivals.notifyOnExit = false
        var events = arrivals.makeAsyncIterator()
        var visits = monitor.visits.makeAsyncIterator()
        let adapter = try await monitor.adapter(named: "hci0")
        let arrival = clock.now
        await monitor.sighted(sighting(7, by: adapter, at: arrival))
        // For two minutes, the adapter receives other reports, but none of this beacon.
        for _ in 0..<120 { await monitor.received(by: adapter, at: clock.advance(by: .seconds(1))) }
        await monitor.end()
        #expect(try await events.next()?.state == .satisfied)
        #expect(try await events.next() == nil)
        let open = try await visits.next()
        #expect(open?.arrival == arrival)
        #expect(open?.departure == nil)
        let ended = try await visits.next()
        #expect(ended?.arrival == arrival)
        #expect(ended?.departure == arrival)
    }
}
