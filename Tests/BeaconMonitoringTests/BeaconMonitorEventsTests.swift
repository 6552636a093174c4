import TestSupport
import Testing

@testable import BeaconMonitoring

@Suite struct BeaconMonitorEventsTests {
    @Test func `N2: each subscriber gets all events since it subscribed, in order`() async throws {
        let site = try await Site("N2")
        try await site.lobby()
        var first = site.monitor.events.makeAsyncIterator()
        await site.sighted(at: .zero)
        var second = site.monitor.events.makeAsyncIterator()
        await site.sighted(at: .seconds(40))
        let all: [Outcome] = [.satisfied(at: .zero), .unsatisfied(at: .seconds(30)), .satisfied(at: .seconds(40))]
        for expected in all { #expect(try await first.next()?.brief == expected) }
        for expected in all.dropFirst() { #expect(try await second.next()?.brief == expected) }
        await site.sighted(at: .seconds(80))
        #expect(try await second.next()?.brief == .unsatisfied(at: .seconds(70)))
        #expect(try await first.next()?.brief == .unsatisfied(at: .seconds(70)))
    }

    @Test func `N2: one sequence can be subscribed to 50 times, one after another`() async throws {
        let site = try await Site("N2 again")
        try await site.lobby()
        let events = site.monitor.events
        for round in 0..<50 {
            var iterator = events.makeAsyncIterator()
            await site.sighted(at: .seconds(40 * round))
            if round > 0 { #expect(try await iterator.next()?.brief == .unsatisfied(at: .seconds(40 * round - 10))) }
            #expect(try await iterator.next()?.brief == .satisfied(at: .seconds(40 * round)))
        }
        #expect(site.monitor.hub.subscribers == 0)
    }

    @Test func `N2: a subscriber that ends early does not make another one lose an event`() async throws {
        let site = try await Site("N2 early")
        try await site.lobby()
        var other = site.monitor.events.makeAsyncIterator()
        var early: BeaconMonitor.Events.Iterator? = site.monitor.events.makeAsyncIterator()
        await site.sighted(at: .zero)
        await site.sighted(at: .seconds(40))
        #expect(try await early?.next()?.brief == .satisfied(at: .zero))
        early = nil
        #expect(site.monitor.hub.subscribers == 1)
        #expect(try await other.next()?.brief == .satisfied(at: .zero))
        #expect(try await other.next()?.brief == .unsatisfied(at: .seconds(30)))
        #expect(try await other.next()?.brief == .satisfied(at: .seconds(40)))
    }

    @Test func `N2: a canceled subscriber ends, whether it waits or not, and the others continue`() async throws {
        let site = try await Site("N2 cancelled")
        try await site.lobby()
        var other = site.monitor.events.makeAsyncIterator()
        let events = site.monitor.events
        for _ in 0..<100 {
            let subscriber = Task { for try await _ in events {} }
            subscriber.cancel()
            try await subscriber.value
        }
        let waiting = Task {
            for try await _ in events { withUnsafeCurrentTask { $0?.cancel() } }
        }
        let hub = site.monitor.hub
        try await until("two have subscribed", saw: "\(hub.subscribers)") { hub.subscribers >= 2 }
        await site.sighted(at: .zero)
        try await waiting.value
        #expect(site.monitor.hub.subscribers == 1)
        #expect(try await other.next()?.brief == .satisfied(at: .zero))
    }

    @Test func `N2: a subscriber 65,536 events behind ends with an error, one 65,535 behind does not`() async throws {
        let site = try await Site("N2 slow")
        try await site.lobby()
        var slow = site.monitor.events.makeAsyncIterator()
        var steady = site.monitor.events.makeAsyncIterator()
        // The first input is one event, each of the others is two: 65,535 in total.
        site.clock.set(.seconds(40 * 32_768))
        await site.monitor.sighted((0..<32_768).map { site.sighting(at: .seconds(40 * $0)) })
        #expect(site.monitor.hub.subscribers == 2)
        for _ in 0..<2 { _ = try await steady.next() }
        await site.received(at: .seconds(40 * 32_768))
        #expect(site.monitor.hub.subscribers == 1)
        #expect(await site.monitor.counters.slowSubscribers == 1)
        await #expect(throws: MonitorError.subscriberTooSlow(65_536)) { try await slow.next() }
        #expect(try await slow.next() == nil)
        #expect(try await steady.next()?.brief == .satisfied(at: .seconds(40)))
        #expect(site.monitor.hub.unhandled == 65_534)
        for _ in 0..<65_533 { _ = try await steady.next() }
        #expect(site.monitor.hub.unhandled == 1)
    }

    @Test func `N2: if the monitor ends, its subscribers get the waiting events and then the end`() async throws {
        let site = try await Site("N2 end")
        try await site.lobby()
        var events = site.monitor.events.makeAsyncIterator()
        await site.sighted(at: .zero)
        let waiting = Task { [events = site.monitor.events] in try await events.reduce(0) { count, _ in count + 1 } }
        let hub = site.monitor.hub
        try await until("two have subscribed", saw: "\(hub.subscribers)") { hub.subscribers >= 2 }
        await site.monitor.end()
        #expect(try await waiting.value == 0)
        #expect(try await events.next()?.brief == .satisfied(at: .zero))
        #expect(try await events.next() == nil)
        #expect(try await events.next() == nil)
    }

    // MARK: Handled

    @Test func `N3: if there is no subscriber, an event is the last one of its record at once`() async throws {
        let site = try await Site("N3 none")
        try await site.lobby()
        await site.sighted(at: .zero)
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.brief == .satisfied(at: .zero))
    }

    @Test func `N3: an event becomes its record's last when all receivers asked for the next or ended`() async throws {
        let site = try await Site("N3")
        try await site.lobby()
        func last() async -> BeaconMonitor.Event.State? { await site.monitor.record(for: "lobby")?.lastEvent.state }
        var first = site.monitor.events.makeAsyncIterator()
        var second: BeaconMonitor.Events.Iterator? = site.monitor.events.makeAsyncIterator()
        await site.sighted(at: .zero)
        await site.sighted(at: .seconds(40))
        // A later subscriber did not receive the events.
        let later = site.monitor.events.makeAsyncIterator()
        #expect(await last() == .unsatisfied)
        _ = try await first.next()
        _ = try await second?.next()
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.time == Fixture.start)
        #expect(await last() == .unsatisfied)
        _ = try await first.next()
        #expect(await last() == .unsatisfied)
        _ = try await second?.next()
        #expect(await last() == .satisfied)
        _ = try await first.next()
        #expect(await last() == .satisfied)
        second = nil
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.brief == .unsatisfied(at: .seconds(30)))
        withExtendedLifetime(later) {}
    }

