import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import EventLog
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import BeaconMonitoring

/// Events that a store keeps until they are handled (rule N3).
@Suite struct RestartDeliveryTests {
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("kept-\(UUID().uuidString)").path
        deinit { try? FileManager.default.removeItem(atPath: path) }

        /// Returns a copy: the folder that a process leaves if it is killed now.
        func killed() throws -> Folder {
            let copy = Folder()
            try FileManager.default.copyItem(atPath: path, toPath: copy.path)
            return copy
        }
    }

    private let folder = Folder()
    private let clock = ManualClock()

    /// Creates a monitor with the records of the process before it.
    private func open(_ name: String, in folder: Folder? = nil) async throws -> BeaconMonitor {
        let path = (folder ?? self.folder).path
        return try BeaconMonitor(name, clock: clock, store: FileRecordStore(directory: FilePath(path)))
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

    /// Ends a monitor, and returns the events that its first subscription gets after that.
    private func remaining(_ monitor: BeaconMonitor) async throws -> [Outcome?] {
        let events = monitor.subscribe()
        await monitor.end()
        var received: [Outcome?] = []
        for try await event in events { received.append(event.brief) }
        return received
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
        #expect(try await remaining(next) == [])
    }

    @Test func `N3: without a subscription, an event is not delivered again after a crash or a release without end()`()
        async throws
    {
        var killed: Folder?
        do {
            let monitor = try await open("kept at once")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            try await see(monitor, at: [1])
            killed = try folder.killed()
        }
        for folder in [folder, try #require(killed)] {
            let monitor = try await open("kept at once", in: folder)
            #expect(await last(monitor) == .satisfied(at: .seconds(1)))
            #expect(try await remaining(monitor) == [])
        }
    }

    @Test func `N3: an event at the start without a subscription is not delivered again after a crash`() async throws {
        let killed: Folder
        do {
            let monitor = try await open("kept start")
            try await monitor.add(.a(1), identifier: "first", assuming: .unsatisfied)
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            await monitor.end()
        }
        do {
            // This process monitors only one condition, so there is an event when it starts.
            var settings = EngineSettings()
            settings.conditionLimit = 1
            let monitor = try BeaconMonitor(
                "kept start", clock: clock, engine: settings, service: ServiceRegistry(),
                store: FileRecordStore(directory: FilePath(folder.path)))
            #expect(await last(monitor) == .unmonitored(at: .zero))
            killed = try folder.killed()
        }
        let monitor = try BeaconMonitor(
            "kept start", clock: clock, store: FileRecordStore(directory: FilePath(killed.path)))
        let events = monitor.subscribe()
        await monitor.end()
        for try await event in events where event.state == .unmonitored { Issue.record("\(event)") }
    }

    @Test func `N3: an event that a subscriber handled is not delivered again after a release without end()`()
        async throws
    {
        do {
            let monitor = try await open("kept released")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            var events: BeaconMonitor.Events.Iterator? = monitor.subscribe().makeAsyncIterator()
            try await see(monitor, at: [1, 50])
            for _ in 0..<2 { _ = try await events?.next() }
            events = nil
            withExtendedLifetime(monitor) {}
        }
        let monitor = try await open("kept released")
        #expect(await last(monitor) == .unsatisfied(at: .seconds(31)))
        let received = try await remaining(monitor)
        #expect(received == [.satisfied(at: .seconds(50))])
    }

    @Test func `N3: events not handled before a crash come first in the next process, in order`() async throws {
        let killed: Folder
        do {
            let monitor = try await open("kept crash")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            var events = monitor.subscribe().makeAsyncIterator()
            try await see(monitor, at: [1, 50, 100])
            #expect(try await events.next()?.brief == .satisfied(at: .seconds(1)))
            #expect(try await events.next()?.brief == .unsatisfied(at: .seconds(31)))
            #expect(await last(monitor) == .satisfied(at: .seconds(1)))
            try await see(monitor, at: [150])
            killed = try folder.killed()
        }
        clock.set(.seconds(200))
        let monitor = try await open("kept crash", in: killed)
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

    @Test func `N3: events that a subscriber handles after the end are not delivered again`() async throws {
        let monitor = try await open("kept drained")
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        let events = monitor.subscribe()
        try await see(monitor, at: [1, 50])
        await monitor.end()
        var received: [Outcome?] = []
        for try await event in events {
            received.append(event.brief)
            if received.count == 2 { break }
        }
        let killed = try folder.killed()
        for try await event in events { received.append(event.brief) }
        #expect(
            received == [
                .satisfied(at: .seconds(1)), .unsatisfied(at: .seconds(31)), .satisfied(at: .seconds(50)),
            ])
        #expect(await last(monitor) == .satisfied(at: .seconds(50)))
        for (folder, count) in [(folder, 3), (killed, 1)] {
            let next = try await open("kept drained", in: folder)
            #expect(await last(next) == received[count - 1])
            let repeated = try await remaining(next)
            #expect(repeated == Array(received[count...]))
        }
    }

    @Test func `N3: a monitor that ended does not change the store of its successor`() async throws {
        let monitor = try await open("kept successor")
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        let events = monitor.subscribe()
        try await see(monitor, at: [1, 50])
        await monitor.end()
        let next = try await open("kept successor")
        try await see(next, at: [100])
        // The successor has its own copy of the events, so this has no effect on it.
        for try await _ in events {}
        let killed = try folder.killed()
        await next.end()
        let third = try await open("kept successor", in: killed)
        let repeated = try await remaining(third)
        #expect(
            repeated == [.satisfied(at: .seconds(1)), .unsatisfied(at: .seconds(31)), .satisfied(at: .seconds(50))])
    }

    @Test func `N3: an event that a subscriber handled is not delivered again after a crash, also without run()`()
        async throws
    {
        let monitor = try await open("kept written")
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        let events = monitor.subscribe()
        try await see(monitor, at: [1])
        var iterator = events.makeAsyncIterator()
        _ = try await iterator.next()
        let waiting = Task {
            var iterator = events.makeAsyncIterator()
            return try await iterator.next()
        }
        await monitor.settled(to: 0)
        #expect(await last(monitor) == .satisfied(at: .seconds(1)))
        let killed = try folder.killed()
        await monitor.end()
        #expect(try await waiting.value == nil)
        let next = try await open("kept written", in: killed)
        #expect(await last(next) == .satisfied(at: .seconds(1)))
        #expect(try await remaining(next) == [])
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
        let received = try await remaining(next)
        #expect(received == [.unsatisfied(at: .seconds(31)), .satisfied(at: .seconds(50))])
        let third = try await open("kept early")
        // The subscriber of the second process handled them after the end of its monitor.
        #expect(await last(third) == .satisfied(at: .seconds(50)))
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
        // The subscription to exits ended after it had taken the exit, and the entry after it was not selected, so both
        // were handled.
        let monitor = try await open("kept filter")
        #expect(try await remaining(monitor) == [])
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
        let calls = Calls()
        let store = SharedStore(CountingStore(calls), Signal())
        for number in 1...65_536 { store.note(number, wasTaken: false) }
        store.pass()
        #expect(store.forgotten == 0)
        for number in 65_537...65_540 { store.note(number, wasTaken: false) }
        store.pass()
        #expect(store.forgotten == 4)
        #expect(calls.handled == [])
        #expect(calls.forgotten == [1, 2, 3, 4])
    }

    @Test func `N3: 65,536 stored events go to the first subscription and do not count as its backlog`() async throws {
        let calls = Calls()
        let hub = EventHub(store: SharedStore(CountingStore(calls), Signal()))
        hub.restore([:], (1...65_537).map { kept($0) })
        #expect(calls.forgotten == [1])
        let events = BeaconMonitor.Events(hub: hub).subscribe()
        hub.publish(kept(65_538).event, .entry, number: 65_538)
        hub.finish()
        var numbers: [Duration] = []
        for try await event in events { numbers.append(event.time - Fixture.start) }
        #expect(numbers == (2...65_538).map { .seconds($0) })
        #expect(hub.slowSubscribers == 0)
        // Each event was passed to the store when the subscriber asked for the next.
        #expect(calls.handled == Array(2...65_538))
    }

    @Test func `N3: a subscriber does not wait while the monitor uses the store, and its results are not lost`() async {
        let calls = Calls()
        let store = SharedStore(CountingStore(calls), Signal())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 1...2000 {
                    store.note(number, wasTaken: true)
                    store.pass()
                }
            }
            group.addTask { for _ in 1...2000 { store.use { _ in } } }
        }
        #expect(calls.handled == Array(1...2000))
        let used: [Int] = store.use { _ in
            store.note(2001, wasTaken: true)
            // The store is in use, so this returns at once.
            store.pass()
            return calls.handled
        }
        #expect(used == Array(1...2000))
        #expect(calls.handled == Array(1...2001))
    }

    @Test func `N3: when a loop has ended after the end of the monitor, its results are in the store`() async throws {
        for _ in 0..<50 {
            let calls = Calls()
            let hub = EventHub(store: SharedStore(CountingStore(calls), Signal()))
            let loops = (0..<3).map { _ in
                Task { [events = BeaconMonitor.Events(hub: hub).subscribe()] in for try await _ in events {} }
            }
            for number in 1...20 { hub.publish(kept(number).event, .entry, number: number) }
            hub.store?.close(MonitorEngine(start: clock.now, clockOffset: .zero).snapshot, at: clock.now)
            hub.finish()
            for loop in loops { try await loop.value }
            #expect(calls.handled == Array(1...20))
            #expect(calls.afterClose.isSubset(of: ["handled", "isStoring"]))
        }
    }

    @Test func `an ended monitor has no open file when its events have been handled`() async throws {
        let folder = Folder()
        var all: [BeaconMonitor.Events] = []
        for number in 0..<50 {
            let monitor = try await open("kept open", in: folder)
            all.append(monitor.events)
            if number == 0 { try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied) }
            let events = monitor.subscribe()
            try await see(monitor, at: [1 + 50 * number])
            await monitor.end()
            for try await _ in events {}
        }
        let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(links.filter { $0.hasPrefix(folder.path) } == [])
        withExtendedLifetime(all) {}
    }

    @Test func `N5: if a result cannot be stored, the monitor is woken to try again`() async {
        let signal = Signal()
        let calls = Calls()
        let store = SharedStore(CountingStore(calls, isStoring: false), signal)
        store.note(1, wasTaken: true)
        store.pass()
        // Otherwise this would not return.
        await signal.wait()
        #expect(calls.handled == [1])
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
        let received = try await remaining(monitor)
        #expect(received == [.satisfied(at: .seconds(1)), .unsatisfied(at: .seconds(31))])
    }
}

