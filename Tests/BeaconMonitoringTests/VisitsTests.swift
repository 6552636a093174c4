import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import EventLog
import Foundation
import SystemPackage
import Testing

@testable import BeaconMonitoring

/// The sequence `visits` of a monitor.
@Suite struct VisitsTests {
    @Test func `a visit is delivered at its arrival, without a departure, and again at its end`() async throws {
        let site = try await Site("visits")
        try await site.lobby()
        var visits = site.monitor.visits.makeAsyncIterator()
        site.clock.setOffset(.seconds(100))
        await site.sighted(at: .seconds(1))
        let arrived = try #require(await visits.next())
        #expect(arrived.identifier == "lobby" && arrived.scope == .condition && arrived.monitor == "visits")
        #expect(arrived.condition == .anyA && arrived.refinement == nil)
        #expect(arrived.arrival == Fixture.start + .seconds(1))
        #expect(arrived.arrivalDate == WallDate(Fixture.start + .seconds(101), offset: .zero))
        #expect(arrived.isOpen && arrived.departure == nil && arrived.departureDate == nil)
        await site.sighted(.a(2), at: .seconds(21))
        await site.received(at: .seconds(60))
        let ended = try #require(await visits.next())
        #expect(ended.identifier == "lobby" && ended.arrival == arrived.arrival && !ended.isOpen)
        #expect(ended.departure == Fixture.start + .seconds(21))
        #expect(ended.departureDate == WallDate(Fixture.start + .seconds(121), offset: .zero))
        #expect(ended.ended?.sightings == 2 && ended.ended?.reason == .exitTimeout)
        await site.monitor.end()
        #expect(try await visits.next() == nil)
    }

    @Test func `P3: an outage neither ends nor starts a visit`() async throws {
        let site = try await Site("visits outage")
        try await site.lobby()
        var visits = site.monitor.visits.makeAsyncIterator()
        await site.sighted(at: .zero)
        await site.listening(.stopped(since: nil), at: .seconds(1))
        await site.listening(.started, at: .seconds(100))
        #expect(try await site.monitor.requestState(for: "lobby") == .unknown)
        await site.sighted(at: .seconds(101))
        #expect(try await site.monitor.requestState(for: "lobby") == .satisfied)
        await site.received(at: .seconds(200))
        #expect(try await visits.next()?.isOpen == true)
        let ended = try await visits.next()
        #expect(ended?.arrival == Fixture.start && ended?.departure == Fixture.start + .seconds(101))
    }

