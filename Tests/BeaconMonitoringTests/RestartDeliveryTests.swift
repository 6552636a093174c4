import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import EventLog
import Foundation
import SystemPackage
import Testing

@testable import BeaconMonitoring

/// Events that a store keeps until they are handled (rule N3).
@Suite struct RestartDeliveryTests {
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("kept-\(UUID().uuidString)").path
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private let folder = Folder()
    private let clock = ManualClock()

    /// Creates a monitor with the records of the process before it.
    private func open(_ name: String) async throws -> BeaconMonitor {
        try BeaconMonitor(name, clock: clock, store: FileRecordStore(directory: FilePath(folder.path)))
    }

    /// Passes sightings of a beacon at `times`. Each time must be at least 40 s after the one before it, so each
    /// sighting except the first causes an exit and an entry.
    private func see(_ monitor: BeaconMonitor, at times: [Int], _ beacon: BeaconIdentity = .a(1)) async throws {
        let adapter = try await monitor.adapter(named: "hci0")
        for time in times {
            clock.set(.seconds(time))
            await monitor.listening(
                ListeningChange(.started, adapter: adapter), at: Fixture.start + .seconds(times[0]))
            await monitor.sighted(
                Sighting(
                    time: Fixture.start + .seconds(time), adapter: adapter, beacon: beacon, measuredPower: -59,
                    rssi: RSSI(dBm: -60)))
        }
    }

    private func last(_ monitor: BeaconMonitor, _ identifier: String = "lobby") async -> Outcome? {
        await monitor.record(for: identifier)?.lastEvent.brief
    }

    @Test func `N3: with a store, a record has the previous event while a subscriber handles the next`() async throws {
        let monitor = try await open("kept in hand")
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        var events = monitor.subscribe().makeAsyncIterator()
        try await see(monitor, at: [1])
        #expect(try await events.next()?.brief == .satisfied(at: .seconds(1)))
        #expect(await monitor.record(for: "lobby")?.lastEvent.state == .unsatisfied)
        try await see(monitor, at: [50])
        #expect(try await events.next()?.brief == .unsatisfied(at: .seconds(31)))
        #expect(await last(monitor) == .satisfied(at: .seconds(1)))
        await monitor.end()
    }

    @Test func `N3: with a store and no subscription, an event is handled at once and not delivered again`()
        async throws
    {
        let monitor = try await open("kept none")
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        try await see(monitor, at: [1])
        #expect(await last(monitor) == .satisfied(at: .seconds(1)))
        await monitor.end()
        let next = try await open("kept none")
        #expect(await last(next) == .satisfied(at: .seconds(1)))
        let events = next.subscribe()
        await next.end()
        for try await event in events { Issue.record("\(event)") }
    }