private final class Calls: Sendable {
    private struct State {
        var handled: [Int] = []
        var forgotten: [Int] = []
        var isClosed = false
        var afterClose: Set<String> = []
    }

    private let state = Mutex(State())
    var handled: [Int] { state.withLock { $0.handled } }
    var forgotten: [Int] { state.withLock { $0.forgotten } }
    /// The names of the calls after `close`.
    var afterClose: Set<String> { state.withLock { $0.afterClose } }
    func handle(_ numbers: [Int]) { state.withLock { $0.handled += numbers } }
    func forget(_ numbers: [Int]) { state.withLock { $0.forgotten += numbers } }
    func close() { state.withLock { $0.isClosed = true } }
    func note(_ name: String) { state.withLock { if $0.isClosed { $0.afterClose.insert(name) } } }
}

/// A store that records its calls, and stores nothing.
private final class CountingStore: RecordStore {
    private let calls: Calls
    private let stores: Bool

    init(_ calls: Calls, isStoring: Bool = true) {
        self.calls = calls
        stores = isStoring
    }

    func handled(_ numbers: [Int]) {
        calls.note("handled")
        calls.handle(numbers)
    }

    func forget(_ numbers: [Int]) {
        calls.note("forget")
        calls.forget(numbers)
    }

    var isStoring: Bool {
        calls.note("isStoring")
        return stores
    }

    func close(_ snapshot: MonitorSnapshot, at now: Instant) { calls.close() }

    func open(_ monitor: Identifier, at now: Instant, offset: ClockOffset) -> MonitorSnapshot? { nil }
    func name(_ adapter: AdapterID, _ name: String) {}
    func keep(_ actions: ActionBuffer, events: [StoredEvent], at now: Instant, snapshot: () -> MonitorSnapshot) {}
    var unhandledEvents: [StoredEvent] { [] }
    var nextDeadline: Instant? { nil }
    func advance(to now: Instant, snapshot: () -> MonitorSnapshot) {}
    func lastHandled(of identifier: Identifier) -> StoredEvent? { nil }
}
