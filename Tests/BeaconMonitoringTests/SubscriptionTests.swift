import Testing

@testable import BeaconMonitoring

/// `subscribe()`: a subscription that starts before a loop does (rule N2).
@Suite struct SubscriptionTests {
    @Test func `N2: events between subscribe() and the first loop are not lost`() async throws {
        let site = try await Site("subscribe")
        try await site.lobby()
        let late = site.monitor.events
        let events = site.monitor.subscribe()
        await site.sighted(at: .zero)
        await site.sighted(at: .seconds(40))
        await site.monitor.end()
        var received: [Outcome?] = []
        for try await event in events { received.append(event.brief) }
        #expect(received == [.satisfied(at: .zero), .unsatisfied(at: .seconds(30)), .satisfied(at: .seconds(40))])
        // `events` works as in Core Location: it subscribes when its loop starts.
        #expect(try await late.reduce(0) { count, _ in count + 1 } == 0)
    }

    @Test func `a loop over a subscription continues at the point at which the loop before it stopped`() async throws {
        let site = try await Site("subscribe again")
        try await site.lobby()
        let events = site.monitor.subscribe()
        for round in 0..<3 { await site.sighted(at: .seconds(40 * round)) }
        var received: [Outcome?] = []
        for _ in 0..<5 {
            for try await event in events {
                received.append(event.brief)
                break
            }
        }
        #expect(
            received == [
                .satisfied(at: .zero), .unsatisfied(at: .seconds(30)), .satisfied(at: .seconds(40)),
                .unsatisfied(at: .seconds(70)), .satisfied(at: .seconds(80)),
            ])
        #expect(site.monitor.hub.subscribers == 1)
        withExtendedLifetime(events) {}
    }

    @Test func `N2: a filtered sequence can be subscribed to, and so can visits`() async throws {
        let site = try await Site("subscribe narrow")
        try await site.lobby()
        var view = site.monitor.events
        view.notifyOnEntry = false
        let exits = view.subscribe()
        let visits = site.monitor.visits.subscribe()
        await site.sighted(at: .zero)
        await site.sighted(at: .seconds(40))
        await site.monitor.end()
        var received: [Outcome?] = []
        for try await event in exits { received.append(event.brief) }
        #expect(received == [.unsatisfied(at: .seconds(30))])
        var open: [Bool] = []
        for try await visit in visits { open.append(visit.isOpen) }
        #expect(open == [true, false, true])
    }

    @Test func `N2: a subscription that is never read ends with an error after 65,536 events`() async throws {
        let site = try await Site("subscribe slow")
        try await site.lobby()
        let events = site.monitor.subscribe()
        site.clock.set(.seconds(40 * 32_769))
        await site.monitor.sighted((0..<32_769).map { site.sighting(at: .seconds(40 * $0)) })
        #expect(await site.monitor.counters.slowSubscribers == 1)
        await #expect(throws: MonitorError.subscriberTooSlow(65_536)) { for try await _ in events {} }
    }

    @Test func `N2: a subscription ends with its last reference`() async throws {
        let site = try await Site("subscribe let go")
        var events: BeaconMonitor.EventSubscription? = site.monitor.subscribe()
        var iterator = events?.makeAsyncIterator()
        events = nil
        #expect(site.monitor.hub.subscribers == 1)
        iterator = nil
        #expect(site.monitor.hub.subscribers == 0)
        withExtendedLifetime(iterator) {}
    }
}
