import BaseTypes
import BeaconMonitoringTesting
import Synchronization
import Testing

@testable import BeaconMonitoring

/// Invalid inputs do not stop a monitor, and do not count for another adapter.
@Suite struct InputCheckTests {
    private final class Remarks: Sendable {
        private let list = Mutex<[MonitorRemark]>([])
        var all: [MonitorRemark] { list.withLock { $0 } }
        func add(_ remark: MonitorRemark) { list.withLock { $0.append(remark) } }
    }

    @Test func `one input with a future time does not freeze the monitor`() async throws {
        let site = try await Site("future")
        let remarks = Remarks()
        await site.monitor.onRemark { remarks.add($0) }
        try await site.lobby()
        site.clock.set(.seconds(1))
        await site.monitor.sighted(site.sighting(at: .seconds(3601)))
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.time == Fixture.start + .seconds(1))
        await site.sighted(.a(2), at: .seconds(2))
        await site.received(at: .seconds(32))
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.brief == .unsatisfied(at: .seconds(32)))
        #expect(await site.monitor.counters.lateInputs == 0)
        #expect(await site.monitor.counters.futureInputs == 1)
        #expect(remarks.all == [.inputFromFuture(by: .seconds(3600), count: 1)])
    }

    @Test func `a report, an adapter change and a fix with a future time are handled at the present`() async throws {
        var settings = EngineSettings()
        settings.locationSource = "gpsd"
        let clock = ManualClock(Fixture.start)
        let monitor = try BeaconMonitor("future inputs", clock: clock, engine: settings)
        let center = try Coordinate(latitude: 48.2, longitude: 16.4)
        try await monitor.add(
            .circle(BeaconMonitor.CircularGeographicCondition(center: center, radius: 100)), identifier: "depot",
            assuming: .unsatisfied)
        let adapter = try await monitor.adapter(named: "hci0")
        let late = Fixture.start + .seconds(10_000)
        await monitor.listening(ListeningChange(.started, adapter: adapter), at: late)
        await monitor.received(by: adapter, at: late)
        await monitor.located(try LocationFix(time: late, coordinate: center, horizontalAccuracy: 5))
        #expect(await monitor.record(for: "depot")?.lastEvent.time == Fixture.start)
        #expect(await monitor.counters.futureInputs == 3)
    }

    @Test func `inputs with an adapter of another monitor are dropped, whatever its index or its name`()
        async throws
    {
        let site = try await Site("foreign", listening: false)
        let other = try await Site("foreign other")
        let remarks = Remarks()
        await site.monitor.onRemark { remarks.add($0) }
        try await site.lobby()
        // Both have the first index in the table of their monitor.
        #expect(site.adapter.index == other.adapter.index)
        #expect(site.adapter != other.adapter)
        let far = try await { () async throws in
            var last = other.adapter
            for number in 1...5 { last = try await other.monitor.adapter(named: "hci\(number)") }
            return last
        }()
        for adapter in [other.adapter, far] {
            await site.monitor.received(by: adapter, at: Fixture.start)
            await site.monitor.listening(ListeningChange(.started, adapter: adapter), at: Fixture.start)
            await site.monitor.sighted(
                Sighting(time: Fixture.start, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: nil))
        }
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.state == .unsatisfied)
        #expect(await site.monitor.counters.foreignInputs == 6)
        #expect(remarks.all == [.adapterForeign(count: 1)])
        // The monitor accepts adapters that it returned itself, also in its events.
        await site.sighted(at: .seconds(1))
        let sighting = try #require(await site.monitor.record(for: "lobby")?.lastEvent.sighting)
        #expect(sighting.adapter == site.adapter)
        await site.monitor.sighted(sighting)
        #expect(await site.monitor.counters.foreignInputs == 6)
    }

    @Test func `the next monitor of a name does not accept an adapter of the one that has ended`() async throws {
        let first = try await Site("foreign again")
        await first.monitor.end()
        await first.monitor.received(by: first.adapter, at: Fixture.start)
        let second = try await Site("foreign again", listening: false)
        try await second.lobby()
        await second.monitor.sighted(first.sighting(at: .zero))
        #expect(await second.monitor.record(for: "lobby")?.lastEvent.state == .unsatisfied)
        #expect(await second.monitor.counters.foreignInputs == 1)
    }

    @Test func `the 1st, 10th, 100th and 1,000th invalid input are reported`() {
        var check = InputCheck(owner: 1)
        for _ in 0..<1234 { _ = check.isOwn(AdapterID(index: 1)) }
        #expect(check.takeRemarks() == [1, 10, 100, 1000].map { .adapterForeign(count: $0) })
        #expect(check.takeRemarks() == [])
    }
}
