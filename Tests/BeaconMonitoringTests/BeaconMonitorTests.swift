import BaseTypes
import BeaconMonitoringTesting
import Testing

@testable import BeaconMonitoring

@Suite struct BeaconMonitorTests {
    @Test func `the refinement of an event can be added as a condition`() async throws {
        let site = try await Site("refinement")
        try await site.lobby()
        var events = site.monitor.subscribe().makeAsyncIterator()
        await site.sighted(.a(3), at: .seconds(1))
        let badge = try #require(try await events.next()?.refinement)
        try await site.monitor.add(.beacon(matching: badge), identifier: "badge", assuming: .unsatisfied)
        let condition = BeaconMonitor.BeaconIdentityCondition(badge)
        #expect(await site.monitor.record(for: "badge")?.condition == .beacon(condition))
        #expect(condition.matches(.a(3)) && !condition.matches(.a(1)))
        #expect(condition == BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: 1, minor: 3))
        await site.sighted(.a(2), at: .seconds(2))
        await site.sighted(.a(3), at: .seconds(3))
        let entry = try await events.next()
        #expect(entry?.identifier == "badge")
        #expect(entry?.refinement == badge)
        #expect(entry?.time == Fixture.start + .seconds(3))
    }

    // MARK: Names

    @Test func `N1: a second monitor with the same name fails with an error that contains the name`() throws {
        let first = try BeaconMonitor("N1 twice", clock: ManualClock())
        #expect(throws: MonitorError.nameTaken("N1 twice")) { try BeaconMonitor("N1 twice", clock: ManualClock()) }
        _ = try BeaconMonitor("N1 another", clock: ManualClock())
        withExtendedLifetime(first) {}
    }

