import BaseTypes
import BeaconMonitoringTesting
import Testing

@testable import BeaconMonitoring

@Suite struct BeaconMonitorRangingTests {
    private let condition = BeaconMonitor.BeaconIdentityCondition(uuid: .a)

    @Test func `each second, a subscriber receives the beacons in view from the monitor's own loop`() async throws {
        let site = try await Site("ranging loop")
        var updates = site.monitor.ranging(for: condition).makeAsyncIterator()
        try await site.running {
            await site.sighted(at: .milliseconds(200))
            await site.clock.waitForSleeper(at: .seconds(1))
            site.clock.setOffset(.seconds(5))
            site.clock.set(.seconds(1))
            let first = await updates.next()
            #expect(first?.time == Fixture.start + .seconds(1))
            #expect(first?.date == WallDate(Fixture.start + .seconds(6), offset: .zero))
            #expect(first?.beacons.map(\.beacon) == [.a(1)])
            #expect(first?.beacons.map(\.uuid) == [.a])
            #expect(first?.beacons.map { "\($0.major)/\($0.minor)" } == ["1/1"])
            #expect(first?.beacons.first?.rssi == -60)
            #expect(first?.beacons.first?.proximity == .near)
            await site.clock.waitForSleeper(at: .seconds(2))
        }
        #expect(await updates.next() == nil)
        #expect(site.clock.sleepers == 0)
    }

    @Test func `without the loop, the update of a second is delivered at the next sighting`() async throws {
        let site = try await Site("ranging input")
        var updates = site.monitor.ranging(for: condition).makeAsyncIterator()
        await site.sighted(at: .milliseconds(200))
        await site.sighted(.a(2), at: .milliseconds(1200))
        #expect(await updates.next()?.beacons.map(\.beacon) == [.a(1)])
    }

    @Test func `a slow subscriber receives the newest update and the number of skipped ones`() async throws {
        let site = try await Site("ranging slow")
        var updates = site.monitor.ranging(for: condition).makeAsyncIterator()
        for second in 0...10 { await site.sighted(at: .milliseconds(1000 * second + 500)) }
        #expect(await updates.next()?.time == Fixture.start + .seconds(10))
        #expect(updates.skipped == 9)
        #expect(site.monitor.skippedRangings == 9)
    }

    @Test func `subscribers do not take updates from each other, and lose none if one ends`() async throws {
        let site = try await Site("ranging two")
        var one = site.monitor.ranging(for: condition).makeAsyncIterator()
        var other: BeaconMonitor.RangingUpdates.Iterator? =
            site.monitor.ranging(for: condition).makeAsyncIterator()
        var single = site.monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: 1, minor: 2))
            .makeAsyncIterator()
        await site.sighted(at: .milliseconds(500))
        await site.sighted(.a(2), at: .milliseconds(600))
        await site.sighted(at: .milliseconds(1500))
        #expect(await one.next()?.beacons.count == 2)
        #expect(await other?.next()?.beacons.count == 2)
        #expect(await single.next()?.beacons.map(\.beacon) == [.a(2)])
        other = nil
        await site.sighted(at: .milliseconds(2500))
        #expect(await one.next()?.time == Fixture.start + .seconds(2))
        #expect(await single.next()?.time == Fixture.start + .seconds(2))
    }

    @Test func `a canceled subscription ends, and a later one has only sightings after its start`() async throws {
        let site = try await Site("ranging cancelled")
        let updates = site.monitor.ranging(for: condition)
        let task = Task { for await _ in updates {} }
        task.cancel()
        await task.value
        #expect(!site.monitor.rangingHub.isWanted)
        await site.sighted(at: .milliseconds(500))
        #expect(site.monitor.rangingHub.nextDeadline == nil)
        var later = updates.makeAsyncIterator()
        await site.sighted(at: .milliseconds(1500))
        await site.sighted(at: .milliseconds(2500))
        #expect(await later.next()?.beacons.first?.count == 1)
    }

    @Test func `an ended monitor delivers the waiting update and then the end; a discarded one the end`() async throws {
        let site = try await Site("ranging end")
        var updates = site.monitor.ranging(for: condition).makeAsyncIterator()
        await site.sighted(at: .milliseconds(500))
        await site.sighted(at: .milliseconds(1500))
        await site.monitor.end()
        #expect(await updates.next() != nil)
        #expect(await updates.next() == nil)
        var late = site.monitor.ranging(for: condition).makeAsyncIterator()
        #expect(await late.next() == nil)

        var monitor: BeaconMonitor? = try BeaconMonitor("ranging discarded", clock: ManualClock())
        var orphan = try #require(monitor).ranging(for: condition).makeAsyncIterator()
        monitor = nil
        #expect(await orphan.next() == nil)
    }
}
