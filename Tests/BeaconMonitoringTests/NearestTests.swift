import BaseTypes
import BeaconMonitoringTesting
import TestSupport
import Testing

@testable import BeaconMonitoring

/// `monitorNearest` monitors the nearest of many places.
@Suite struct NearestTests {
    private static let origin = (latitude: 48.2, longitude: 16.4)

    private static func place(east: Double) throws -> Coordinate {
        try Coordinate(latitude: origin.latitude, longitude: origin.longitude).destination(azimuth: 90, distance: east)
    }

    /// Returns circles with a radius of 50 m in a row, with the identifiers 0, 1, 2 and so on. Their centers are 1 km
    /// apart.
    private static func row(_ count: Int) throws -> [PlacedCondition] {
        try (0..<count).map { number in
            try PlacedCondition(
                BeaconMonitor.CircularGeographicCondition(center: place(east: Double(number) * 1000), radius: 50),
                identifier: "\(number)")
        }
    }

    private static func fix(east: Double, accuracy: Double = 5, at time: Duration = .zero) throws -> LocationFix {
        try LocationFix(time: Fixture.start + time, coordinate: place(east: east), horizontalAccuracy: accuracy)
    }

    private static func monitor(
        _ name: String, limit: Int = 0, clock: ManualClock = ManualClock()
    ) throws -> BeaconMonitor {
        var settings = EngineSettings()
        settings.locationSource = "gpsd"
        settings.conditionLimit = limit
        return try BeaconMonitor(name, clock: clock, engine: settings, service: ServiceRegistry())
    }

    @Test func `the nearest places are monitored, and exchanged when the gateway moves`() async throws {
        let monitor = try Self.monitor("nearest")
        let row = try Self.row(100)
        try await monitor.monitorNearest(4, of: row, to: Self.fix(east: 400))
        #expect(await monitor.identifiers == ["0", "1", "2", "3"])
        let changes = try await monitor.monitorNearest(4, of: row, to: Self.fix(east: 50_000))
        #expect(changes.map(\.kind) == [.removed, .removed, .removed, .removed, .added, .added, .added, .added])
        #expect(await Set(monitor.identifiers).isSuperset(of: ["49", "50", "51"]))
        #expect(await monitor.identifiers.first == "50")
        #expect(try await monitor.monitorNearest(4, of: row, to: Self.fix(east: 50_000)) == [])
    }

    @Test func `the distance to the edge decides, so a large place can be before a small one`() async throws {
        let monitor = try Self.monitor("nearest edge")
        let town = try PlacedCondition(
            BeaconMonitor.CircularGeographicCondition(center: Self.place(east: -6000), radius: 5500), identifier: "town"
        )
        let house = try PlacedCondition(
            BeaconMonitor.CircularGeographicCondition(center: Self.place(east: 700), radius: 50), identifier: "house")
        #expect(abs(town.distance(from: try Self.place(east: 0)) - 500) < 0.01)
        try await monitor.monitorNearest(1, of: [house, town], to: Self.fix(east: 0))
        #expect(await monitor.identifiers == ["town"])
        #expect(town.distance(from: try Self.place(east: -6000)) == -5500)
    }

    @Test func `a place is exchanged only if another one is nearer by more than the margin`() async throws {
        let monitor = try Self.monitor("nearest line")
        let row = try Self.row(2)
        try await monitor.monitorNearest(1, of: row, to: Self.fix(east: 499))
        #expect(await monitor.identifiers == ["0"])
        for step in 0..<50 {
            // At 49 m on either side of the middle, the distances differ by 98 m. The margin is 100 m.
            let east = step.isMultiple(of: 2) ? 549.0 : 451.0
            #expect(try await monitor.monitorNearest(1, of: row, to: Self.fix(east: east)) == [])
        }
        #expect(try await monitor.monitorNearest(1, of: row, to: Self.fix(east: 551)).map(\.identifier) == ["0", "1"])
        #expect(try await monitor.monitorNearest(1, of: row, to: Self.fix(east: 451)) == [])
        #expect(try await monitor.monitorNearest(1, of: row, to: Self.fix(east: 449)).map(\.identifier) == ["1", "0"])
    }

    @Test func `a fix that is wrong by its accuracy exchanges nothing`() async throws {
        let monitor = try Self.monitor("nearest coarse")
        let row = try Self.row(2)
        try await monitor.monitorNearest(1, of: row, to: Self.fix(east: 499))
        // The fix is 200 m off: one place seems 200 m nearer, the other 200 m farther away.
        let off = try Self.fix(east: 699, accuracy: 200)
        #expect(try await monitor.monitorNearest(1, of: row, to: off, margin: 0) == [])
        let exact = try Self.fix(east: 699, accuracy: 5)
        #expect(try await monitor.monitorNearest(1, of: row, to: exact).map(\.identifier) == ["0", "1"])
    }