    @Test func `N3: an event of a replaced or removed condition does not become a last event`() async throws {
        let site = try await Site("N3 gone")
        try await site.lobby()
        try await site.monitor.add(.anyA, identifier: "porch", assuming: .unsatisfied)
        var events: BeaconMonitor.Events.Iterator? = site.monitor.events.makeAsyncIterator()
        await site.sighted(at: .zero)
        try await site.monitor.add(.anyB, identifier: "lobby")
        await site.monitor.remove("porch")
        #expect(try await events?.next()?.brief == .satisfied(at: .zero))
        #expect(try await events?.next()?.brief == .satisfied("porch", at: .zero))
        events = nil
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.state == .unknown)
        #expect(await site.monitor.record(for: "porch") == nil)
    }

    @Test func `N3: the event of a beacon does not become the last event of its condition`() async throws {
        let site = try await Site("N3 beacon")
        var settings = ConditionSettings()
        settings.perBeacon = true
        try await site.monitor.add(.anyA, identifier: "lobby", settings: settings)
        await site.sighted(.a(1), at: .zero)
        await site.sighted(.a(2), at: .seconds(1))
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.brief == .satisfied(at: .zero))
    }

    // MARK: Concurrency

    @Test func `no subscriber misses an event while 1,000 conditions are added and removed`() async throws {
        let site = try await Site("thousand")
        try await site.lobby()
        async let one: [BeaconMonitor.Event] = collect(site.monitor.events)
        async let two: [BeaconMonitor.Event] = collect(site.monitor.events)
        let hub = site.monitor.hub
        try await until("two have subscribed", saw: "\(hub.subscribers)") { hub.subscribers >= 2 }
        // This task can subscribe once more when no events are left. Then it ends together with the monitor.
        async let brief: Void = {
            for _ in 0..<200 { for try await _ in site.monitor.events { break } }
        }()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<1000 {
                    try await site.monitor.add(.a(1), identifier: "gate \(round)", assuming: .unsatisfied)
                    #expect(await site.monitor.record(for: "gate \(round)") != nil)
                    #expect(await site.monitor.remove("gate \(round)"))
                }
            }
            group.addTask { for round in 0..<1000 { await site.sighted(at: .seconds(40 * round)) } }
            try await group.waitForAll()
        }
        await site.monitor.end()
        try await brief
        let (left, right) = try await (one, two)
        #expect(left == right)
        #expect(left.filter { $0.identifier == "lobby" }.count == 1999)
        #expect(await site.monitor.identifiers == ["lobby"])
        #expect(site.monitor.hub.unhandled == 0)
    }

    private func collect(_ events: BeaconMonitor.Events) async throws -> [BeaconMonitor.Event] {
        var all: [BeaconMonitor.Event] = []
        for try await event in events { all.append(event) }
        return all
    }
}