    @Test func `P4: if unnamed is ignore, a beacon's visit ends with its name; named again, it arrives`() async throws {
        let site = try await Site("visits names")
        var settings = ConditionSettings()
        settings.perBeacon = true
        settings.unnamed = .ignore
        try await site.monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied, settings: settings)
        try await site.monitor.setNamedBeacons([.a(1)])
        var visits = site.monitor.visits.makeAsyncIterator()
        await site.sighted(.a(1), at: .zero)
        #expect(try await visits.next()?.scope == .condition)
        #expect(try await visits.next()?.refinement == .a(1))
        try await site.monitor.setNamedBeacons([])
        let ended = try await visits.next()
        #expect(ended?.refinement == .a(1) && ended?.ended?.reason == .removed)
        try await site.monitor.setNamedBeacons([.a(1)])
        await site.sighted(.a(1), at: .seconds(2))
        let again = try await visits.next()
        #expect(again?.refinement == .a(1) && again?.isOpen == true)
        #expect(await site.monitor.counters.displacedBeacons == 0)
    }

    @Test func `with per_beacon, the visits of the condition and of each beacon are delivered`() async throws {
        let site = try await Site("visits beacons")
        var settings = ConditionSettings()
        settings.perBeacon = true
        try await site.monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied, settings: settings)
        var visits = site.monitor.visits.makeAsyncIterator()
        await site.sighted(.a(1), at: .zero)
        await site.sighted(.a(2), at: .seconds(5))
        await site.received(at: .seconds(100))
        var reported: [String] = []
        for _ in 0..<6 {
            guard let visit = try await visits.next() else { break }
            let beacon = visit.refinement.map { "\($0.minor)" } ?? "lobby"
            reported.append(
                "\(beacon) \(visit.departure.map { "\(($0 - Fixture.start).components.seconds)" } ?? "open")")
        }
        #expect(reported == ["lobby open", "1 open", "2 open", "1 0", "lobby 5", "2 5"])
    }

    @Test func `C1: an assumed visit is delivered only at its end, without an arrival`() async throws {
        let site = try await Site("visits assumed")
        try await site.lobby(.satisfied)
        var visits = site.monitor.visits.makeAsyncIterator()
        await site.sighted(at: .seconds(3))
        await site.received(at: .seconds(60))
        let ended = try #require(await visits.next())
        #expect(ended.arrival == nil && ended.departure == Fixture.start + .seconds(3) && !ended.isOpen)
        // No sighting confirmed this visit, so it has no departure either (the arrival is always absent, rule C1). It
        // ends all the same.
        try await site.monitor.add(.anyB, identifier: "yard", assuming: .satisfied)
        site.clock.set(.seconds(200))
        await site.received(at: .seconds(200))
        let guess = try #require(await visits.next())
        #expect(guess.identifier == "yard" && guess.arrival == nil && guess.departure == nil && !guess.isOpen)
    }

    @Test(arguments: [false, true])
    func `C2, C3: replacing or removing a condition ends its visits with that reason`(replaced: Bool) async throws {
        let site = try await Site("visits gone \(replaced)")
        try await site.lobby()
        var visits = site.monitor.visits.makeAsyncIterator()
        await site.sighted(at: .zero)
        if replaced {
            try await site.monitor.add(.anyB, identifier: "lobby")
        } else {
            await site.monitor.remove("lobby")
            try await site.lobby()
        }
        #expect(try await visits.next()?.isOpen == true)
        let ended = try #require(await visits.next())
        #expect(ended.ended?.reason == (replaced ? .replaced : .removed))
        if !replaced {
            await site.sighted(at: .seconds(1))
            let again = try await visits.next()
            #expect(again?.isOpen == true && again?.arrival == Fixture.start + .seconds(1))
        }
    }

    @Test func `circles have visits too`() async throws {
        var settings = EngineSettings()
        settings.locationSource = "gpsd"
        let clock = ManualClock()
        let monitor = try BeaconMonitor("visits circle", clock: clock, engine: settings)
        let center = try Coordinate(latitude: 48.2, longitude: 16.4)
        try await monitor.add(
            .circle(BeaconMonitor.CircularGeographicCondition(center: center, radius: 100)), identifier: "depot",
            assuming: .unsatisfied)
        var visits = monitor.visits.makeAsyncIterator()
        for (time, distance) in [(1, 0), (2, 50), (3, 500)] as [(Int, Double)] {
            clock.set(.seconds(time))
            await monitor.located(
                try LocationFix(
                    time: Fixture.start + .seconds(time),
                    coordinate: center.destination(azimuth: 90, distance: distance), horizontalAccuracy: 5))
        }
        #expect(try await visits.next()?.arrival == Fixture.start + .seconds(1))
        let ended = try await visits.next()
        #expect(ended?.departure == Fixture.start + .seconds(2) && ended?.ended?.reason == .left)
    }

    @Test func `each subscriber gets all visits, and one that is 65,536 behind ends with an error`() async throws {
        let site = try await Site("visits slow")
        try await site.lobby()
        var slow = site.monitor.visits.makeAsyncIterator()
        var steady = site.monitor.visits.makeAsyncIterator()
        site.clock.set(.seconds(40 * 32_768))
        await site.monitor.sighted((0..<32_768).map { site.sighting(at: .seconds(40 * $0)) })
        for _ in 0..<2 { #expect(try await steady.next() != nil) }
        await site.received(at: .seconds(40 * 32_768))
        await #expect(throws: MonitorError.subscriberTooSlow(65_536)) { try await slow.next() }
        #expect(try await slow.next() == nil)
        #expect(try await steady.next()?.arrival == Fixture.start + .seconds(40))
        #expect(await site.monitor.counters.slowSubscribers == 1)
        withExtendedLifetime(steady) {}
    }

    @Test func `N4: a visit that started before a restart is delivered at its end, with its arrival`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("visits-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clock = ManualClock()
        let name = "visits-restart"
        do {
            let monitor = try BeaconMonitor(name, clock: clock, store: FileRecordStore(directory: FilePath(path)))
            let adapter = try await monitor.adapter(named: "hci0")
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            await monitor.sighted(
                Sighting(
                    time: Fixture.start, adapter: adapter, beacon: .a(1), measuredPower: -59, rssi: RSSI(dBm: -60)))
            await monitor.end()
        }
        clock.set(.seconds(100))
        let monitor = try BeaconMonitor(name, clock: clock, store: FileRecordStore(directory: FilePath(path)))
        var visits = monitor.visits.makeAsyncIterator()
        var exits = monitor.events
        exits.notifyOnEntry = false
        var left = exits.makeAsyncIterator()
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.sighted(
            Sighting(
                time: Fixture.start + .seconds(100), adapter: adapter, beacon: .a(1), measuredPower: -59,
                rssi: RSSI(dBm: -60)))
        clock.set(.seconds(130))
        await monitor.received(by: adapter, at: Fixture.start + .seconds(130))
        #expect(try await left.next()?.brief == .unsatisfied(at: .seconds(130)))
        let ended = try #require(await visits.next())
        #expect(!ended.isOpen && ended.arrival == Fixture.start && ended.departure == Fixture.start + .seconds(100))
        await monitor.end()
    }
}