    @Test func `a place that contains the gateway stays monitored until its exit event`() async throws {
        let clock = ManualClock()
        let monitor = try Self.monitor("nearest exit", clock: clock)
        let row = try Self.row(30)
        var events = monitor.events.makeAsyncIterator()
        func go(to east: Double, at time: Duration) async throws -> [String] {
            clock.set(time)
            let fix = try Self.fix(east: east, at: time)
            let changes = try await monitor.monitorNearest(1, of: row, to: fix)
            await monitor.located(fix)
            return changes.map(\.identifier)
        }
        #expect(try await go(to: 10, at: .seconds(1)) == ["0"])
        // The condition is new, and is evaluated with the fix for which it was added.
        #expect(try await events.next()?.brief == .satisfied("0", at: .seconds(1)))
        // The gateway moves 20 km in one step. The exit must not be lost by an exchange.
        #expect(try await go(to: 20_000, at: .seconds(2)) == [])
        #expect(try await events.next()?.brief == .unsatisfied("0", at: .seconds(2)))
        #expect(try await go(to: 20_000, at: .seconds(3)) == ["0", "20"])
        #expect(try await events.next()?.brief == .satisfied("20", at: .seconds(3)))
    }

    @Test func `a beacon is monitored near its place, and stays monitored while it is present`() async throws {
        let site = try await Site("nearest beacons")
        let places = try (0..<3).map { number in
            try PlacedCondition(
                BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: 1, minor: UInt16(number)),
                at: BeaconMonitor.CircularGeographicCondition(
                    center: Self.place(east: Double(number) * 5000), radius: 100),
                identifier: "\(number)")
        }
        try await site.monitor.monitorNearest(1, of: places, to: Self.fix(east: 0))
        await site.sighted(.a(0), at: .seconds(1))
        #expect(try await site.monitor.monitorNearest(1, of: places, to: Self.fix(east: 10_000)) == [])
        await site.received(at: .seconds(31))
        #expect(
            try await site.monitor.monitorNearest(1, of: places, to: Self.fix(east: 10_000)).map(\.identifier)
                == ["0", "2"])
    }

    @Test func `conditions that are not candidates do not change, and the limit is reported`() async throws {
        let monitor = try Self.monitor("nearest limit", limit: 3)
        try await monitor.add(.anyA, identifier: "lobby")
        var events = monitor.events.makeAsyncIterator()
        let row = try Self.row(9)
        try await monitor.monitorNearest(3, of: row, to: Self.fix(east: 0))
        #expect(await monitor.identifiers == ["lobby", "0", "1", "2"])
        let excess = try #require(await events.next())
        #expect(excess.identifier == "2" && excess.conditionLimitExceeded)
        try await monitor.monitorNearest(2, of: row, to: Self.fix(east: 8000))
        #expect(await monitor.identifiers == ["lobby", "8", "7"])
    }

    @Test func `count, margin, and the number and identifiers of candidates are checked`() async throws {
        let monitor = try Self.monitor("nearest bounds")
        let row = try Self.row(3)
        let fix = try Self.fix(east: 0)
        for count in [0, -1, 10_001] {
            await #expect(throws: MonitorError.settingInvalid("count is \(count)", "expected 1…10000")) {
                try await monitor.monitorNearest(count, of: row, to: fix)
            }
        }
        for margin in [-1, .nan, .infinity] as [Double] {
            await #expect(throws: MonitorError.self) {
                try await monitor.monitorNearest(1, of: row, to: fix, margin: margin)
            }
        }
        await #expect(throws: MonitorError.identifierRepeated("1")) {
            try await monitor.monitorNearest(1, of: row + [row[1]], to: fix)
        }
        let many = try (0...100_000).map { number in
            try PlacedCondition(
                BeaconMonitor.CircularGeographicCondition(latitude: 1, longitude: 1, radius: 1), identifier: "\(number)"
            )
        }
        await #expect(
            throws: MonitorError.settingInvalid("there are 100001 candidates", "expected at most 100000")
        ) { try await monitor.monitorNearest(1, of: many, to: fix) }
        #expect(await monitor.identifiers == [])
        #expect(try await monitor.monitorNearest(10_000, of: row, to: fix).count == 3)
        #expect(try await monitor.monitorNearest(1, of: [], to: fix) == [])
    }

    @Test func `the shortcut by latitude chooses the same places as a ranking of all distances`() throws {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        for _ in 0..<40 {
            func coordinate() throws -> Coordinate {
                try Coordinate(
                    latitude: Double(Int.random(in: 0..<1_600_000, using: &random)) / 10_000 - 80,
                    longitude: Double(Int.random(in: 0..<3_600_000, using: &random)) / 10_000 - 180)
            }
            let candidates = try (0..<200).map { number in
                try PlacedCondition(
                    BeaconMonitor.CircularGeographicCondition(
                        center: coordinate(), radius: Double(1 + Int.random(in: 0..<2_000_000, using: &random))),
                    identifier: "\(number)")
            }
            let position = try coordinate()
            let identifiers = candidates.map(\.wanted.identifier)
            let monitored = Set(identifiers.filter { _ in Int.random(in: 0..<5, using: &random) == 0 })
            let present = monitored.filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
            let margin = Double(Int.random(in: 0..<1_000_000, using: &random))
            let count = 1 + Int.random(in: 0..<40, using: &random)
            let chosen = NearestRanking(
                position: position, margin: margin, monitored: monitored, present: Array(present)
            ).nearest(count, of: candidates)
            let all = candidates.indices.sorted { left, right in
                func key(_ index: Int) -> (Int, Double) {
                    (
                        present.contains(identifiers[index]) ? 0 : 1,
                        candidates[index].distance(from: position)
                            - (monitored.contains(identifiers[index]) ? margin : 0)
                    )
                }
                return key(left) < key(right)
            }
            #expect(chosen == Array(all.prefix(count)), "seed \(seed)")
        }
    }
}
