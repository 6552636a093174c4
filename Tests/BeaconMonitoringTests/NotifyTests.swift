import TestSupport
import Testing

@testable import BeaconMonitoring

/// Subscribers of `events` can select only entries or only exits.
@Suite struct NotifyTests {
    /// Returns the selected events of two visits. The first visit has an outage. In the second visit, the beacon leaves
    /// during an outage, so its exit is noticed after the outage.
    private static func selectedEvents(_ name: String, _ view: (inout BeaconMonitor.Events) -> Void) async throws
        -> [Outcome]
    {
        let site = try await Site(name)
        try await site.monitor.add(.anyA, identifier: "lobby")
        try await site.monitor.add(.anyB, identifier: "yard")
        var events = site.monitor.events
        view(&events)
        var iterator = events.makeAsyncIterator()
        let (started, stopped) = (ListeningChange.Kind.started, ListeningChange.Kind.stopped(since: nil))
        await site.sighted(at: .seconds(1))
        await site.listening(stopped, at: .seconds(10))
        await site.listening(started, at: .seconds(80))
        await site.sighted(at: .seconds(81))
        // The beacon exits at 111 s, returns at 150 s, and is absent when the adapter scans again.
        await site.sighted(at: .seconds(150))
        await site.listening(stopped, at: .seconds(151))
        await site.listening(started, at: .seconds(220))
        await site.received(at: .seconds(300))
        await site.monitor.end()
        var all: [Outcome] = []
        while let event = try await iterator.next() { if let brief = event.brief { all.append(brief) } }
        return all
    }

    @Test func `without a selection, a subscriber gets entries, exits and all other events`() async throws {
        #expect(
            try await Self.selectedEvents("notify all") { _ in } == [
                .satisfied(at: .seconds(1)),
                .unknown(at: .seconds(70)),
                .satisfied(at: .seconds(81)),
                .unsatisfied("yard", at: .seconds(100)),
                .unsatisfied(at: .seconds(111)),
                .satisfied(at: .seconds(150)),
                .unknown(at: .seconds(211)), .unknown("yard", at: .seconds(211)),
                .unsatisfied(at: .seconds(250)), .unsatisfied("yard", at: .seconds(250)),
            ])
    }

    @Test func `entries only: the return from an outage is not an entry`() async throws {
        #expect(
            try await Self.selectedEvents("notify entries") { $0.notifyOnExit = false } == [
                .satisfied(at: .seconds(1)), .satisfied(at: .seconds(150)),
            ])
    }

    @Test func `exits only: an outage hides no exit, and a condition that was never satisfied has none`() async throws {
        #expect(
            try await Self.selectedEvents("notify exits") { $0.notifyOnEntry = false } == [
                .unsatisfied(at: .seconds(111)), .unsatisfied(at: .seconds(250)),
            ])
    }

    @Test func `if neither entries nor exits are selected, there are no events`() async throws {
        #expect(
            try await Self.selectedEvents("notify neither") { ($0.notifyOnEntry, $0.notifyOnExit) = (false, false) }
                == [])
    }

    @Test func `events can be selected by identifier, and by identifier and kind`() async throws {
        #expect(
            try await Self.selectedEvents("notify yard") { $0.identifiers = ["yard"] }.allSatisfy {
                $0.identifier == "yard"
            })
        #expect(
            try await Self.selectedEvents("notify lobby entries") {
                $0.identifiers = ["lobby"]
                $0.notifyOnExit = false
            }.count == 2)
        #expect(
            try await Self.selectedEvents("notify yard entries") {
                $0.identifiers = ["yard"]
                $0.notifyOnExit = false
            } == [])
    }

    @Test func `a condition that is assumed satisfied can exit, but its first sighting is not an entry`() async throws {
        let site = try await Site("notify assumed")
        try await site.lobby(.satisfied)
        var entries = site.monitor.events
        entries.notifyOnExit = false
        var exits = site.monitor.events
        exits.notifyOnEntry = false
        var (entered, left) = (entries.makeAsyncIterator(), exits.makeAsyncIterator())
        await site.sighted(at: .seconds(1))
        await site.sighted(at: .seconds(40))
        #expect(try await left.next()?.brief == .unsatisfied(at: .seconds(31)))
        #expect(try await entered.next()?.brief == .satisfied(at: .seconds(40)))
    }

    @Test func `N3: an event that is not selected becomes the last one if its subscriber asks or waits`() async throws {
        let site = try await Site("notify records")
        try await site.lobby()
        var exits = site.monitor.events
        exits.notifyOnEntry = false
        var busy = exits.makeAsyncIterator()
        func last() async -> BeaconMonitor.Event.State? { await site.monitor.record(for: "lobby")?.lastEvent.state }
        await site.sighted(at: .zero)
        // The subscriber has not asked for another event, so it is not known whether it has handled the earlier ones.
        #expect(await last() == .unsatisfied)
        let waiting = Task { [exits] in try await exits.first { _ in true } }
        let hub = site.monitor.hub
        try await until("two have subscribed", saw: "\(hub.subscribers)") { hub.subscribers >= 2 }
        async let next = busy.next()
        try await until("the entry is the last event handled", saw: "another state") { await last() == .satisfied }
        await site.sighted(.a(2), at: .seconds(1))
        await site.received(at: .seconds(31))
        #expect(try await next?.brief == .unsatisfied(at: .seconds(31)))
        #expect(try await waiting.value?.brief == .unsatisfied(at: .seconds(31)))
        // Each subscriber waits for the next exit or has ended. An entry does not concern them.
        let second = Task { [exits] in try await exits.first { _ in true } }
        try await until("both have subscribed, and all but the last is handled", saw: "\(hub.unhandled) unhandled") {
            hub.unhandled <= 1 && hub.subscribers >= 2
        }
        await site.monitor.end()
        #expect(try await second.value == nil)
    }

    @Test func `for a subscriber that waits for exits, an entry counts as handled at once`() async throws {
        let site = try await Site("notify waiting")
        try await site.lobby()
        var exits = site.monitor.events
        exits.notifyOnEntry = false
        let waiting = Task { [exits] in try await exits.first { _ in true } }
        let hub = site.monitor.hub
        try await until("one has subscribed", saw: "\(hub.subscribers)") { hub.subscribers >= 1 }
        // It may have subscribed, but not asked for an event yet.
        await site.sighted(at: .zero)
        try await until("the entry is handled", saw: "\(hub.unhandled) unhandled") { hub.unhandled == 0 }
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.state == .satisfied)
        await site.sighted(at: .seconds(40))
        #expect(try await waiting.value?.brief == .unsatisfied(at: .seconds(30)))
    }

    @Test func `the entries and exits of a beacon are selected by the same rule`() async throws {
        let site = try await Site("notify beacons")
        var settings = ConditionSettings()
        settings.perBeacon = true
        try await site.monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied, settings: settings)
        var exits = site.monitor.events
        exits.notifyOnEntry = false
        var iterator = exits.makeAsyncIterator()
        await site.sighted(.a(1), at: .zero)
        await site.sighted(.a(2), at: .seconds(5))
        await site.received(at: .seconds(100))
        let left: [Outcome] = [
            .unsatisfied(beacon: .a(1), at: .seconds(30)), .unsatisfied(at: .seconds(35)),
            .unsatisfied(beacon: .a(2), at: .seconds(35)),
        ]
        for expected in left { #expect(try await iterator.next()?.brief == expected) }
    }
}