    @Test func `N3: events not handled before a crash come first in the next process, in order`() async throws {
        do {
            // The monitor is released without `end()`, as in a crash: after that, no event is marked as handled.
            let monitor = try await open("kept crash")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            var events = monitor.subscribe().makeAsyncIterator()
            try await see(monitor, at: [1, 50, 100])
            #expect(try await events.next()?.brief == .satisfied(at: .seconds(1)))
            #expect(try await events.next()?.brief == .unsatisfied(at: .seconds(31)))
            #expect(await last(monitor) == .satisfied(at: .seconds(1)))
            try await see(monitor, at: [150])
        }
        clock.set(.seconds(200))
        let monitor = try await open("kept crash")
        // The engine continues from the last stored event. The record is the last handled event.
        #expect(try await monitor.requestState(for: "lobby") == .satisfied)
        #expect(await last(monitor) == .satisfied(at: .seconds(1)))
        let events = monitor.subscribe()
        let second = monitor.subscribe()
        await monitor.end()
        var received: [Outcome?] = []
        for try await event in events { received.append(event.brief) }
        #expect(
            received == [
                .unsatisfied(at: .seconds(31)), .satisfied(at: .seconds(50)), .unsatisfied(at: .seconds(80)),
                .satisfied(at: .seconds(100)), .unsatisfied(at: .seconds(130)), .satisfied(at: .seconds(150)),
            ])
        // Only the first subscription receives them.
        for try await event in second { Issue.record("\(event)") }
    }

    @Test func `N3: a handled event is not delivered again, and the record has it after the restart`() async throws {
        let monitor = try await open("kept once")
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        var events = monitor.subscribe().makeAsyncIterator()
        try await see(monitor, at: [1, 50])
        for _ in 0..<3 { _ = try await events.next() }
        // The subscriber still handles the third event when the monitor ends, so it does not count as handled.
        await monitor.end()
        let next = try await open("kept once")
        #expect(await last(next) == .unsatisfied(at: .seconds(31)))
        var again = next.subscribe().makeAsyncIterator()
        #expect(try await again.next()?.brief == .satisfied(at: .seconds(50)))
        await next.end()
        #expect(try await again.next() == nil)
    }

    @Test func `N3: events that a subscription had not taken before it ended wait for the next process`() async throws {
        let monitor = try await open("kept early")
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        var early: BeaconMonitor.Events.Iterator? = monitor.subscribe().makeAsyncIterator()
        var other: BeaconMonitor.Events.Iterator? = monitor.subscribe().makeAsyncIterator()
        try await see(monitor, at: [1, 50])
        _ = try await early?.next()
        early = nil
        for _ in 0..<3 { _ = try await other?.next() }
        other = nil
        // Both took the first event. One of them did not take the later events, so these count as not handled, although
        // the other took them.
        #expect(await last(monitor) == .satisfied(at: .seconds(1)))
        await monitor.end()
        let next = try await open("kept early")
        let events = next.subscribe()
        await next.end()
        var received: [Outcome?] = []
        for try await event in events { received.append(event.brief) }
        #expect(received == [.unsatisfied(at: .seconds(31)), .satisfied(at: .seconds(50))])
        let third = try await open("kept early")
        // The second process handled nothing: it had ended before its subscriber requested an element.
        #expect(await last(third) == .satisfied(at: .seconds(1)))
        await third.end()
    }

    @Test func `N3: events that the first subscription filters out count as handled`() async throws {
        do {
            let monitor = try await open("kept filter")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            let events = monitor.subscribe()
            try await see(monitor, at: [1, 50])
            withExtendedLifetime(events) {}
        }
        do {
            let monitor = try await open("kept filter")
            var exits = monitor.events
            exits.notifyOnEntry = false
            var iterator = exits.makeAsyncIterator()
            #expect(try await iterator.next()?.brief == .unsatisfied(at: .seconds(31)))
            #expect(await last(monitor) == .satisfied(at: .seconds(1)))
            await monitor.end()
        }
        // The exit was still being handled, and the entry after it had not been reached.
        let monitor = try await open("kept filter")
        let events = monitor.subscribe()
        await monitor.end()
        var received: [Outcome?] = []
        for try await event in events { received.append(event.brief) }
        #expect(received == [.unsatisfied(at: .seconds(31)), .satisfied(at: .seconds(50))])
    }

    @Test func `N3: an old event that is handled late does not replace a newer record`() async throws {
        do {
            let monitor = try await open("kept late")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            let events = monitor.subscribe()
            try await see(monitor, at: [1])
            withExtendedLifetime(events) {}
        }
        let monitor = try await open("kept late")
        try await see(monitor, at: [50, 100])
        #expect(await last(monitor) == .satisfied(at: .seconds(100)))
        var events: BeaconMonitor.Events.Iterator? = monitor.subscribe().makeAsyncIterator()
        #expect(try await events?.next()?.brief == .satisfied(at: .seconds(1)))
        events = nil
        #expect(await last(monitor) == .satisfied(at: .seconds(100)))
        await monitor.end()
        let next = try await open("kept late")
        #expect(await last(next) == .satisfied(at: .seconds(100)))
        await next.end()
    }

    @Test func `N3: an event of a replaced or removed condition is delivered and changes no record`() async throws {
        do {
            let monitor = try await open("kept replaced")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            try await monitor.add(.anyA, identifier: "porch", assuming: .unsatisfied)
            let events = monitor.subscribe()
            try await see(monitor, at: [1])
            try await monitor.add(.anyB, identifier: "lobby", assuming: .unsatisfied)
            await monitor.remove("porch")
            withExtendedLifetime(events) {}
        }
        let monitor = try await open("kept replaced")
        var events: BeaconMonitor.Events.Iterator? = monitor.subscribe().makeAsyncIterator()
        #expect(try await events?.next()?.brief == .satisfied(at: .seconds(1)))
        #expect(try await events?.next()?.brief == .satisfied("porch", at: .seconds(1)))
        events = nil
        let record = try #require(await monitor.record(for: "lobby"))
        #expect(record.condition == .anyB)
        #expect(record.lastEvent.state == .unsatisfied)
        #expect(await monitor.record(for: "porch") == nil)
        await monitor.end()
    }

    private func kept(_ number: Int) -> StoredEvent {
        let event = BeaconMonitor.Event(
            monitor: "site", identifier: "lobby", scope: .condition, state: .satisfied,
            time: Fixture.start + .seconds(number), clockOffset: .zero, condition: .anyA, refinement: nil,
            previous: nil,
            sighting: nil, lastSeen: nil, diagnostics: [])
        return StoredEvent(number: number, event: event, crossing: .entry)
    }

    @Test func `N3: if more than 65,536 events are not handled, the oldest are dropped and counted`() {
        let notes = DeliveryNotes(Signal())
        for number in 1...65_536 { notes.note(number, wasTaken: false) }
        #expect(notes.forgotten == 0)
        for number in 65_537...65_540 { notes.note(number, wasTaken: false) }
        #expect(notes.forgotten == 4)
        let taken = notes.take()
        #expect(taken.handled == [])
        #expect(taken.forgotten == [1, 2, 3, 4])
    }

    @Test func `N3: 65,536 stored events go to the first subscription and do not count as its backlog`() async throws {
        let notes = DeliveryNotes(Signal())
        let hub = EventHub(notes: notes)
        hub.restore([:], (1...65_537).map { kept($0) })
        #expect(notes.take().forgotten == [1])
        let events = BeaconMonitor.Events(hub: hub).subscribe()
        hub.publish(kept(65_538).event, .entry, number: 65_538)
        hub.finish()
        var numbers: [Duration] = []
        for try await event in events { numbers.append(event.time - Fixture.start) }
        #expect(numbers == (2...65_538).map { .seconds($0) })
        #expect(hub.slowSubscribers == 0)
    }

    @Test func `N3: if the end of the file is torn, only the events at the end are lost`() async throws {
        do {
            let monitor = try await open("kept torn")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            let events = monitor.subscribe()
            try await see(monitor, at: [1, 50])
            withExtendedLifetime(events) {}
        }
        let path = "\(folder.path)/kept torn/deliveries.jsonl"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try (text.dropLast(40) + "").write(toFile: path, atomically: false, encoding: .utf8)
        let monitor = try await open("kept torn")
        let events = monitor.subscribe()
        await monitor.end()
        var received: [Outcome?] = []
        for try await event in events { received.append(event.brief) }
        #expect(received == [.satisfied(at: .seconds(1)), .unsatisfied(at: .seconds(31))])
    }
}