    @Test func `N1: a monitor with invalid settings does not occupy its name`() throws {
        var settings = MonitorSettings()
        settings.forgetAfter = settings.outageTimeout
        #expect(throws: MonitorError.self) {
            try BeaconMonitor("N1 refused", clock: ManualClock(), settings: settings)
        }
        _ = try BeaconMonitor("N1 refused", clock: ManualClock())
    }

    @Test func `N1: a discarded monitor frees its name at once, 1,000 times`() async throws {
        for _ in 0..<1000 {
            let monitor = try BeaconMonitor("N1 discarded", clock: ManualClock())
            try await monitor.add(.anyA, identifier: "lobby")
        }
    }

    @Test func `N1: a subscriber does not keep a discarded monitor alive, and its events end`() async throws {
        var monitor: BeaconMonitor? = try BeaconMonitor("N1 subscriber", clock: ManualClock())
        var events = try #require(monitor).events.makeAsyncIterator()
        monitor = nil
        _ = try BeaconMonitor("N1 subscriber", clock: ManualClock())
        #expect(try await events.next() == nil)
    }

    @Test func `N1: a monitor that ended frees its name at once, and never that of its successor`() async throws {
        var first: BeaconMonitor? = try BeaconMonitor("N1 ended", clock: ManualClock())
        await first?.end()
        let second = try BeaconMonitor("N1 ended", clock: ManualClock())
        await first?.end()
        first = nil
        #expect(throws: MonitorError.nameTaken("N1 ended")) { try BeaconMonitor("N1 ended", clock: ManualClock()) }
        withExtendedLifetime(second) {}
    }

    @Test func `N1: a monitor whose loop was canceled frees its name when it is ended, 100 times`() async throws {
        for _ in 0..<100 {
            let clock = ManualClock()
            let monitor = try BeaconMonitor("N1 loop", clock: clock)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [monitor] in try await monitor.run() }
                try await monitor.add(.anyA, identifier: "lobby")
                await clock.waitForSleeper(at: .seconds(60))
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
            await monitor.end()
            #expect(clock.sleepers == 0)
        }
    }

    @Test func `N1: a name is free at once, 300 times, while canceled loops of earlier monitors still run`()
        async throws
    {
        for _ in 0..<300 {
            let clock = ManualClock()
            let monitor = try BeaconMonitor("N1 again", clock: clock)
            try await monitor.add(.anyA, identifier: "lobby")
            let loop = Task { [monitor] in try await monitor.run() }
            await clock.waitForSleeper(at: .seconds(60))
            loop.cancel()
        }
    }

    @Test func `N1: after end(), a name is free at once, 300 times, while canceled tasks still hold the monitors`()
        async throws
    {
        for _ in 0..<300 {
            let monitor = try BeaconMonitor("N1 held", clock: ManualClock())
            let tasks = [
                Task { for try await _ in monitor.events {} },
                Task { try await monitor.run() },
            ]
            for task in tasks { task.cancel() }
            await monitor.end()
        }
    }

    @Test func `N1: if a monitor was not ended, the error for its successor says to call end()`() async throws {
        let site = try await Site("N1 not ended")
        let loop = Task { [monitor = site.monitor] in for try await _ in monitor.events {} }
        let error = #expect(throws: MonitorError.self) { try BeaconMonitor("N1 not ended", clock: site.clock) }
        #expect(
            error?.description == """
                a monitor with the name “N1 not ended” has not ended; call `await end()` on it first, because a task can \
                hold it longer than your last reference, or choose another name
                """)
        loop.cancel()
        try await loop.value
    }

    @Test func `N1: when the events have ended, the name is free, 300 times`() async throws {
        for _ in 0..<300 {
            let monitor = try BeaconMonitor("N1 loop ended", clock: ManualClock())
            let events = monitor.subscribe()
            let end = Task { await monitor.end() }
            for try await _ in events {}
            _ = try BeaconMonitor("N1 loop ended", clock: ManualClock())
            await end.value
        }
    }

    @MainActor @Test func `N1: on the main actor too, a discarded monitor frees its name at once, 1,000 times`()
        async throws
    {
        for _ in 0..<1000 {
            let monitor = try BeaconMonitor("N1 main actor", clock: ManualClock())
            try await monitor.add(.anyA, identifier: "lobby")
        }
    }

    @Test func `N1: a monitor that lost its name to a successor has ended, and so have its subscribers`() async throws {
        let site = try await Site("N1 lost")
        try await site.lobby(.satisfied)
        var events = site.monitor.events.makeAsyncIterator()
        let loop = Task { [monitor = site.monitor] in try await monitor.run() }
        await site.clock.waitForSleeper(at: .seconds(30))
        loop.cancel()
        let successor = try BeaconMonitor("N1 lost", clock: site.clock)
        #expect(try await events.next() == nil)
        await #expect(throws: MonitorError.ended("N1 lost")) { try await site.lobby() }
        await site.monitor.end()
        #expect(throws: MonitorError.nameTaken("N1 lost")) { try BeaconMonitor("N1 lost", clock: ManualClock()) }
        withExtendedLifetime(successor) {}
    }

    @Test func `N1: if the loop runs again, the monitor holds its name again`() async throws {
        let site = try await Site("N1 run again")
        try await site.lobby(.satisfied)
        for _ in 0..<2 {
            let loop = Task { [monitor = site.monitor] in try await monitor.run() }
            await site.clock.waitForSleeper(at: .seconds(30))
            #expect(throws: MonitorError.nameTaken("N1 run again")) {
                try BeaconMonitor("N1 run again", clock: ManualClock())
            }
            loop.cancel()
            await #expect(throws: CancellationError.self) { try await loop.value }
        }
    }

    @Test func `an ended monitor refuses changes and ignores inputs, and its events end at once`() async throws {
        let site = try await Site("ended")
        try await site.lobby()
        await site.monitor.end()
        await #expect(throws: MonitorError.ended("ended")) { try await site.lobby() }
        await #expect(throws: MonitorError.ended("ended")) { try await site.monitor.adapter(named: "hci1") }
        #expect(await !site.monitor.remove("lobby"))
        await site.sighted(at: .seconds(1))
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.state == .unsatisfied)
        var events = site.monitor.events.makeAsyncIterator()
        #expect(try await events.next() == nil)
        try await site.monitor.run()
    }

    // MARK: Conditions

    @Test(arguments: [BeaconMonitor.Event.State.unknown, .satisfied, .unsatisfied])
    func `C1: the record starts with a placeholder, dated at the adding, that is not delivered`(
        _ state: BeaconMonitor.Event.State
    )
        async throws
    {
        let site = try await Site("C1 \(state)")
        site.clock.set(.seconds(3))
        site.clock.setOffset(.seconds(7))
        var events = site.monitor.events.makeAsyncIterator()
        try await site.lobby(state)
        let record = try #require(await site.monitor.record(for: "lobby"))
        #expect(record.condition == .anyA)
        #expect(record.lastEvent.state == state)
        #expect(record.lastEvent.time == Fixture.start + .seconds(3))
        #expect(record.lastEvent.date == WallDate(Fixture.start + .seconds(10), offset: .zero))
        #expect(await site.monitor.record(for: "depot") == nil)
        await site.monitor.end()
        #expect(try await events.next() == nil)
    }

    @Test func `C2: other settings keep the record; another identity restarts it in the same place`() async throws {
        let site = try await Site("C2")
        try await site.lobby()
        try await site.monitor.add(.anyB, identifier: "depot")
        await site.sighted(at: .seconds(1))
        let entered = await site.monitor.record(for: "lobby")
        #expect(entered?.lastEvent.state == .satisfied)
        var settings = ConditionSettings()
        settings.exitTimeout = .seconds(5)
        site.clock.set(.seconds(2))
        try await site.monitor.add(.anyA, identifier: "lobby", settings: settings)
        #expect(await site.monitor.record(for: "lobby") == entered)
        try await site.monitor.add(.a(7), identifier: "lobby", assuming: .unsatisfied)
        let record = await site.monitor.record(for: "lobby")
        #expect(record?.condition == .a(7))
        #expect(record?.lastEvent.state == .unsatisfied)
        #expect(record?.lastEvent.time == Fixture.start + .seconds(2))
        #expect(await site.monitor.identifiers == ["lobby", "depot"])
    }

    @Test func `C3: removing a condition forgets its record and makes no event`() async throws {
        let site = try await Site("C3")
        try await site.lobby()
        await site.sighted(at: .seconds(1))
        var events = site.monitor.events.makeAsyncIterator()
        #expect(await site.monitor.remove("lobby"))
        #expect(await !site.monitor.remove("lobby"))
        #expect(await !site.monitor.remove("a/b"))
        #expect(await site.monitor.record(for: "lobby") == nil)
        #expect(await site.monitor.identifiers == [])
        await site.monitor.end()
        #expect(try await events.next() == nil)
    }

    // MARK: Time

    @Test func `T1: the dates of a line use the clock offset of the moment when it was made`() async throws {
        let site = try await Site("T1")
        try await site.lobby()
        site.clock.setOffset(.seconds(1_000_000))
        await site.sighted(at: .seconds(1))
        let entered = try #require(await site.monitor.record(for: "lobby")?.lastEvent)
        #expect(entered.clockOffset == ClockOffset(nanoseconds: 1_000_000_000_000_000))
        // The wall clock changes. This does not cause an exit, and dates that were printed stay the same.
        site.clock.setOffset(.seconds(-500))
        await site.received(at: .seconds(30))
        #expect(await site.monitor.record(for: "lobby")?.lastEvent == entered)
        await site.received(at: .seconds(31))
        let left = try #require(await site.monitor.record(for: "lobby")?.lastEvent)
        #expect(left.state == .unsatisfied)
        #expect(left.date == WallDate(Fixture.start + .seconds(31 - 500), offset: .zero))
        #expect(left.previous?.date == entered.date)
    }

    @Test func `X2: a condition exits at its deadline, without an input`() async throws {
        let site = try await Site("X2")
        var events = site.monitor.events.makeAsyncIterator()
        try await site.lobby()
        try await site.running {
            await site.sighted(at: .zero)
            await expect(.satisfied(at: .zero), from: &events)
            await site.clock.waitForSleeper(at: .seconds(30))
            site.clock.set(.seconds(30))
            await expect(.unsatisfied(at: .seconds(30)), from: &events)
        }
    }

    @Test func `T4: an exit that is noticed late is dated at its deadline`() async throws {
        let site = try await Site("T4")
        var events = site.monitor.events.makeAsyncIterator()
        try await site.lobby()
        try await site.running {
            await site.sighted(at: .zero)
            await expect(.satisfied(at: .zero), from: &events)
            await site.clock.waitForSleeper(at: .seconds(30))
            site.clock.set(.seconds(4000))
            await expect(.unsatisfied(at: .seconds(30)), from: &events)
        }
    }

    @Test func `T4: if a deadline becomes earlier, the loop wakes earlier`() async throws {
        let site = try await Site("T4 earlier")
        var events = site.monitor.events.makeAsyncIterator()
        try await site.running {
            try await site.lobby(.satisfied)
            await site.clock.waitForSleeper(at: .seconds(30))
            var settings = ConditionSettings()
            settings.exitTimeout = .seconds(5)
            try await site.monitor.add(.anyA, identifier: "lobby", settings: settings)
            await site.clock.waitForSleeper(at: .seconds(5))
            site.clock.set(.seconds(5))
            await expect(.unsatisfied(at: .seconds(5)), from: &events)
        }
        #expect(site.clock.sleepers == 0)
    }

    @Test func `the loop of a monitor can run only once at a time`() async throws {
        let site = try await Site("loop")
        try await site.running {
            try await site.lobby(.satisfied)
            await site.clock.waitForSleeper(at: .seconds(30))
            await #expect(throws: MonitorError.running("loop")) { try await site.monitor.run() }
        }
    }

    private func expect(_ outcome: Outcome, from events: inout BeaconMonitor.Events.Iterator) async {
        do {
            let event = try await events.next()
            #expect(event?.brief == outcome)
        } catch {
            Issue.record("\(error)")
        }
    }
}
