import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import EventLog
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import BeaconMonitoring

/// The limit of conditions that the monitors of a process share (rule C4).
@Suite(.timeLimit(.minutes(20))) struct SharedLimitTests {
    private let clock = ManualClock(Fixture.start)
    private let service = ServiceRegistry()

    private static func settings(_ limit: Int) -> EngineSettings {
        var settings = EngineSettings()
        settings.conditionLimit = limit
        return settings
    }

    /// Creates a monitor whose conditions are those of `identifiers`.
    private func monitor(
        _ name: String, limit: Int, _ identifiers: [String] = []
    ) async throws -> BeaconMonitor {
        let monitor = try BeaconMonitor(name, clock: clock, engine: Self.settings(limit), service: service)
        for identifier in identifiers { try await monitor.add(.anyA, identifier: identifier) }
        return monitor
    }

    /// Returns the states of the conditions of a monitor, in order, after an input.
    private func states(_ monitor: BeaconMonitor) async throws -> [BeaconMonitor.Event.State] {
        try await monitor.setNamedBeacons([])
        var states: [BeaconMonitor.Event.State] = []
        for identifier in await monitor.identifiers { states.append(try await monitor.requestState(for: identifier)) }
        return states
    }

    @Test func `C4: without a registry of its own, a monitor shares the limit with all monitors of the process`() async
    {
        await #expect(processExitsWith: .success) {
            let settings = Self.settings(2)
            let first = try BeaconMonitor("first", clock: ManualClock(), engine: settings)
            let second = try BeaconMonitor("second", clock: ManualClock(), engine: settings)
            var events = second.events.makeAsyncIterator()
            try await first.add(.a(1), identifier: "one")
            try await second.add(.a(2), identifier: "two")
            try await second.add(.a(3), identifier: "three")
            let excess = try #require(await events.next())
            #expect(excess.identifier == "three" && excess.state == .unmonitored)
            #expect(excess.diagnostics == [.conditionLimitExceeded])
            let other = try BeaconMonitor("other", clock: ManualClock(), engine: settings, service: ServiceRegistry())
            try await other.add(.a(3), identifier: "three")
            #expect(try await other.requestState(for: "three") == .unknown)
        }
    }

    @Test func `C4: running monitors get events when another one releases their places`() async throws {
        let first = try await monitor("running first", limit: 4, ["lobby", "gate"])
        let others = [
            try await monitor("running second", limit: 4, ["hall"]),
            try await monitor("running third", limit: 4, ["roof"]),
        ]
        var events: [BeaconMonitor.Events.Iterator] = []
        for (second, (monitor, identifier)) in zip(others, ["yard", "shed"]).enumerated() {
            let adapter = try await monitor.adapter(named: "hci0")
            clock.set(.seconds(second))
            await monitor.listening(ListeningChange(.started, adapter: adapter), at: Fixture.start + .seconds(second))
            try await monitor.add(.anyB, identifier: identifier, assuming: .satisfied)
            events.append(monitor.events.makeAsyncIterator())
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (second, monitor) in others.enumerated() {
                group.addTask { try await monitor.run() }
                // It sleeps until its first condition becomes unsatisfied.
                await clock.waitForSleeper(at: .seconds(30 + second))
            }
            clock.set(.seconds(5))
            await first.end()
            // No input follows: `run()` makes the events.
            for (number, identifier) in ["yard", "shed"].enumerated() {
                let promoted = try #require(await events[number].next())
                #expect(promoted.brief == .unknown(identifier, at: .seconds(5)))
                #expect(promoted.diagnostics == [] && promoted.previous?.state == .unmonitored)
            }
            for monitor in others { await monitor.end() }
            try await group.waitForAll()
        }
    }

    @Test func `C4: a monitor that does not run makes the event at its next input, which counts for the condition`()
        async throws
    {
        let first = try await monitor("input first", limit: 1, ["lobby"])
        let second = try await monitor("input second", limit: 1, ["yard"])
        let adapter = try await second.adapter(named: "hci0")
        var events = second.events.makeAsyncIterator()
        await first.remove("lobby")
        #expect(try await second.requestState(for: "yard") == .unmonitored)
        // The place is given to the condition already.
        try await first.add(.anyA, identifier: "gate")
        #expect(try await states(first) == [.unmonitored])
        clock.set(.seconds(3))
        await second.sighted(
            Sighting(
                time: Fixture.start + .seconds(2), adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: nil))
        #expect(try await events.next()?.brief == .unknown("yard", at: .seconds(2)))
        #expect(try await events.next()?.brief == .satisfied("yard", at: .seconds(2)))
        #expect(await second.counters.lateInputs == 0)
        // A change of conditions is an input too.
        await second.remove("yard")
        try await second.add(.anyB, identifier: "depot")
        try await first.add(.anyB, identifier: "yard")
        #expect(try await first.requestState(for: "gate") == .unknown)
        #expect(try await first.requestState(for: "yard") == .unmonitored)
        #expect(try await second.requestState(for: "depot") == .unmonitored)
    }

    @Test(arguments: 0..<50)
    func `C4: a sighting after the release counts, also if the monitor runs at that moment`(_ number: Int) async throws
    {
        let first = try await monitor("scripted first \(number)", limit: 1, ["lobby"])
        let script = ScriptedSightings()
        let second = try BeaconMonitor(
            "scripted second \(number)", source: script, engine: Self.settings(1), service: service)
        try await second.add(.anyA, identifier: "yard")
        async let running: Void = second.run()
        await script.listen()
        if number.isMultiple(of: 2) { await first.remove("lobby") } else { await first.end() }
        await script.receive(.a(1))
        #expect(try await second.requestState(for: "yard") == .satisfied)
        script.finish()
        try await running
    }

    @Test func `C4: reports that a scanner passes in a batch count after the release`() async throws {
        let first = try await monitor("batch first", limit: 1, ["lobby"])
        let second = try await monitor("batch second", limit: 1, ["yard"])
        let adapter = try await second.adapter(named: "hci0")
        clock.set(.seconds(5))
        await second.received(by: adapter, at: Fixture.start + .seconds(5))
        await first.end()
        var frames = FrameBatch()
        let frame = BeaconFrame(IBeacon(identity: .a(1), measuredPower: -59), in: Hasty.report(nil))
        let entry = FrameBatch.Entry(frame, .first, adapter: 0, time: Fixture.start)
        await second.received([entry], of: [adapter], by: &frames)
        #expect(try await second.requestState(for: "yard") == .satisfied)
        // The batch has an earlier time than the report before it.
        #expect(await second.counters.lateInputs == 1)
    }

    @Test func `C4: a monitor that ends or is discarded releases its places`() async throws {
        let first = try await monitor("ends first", limit: 2, ["lobby", "gate"])
        let last = try await monitor("ends last", limit: 2, ["hall", "roof"])
        #expect(try await states(last) == [.unmonitored, .unmonitored])
        do {
            let second = try await monitor("ends second", limit: 2, ["yard", "shed"])
            await first.end()
            #expect(try await states(last) == [.unknown, .unknown])
            #expect(try await states(second) == [.unmonitored, .unmonitored])
            try await last.setConditions([])
            #expect(try await states(second) == [.unknown, .unknown])
            try await last.add(.anyA, identifier: "hall")
            #expect(try await states(last) == [.unmonitored])
        }
        #expect(try await states(last) == [.unknown])
    }

    @Test func `C4: a monitor has released its places when its service session ends, so the next one gets them`()
        async throws
    {
        let former = try await monitor("session", limit: 1, ["lobby"])
        let places = Mutex<[Bool]>([])
        service.onDemandChange { [service] in
            let next = service.conditionLimit.join(1, waking: Signal())
            places.withLock { $0.append(next.use { $0.enter($0.next(), of: $1) }) }
        }
        await former.end()
        #expect(places.withLock(\.self) == [true])
    }

    @Test func `C4: a monitor whose name was taken after a cancelled run releases its places`() async throws {
        let former = try await monitor("taken", limit: 1, ["lobby"])
        let other = try await monitor("taken other", limit: 1, ["yard"])
        let running = Task { try await former.run() }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(try await states(other) == [.unmonitored])
        let successor = try await monitor("taken", limit: 1, ["lobby"])
        #expect(try await states(other) == [.unknown])
        #expect(try await states(successor) == [.unmonitored])
        await former.end()
        #expect(try await states(successor) == [.unmonitored])
    }

    @Test func `C4: each monitor compares its own limit with the conditions of all monitors`() async throws {
        let small = try await monitor("own small", limit: 1, ["one", "two"])
        let large = try await monitor("own large", limit: 3, ["three", "four", "five"])
        let free = try await monitor("own free", limit: 0, ["six", "seven"])
        #expect(try await states(small) == [.unknown, .unmonitored])
        #expect(try await states(large) == [.unknown, .unknown, .unmonitored])
        #expect(try await states(free) == [.unknown, .unknown])
        // Five places are taken, then four, then three, then two: only then is the larger limit not reached. The
        // condition with the smaller limit waits longer.
        await small.remove("one")
        await free.remove("six")
        #expect(try await states(large) == [.unknown, .unknown, .unmonitored])
        await free.remove("seven")
        #expect(try await states(small) == [.unmonitored])
        #expect(try await states(large) == [.unknown, .unknown, .unknown])
        try await large.setConditions([])
        #expect(try await states(small) == [.unknown])
    }

    @Test func `N4: at a restart, conditions whose places other monitors have are unmonitored`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("shared-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let open = { [clock, service] in
            try BeaconMonitor(
                "restart shared", clock: clock, engine: Self.settings(2), service: service,
                store: FileRecordStore(directory: FilePath(path)))
        }
        do {
            let stored = try open()
            for identifier in ["lobby", "yard", "gate"] { try await stored.add(.anyA, identifier: identifier) }
            await stored.remove("lobby")
            try await stored.add(.anyA, identifier: "lobby")
            #expect(try await states(stored) == [.unknown, .unknown, .unmonitored])
            await stored.end()
        }
        let other = try await monitor("restart other", limit: 2, ["hall"])
        let restarted = try open()
        #expect(await restarted.identifiers == ["yard", "gate", "lobby"])
        #expect(try await states(restarted) == [.unknown, .unmonitored, .unmonitored])
        let lost = try #require(await restarted.record(for: "gate")?.lastEvent)
        #expect(lost.state == .unmonitored && lost.diagnostics == [.conditionLimitExceeded])
        await other.end()
        #expect(try await states(restarted) == [.unknown, .unknown, .unmonitored])
    }

    @Test func `C4: conditions of other monitors that wait get places before those that setConditions adds`()
        async throws
    {
        let first = try await monitor("exchange first", limit: 3, ["lobby", "gate", "hall"])
        let second = try await monitor("exchange second", limit: 3, ["yard", "shed"])
        let wanted = try ["hall", "roof", "attic"].map { try MonitorSetup.Condition(.anyA, identifier: $0) }
        try await first.setConditions(wanted)
        #expect(try await states(first) == [.unknown, .unmonitored, .unmonitored])
        #expect(try await states(second) == [.unknown, .unknown])
    }

    @Test func `C4: a condition that has a place is replaced and removed like one that is monitored`() async throws {
        let first = try await monitor("granted first", limit: 1, ["lobby"])
        let second = try await monitor("granted second", limit: 1, ["yard", "gate"])
        var events = second.events.makeAsyncIterator()
        await first.remove("lobby")
        // A condition that is monitored keeps its place, and gets the assumed state without an event.
        try await second.add(.anyB, identifier: "yard", assuming: .satisfied)
        #expect(try await events.next()?.brief == .unknown("yard", at: .zero))
        #expect(try await states(second) == [.satisfied, .unmonitored])
        try await first.add(.anyA, identifier: "lobby")
        try await second.setConditions([])
        #expect(try await states(first) == [.unknown])
        for identifier in ["yard", "gate"] { try await second.add(.anyA, identifier: identifier) }
        for identifier in ["yard", "gate"] {
            #expect(try await events.next()?.brief == .unmonitored(identifier, at: .zero))
        }
        await first.remove("lobby")
        // "gate", which waits, is removed first, so it does not become monitored.
        try await second.setConditions([])
        #expect(try await events.next()?.brief == .unknown("yard", at: .zero))
        await second.end()
        #expect(try await events.next() == nil)
    }

    /// Changes of the conditions of several monitors, made to monitors of their own and to the model of the rules.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `C4: monitors that share a limit have the states of the monitors of one gateway`(_ number: UInt64) async throws
    {
        var random = SeededGenerator(state: 0xC4_0000 + number)
        let limit = random.pick([1, 2, 3, 5])
        let names = (0..<3).map { "world \(number) monitor \($0)" }
        var monitors: [BeaconMonitor] = []
        var model = Fixture(.model, conditionLimit: limit, lobby: nil)
        for name in names {
            monitors.append(try await monitor(name, limit: limit))
            model.addMonitor(name)
        }
        for step in 0..<60 {
            let chosen = random.below(names.count)
            let identifier = "\(chosen) \(random.below(4))"
            let monitor = monitors[chosen]
            switch random.below(8) {
            case 0..<4:
                let circle = try BeaconMonitor.CircularGeographicCondition(
                    center: Coordinate(latitude: 1, longitude: 2), radius: 50)
                let condition = random.pick([Condition.anyA, .a(7), .circle(circle)])
                try await monitor.add(condition, identifier: identifier)
                model.add(identifier, condition, monitor: names[chosen], at: .zero)
            case 4..<6:
                await monitor.remove(identifier)
                model.remove(identifier, at: .zero)
            default:
                // Neither has conditions then: the monitor because it is a new one, or by `setConditions`.
                let former = await monitor.identifiers
                if random.chance(50) {
                    await monitor.end()
                    monitors[chosen] = try await self.monitor(names[chosen], limit: limit)
                } else {
                    try await monitor.setConditions([])
                }
                let waiting = former.filter { model.state($0) == .unmonitored }
                for identifier in waiting + former.filter({ !waiting.contains($0) }) {
                    model.remove(identifier, at: .zero)
                }
            }
            for monitor in monitors {
                let expected = await monitor.identifiers.map { model.state($0) }
                #expect(try await states(monitor) == expected, "step \(step)")
            }
        }
    }
}
