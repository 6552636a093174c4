import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

/// Circles depend on the position of the gateway (rules G1–G3).
@Suite struct CircleTests {
    /// Returns a gateway with a location source and a circle with a radius of 100 m, assumed `unsatisfied`. If
    /// `listens` is `true`, the source starts at once. It delivers no fix by itself.
    private static func fixture(
        _ implementation: Implementation, deafAfter: Duration? = nil, conditionLimit: Int = 0, listens: Bool = true,
        scanners: [String] = ["hci0"], _ change: @escaping (inout ConditionSettings) -> Void = { _ in }
    ) throws -> Fixture {
        var fixture = Fixture(
            implementation, deafAfter: deafAfter, conditionLimit: conditionLimit, listening: scanners,
            locationSource: "gpsd", lobby: nil)
        if listens { fixture.perform(.source(.started, reason: nil, at: Fixture.start)) }
        fixture.add("depot", try circle(), assuming: .unsatisfied, at: .zero, change)
        return fixture
    }

    private static func circle(radius: Double = 100) throws -> Condition {
        .circle(
            try BeaconMonitor.CircularGeographicCondition(
                latitude: Step.latitude, longitude: Step.longitude, radius: radius))
    }

    @Test func `G1: a fix must have an accuracy that is finite and at least 0`() throws {
        let here = try Coordinate(latitude: 1, longitude: 2)
        #expect(throws: Never.self) {
            try LocationFix(time: .earliest, coordinate: here, horizontalAccuracy: 0)
        }
        for accuracy in [-1, -0.001, .nan, .infinity, nil] as [Double?] {
            #expect(throws: MonitorError.self) {
                try LocationFix(time: .earliest, coordinate: here, horizontalAccuracy: accuracy)
            }
        }
    }

    @Test func `G2: each bound of distance and accuracy is exact, on both sides`() throws {
        let center = try Coordinate(latitude: 48.2, longitude: 16.4)
        func state(_ distance: Double, _ accuracy: Double, from state: BeaconMonitor.Event.State) throws
            -> BeaconMonitor.Event.State?
        {
            var settings = EngineSettings()
            settings.locationSource = "gpsd"
            var engine = MonitorEngine(settings: settings, start: .earliest)
            var actions = ActionBuffer()
            try engine.addMonitor(Identifier("site"))
            try engine.add(
                .circle(BeaconMonitor.CircularGeographicCondition(center: center, radius: 100)),
                identifier: Identifier("depot"),
                monitor: Identifier("site"), assuming: state, at: .earliest, into: &actions)
            let fix = try LocationFix(
                time: .earliest, coordinate: center.destination(azimuth: 77, distance: distance),
                horizontalAccuracy: accuracy)
            engine.located(fix, into: &actions)
            return engine.state(of: try Identifier("depot"))
        }
        for before in [BeaconMonitor.Event.State.unknown, .unsatisfied] {
            #expect(try state(99.999, 100, from: before) == .satisfied)
            #expect(try state(100.001, 5, from: before) == before)
            #expect(try state(99.999, 100.001, from: before) == before)
            #expect(try state(0, 0, from: before) == .satisfied)
        }
        for before in [BeaconMonitor.Event.State.unknown, .satisfied] {
            #expect(try state(104.999, 5, from: before) == before)
            #expect(try state(105.001, 5, from: before) == .unsatisfied)
            #expect(try state(10_000, 9_899, from: before) == .unsatisfied)
            #expect(try state(10_000, 9_901, from: before) == before)
        }
    }

    @Test(arguments: Implementation.allCases)
    func `G2: a circle enters, stays near the edge, exits; a visit has no RSSI`(implementation: Implementation) throws {
        var fixture = try Self.fixture(implementation)
        #expect(fixture.located(north: 151, accuracy: 5, at: .seconds(1)) == [])
        #expect(fixture.located(north: 51, accuracy: 5, at: .seconds(2)) == [.satisfied("depot", at: .seconds(2))])
        #expect(fixture.events[0].refinement == nil)
        #expect(fixture.events[0].sighting == nil)
        #expect(fixture.events[0].lastSeen == Fixture.start + .seconds(2))
        #expect(fixture.events[0].diagnostics == [])
        // The first fix is inside: it refreshes, although its accuracy is too low for an entry. The second fix is near
        // the edge: it does not refresh, and the circle does not exit.
        #expect(fixture.located(north: 51, accuracy: 150, at: .seconds(3)) == [])
        #expect(fixture.located(north: 107, accuracy: 50, at: .seconds(4)) == [])
        #expect(fixture.located(north: 151, accuracy: 5, at: .seconds(5)) == [.unsatisfied("depot", at: .seconds(5))])
        #expect(fixture.events[0].lastSeen == Fixture.start + .seconds(3))
        let visit = try #require(fixture.visits.first)
        #expect(visit.arrival == Fixture.start + .seconds(2))
        #expect(visit.departure == Fixture.start + .seconds(3))
        #expect(visit.sightings == 2)
        #expect(visit.strength == nil)
        #expect(visit.reason == .left)
    }

    @Test(arguments: Implementation.allCases)
    func `G2: exit_timeout has no effect on a circle`(implementation: Implementation) throws {
        var fixture = try Self.fixture(implementation) { $0.exitTimeout = .seconds(1) }
        fixture.located(north: 0, accuracy: 5, at: .seconds(1))
        #expect(fixture.advance(to: .seconds(7200)) == [])
        #expect(fixture.state("depot") == .satisfied)
    }

    @Test(arguments: Implementation.allCases)
    func `G2: a circle enters at the enter_count-th fix within enter_window that is accurate enough`(
        implementation: Implementation
    ) throws {
        var fixture = try Self.fixture(implementation) {
            $0.enterCount = 3
            $0.enterWindow = .seconds(4)
        }
        #expect(fixture.located(north: 0, accuracy: 5, at: .seconds(1)) == [])
        #expect(fixture.located(north: 0, accuracy: 200, at: .seconds(2)) == [])
        #expect(fixture.located(north: 0, accuracy: 5, at: .seconds(3)) == [])
        // The first fix is exactly 4 s old, so it is outside the window.
        #expect(fixture.located(north: 0, accuracy: 5, at: .seconds(5)) == [])
        #expect(fixture.located(north: 0, accuracy: 5, at: .seconds(6)) == [.satisfied("depot", at: .seconds(6))])
    }

    @Test(arguments: Implementation.allCases)
    func `G3: without fixes, a circle does not exit; it is unknown after outage_timeout until a fix inside`(
        implementation: Implementation
    ) throws {
        var fixture = try Self.fixture(implementation, deafAfter: .seconds(10)) { $0.enterCount = 5 }
        for second in 1...5 { fixture.located(north: 0, accuracy: 5, at: .seconds(second)) }
        #expect(fixture.state("depot") == .satisfied)
        // The source is `deaf` at 15 s, since 5 s. At 65 s it has been so for `outage_timeout`.
        #expect(fixture.advance(to: .seconds(65) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(65)) == [.unknown("depot", at: .seconds(65))])
        #expect(fixture.events[0].diagnostics == [.scannerUnavailable, .locationUnavailable])
        #expect(fixture.events[0].lastSeen == Fixture.start + .seconds(5))
        // A fix near the edge does not restore the state. The first fix inside does, although `enter_count` is 5.
        #expect(fixture.located(north: 107, accuracy: 50, at: .seconds(70)) == [])
        #expect(fixture.located(north: 51, accuracy: 5, at: .seconds(71)) == [.satisfied("depot", at: .seconds(71))])
        #expect(
            fixture.located(north: 1003, accuracy: 5, at: .seconds(72)) == [.unsatisfied("depot", at: .seconds(72))])
        #expect(fixture.visits.count == 1)
        #expect(fixture.visits[0].sightings == 2)
    }

    @Test(arguments: Implementation.allCases)
    func `G3: an unsatisfied circle also becomes unknown after an outage`(implementation: Implementation) throws {
        var fixture = try Self.fixture(implementation)
        fixture.perform(.source(.stopped(since: nil), reason: "gpsd is away", at: Fixture.start + .seconds(5)))
        #expect(fixture.adapterChanges.map(\.adapter) == ["gpsd"])
        #expect(fixture.advance(to: .seconds(65)) == [.unknown("depot", at: .seconds(65))])
        #expect(
            fixture.located(north: 1003, accuracy: 5, at: .seconds(70)) == [.unsatisfied("depot", at: .seconds(70))])
    }

    @Test(arguments: Implementation.allCases)
    func `G3: if the source has never started, the outage counts from the start`(
        implementation: Implementation
    ) throws {
        var fixture = try Self.fixture(implementation, listens: false)
        #expect(fixture.advance(to: .seconds(60) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(60)) == [.unknown("depot", at: .seconds(60))])
    }

    @Test(arguments: Implementation.allCases)
    func `G3: adapters decide only beacon conditions, the source only circles`(implementation: Implementation) throws {
        var fixture = try Self.fixture(implementation)
        fixture.add("lobby", assuming: .unsatisfied, at: .zero)
        fixture.sighted(at: .seconds(1))
        fixture.located(north: 0, accuracy: 5, at: .seconds(1))
        // The adapter stops. The condition of the beacon becomes `unknown`, although the location source delivers
        // fixes.
        fixture.stopped(at: .seconds(10))
        fixture.located(north: 0, accuracy: 5, at: .seconds(60))
        #expect(fixture.advance(to: .seconds(80)) == [.unknown(at: .seconds(70))])
        #expect(fixture.events[0].diagnostics == .scannerUnavailable)
        #expect(fixture.state("depot") == .satisfied)
        fixture.started(at: .seconds(80))
        fixture.perform(.source(.stopped(since: nil), reason: nil, at: Fixture.start + .seconds(81)))
        #expect(fixture.sighted(at: .seconds(82)) == [.satisfied(at: .seconds(82))])
        #expect(fixture.events[0].diagnostics == .locationUnavailable)
    }

    @Test(arguments: Implementation.allCases)
    func `C2: another radius replaces a circle, the same circle keeps its state`(implementation: Implementation) throws
    {
        var fixture = try Self.fixture(implementation)
        fixture.located(north: 0, accuracy: 5, at: .seconds(1))
        fixture.add("depot", try Self.circle(), at: .seconds(2)) { $0.exitTimeout = .seconds(99) }
        #expect(fixture.conditionChanges.map(\.kind) == [.changed])
        #expect(fixture.state("depot") == .satisfied)
        fixture.add("depot", try Self.circle(radius: 101), at: .seconds(3))
        #expect(fixture.conditionChanges.map(\.kind) == [.replaced])
        #expect(fixture.visits.map(\.reason) == [.replaced])
        #expect(fixture.state("depot") == .unknown)
    }

    @Test(arguments: Implementation.allCases)
    func `C4: a circle takes a place if it can be evaluated`(implementation: Implementation) throws {
        var fixture = try Self.fixture(implementation, conditionLimit: 1)
        #expect(fixture.add("lobby", at: .seconds(1)) == [.unmonitored(at: .seconds(1))])
        #expect(fixture.remove("depot", at: .seconds(2)) == [.unknown(at: .seconds(2))])
        #expect(fixture.add("depot", try Self.circle(), at: .seconds(3)) == [.unmonitored("depot", at: .seconds(3))])
        #expect(fixture.located(north: 0, accuracy: 5, at: .seconds(4)) == [])
        #expect(fixture.remove("lobby", at: .seconds(5)) == [.unknown("depot", at: .seconds(5))])
        #expect(fixture.located(north: 0, accuracy: 5, at: .seconds(6)) == [.satisfied("depot", at: .seconds(6))])
    }

    @Test(arguments: Implementation.allCases)
    func `C5: if there is no source, a circle is unmonitored, and fixes only advance the time`(
        implementation: Implementation
    ) throws {
        var fixture = Fixture(implementation, conditionLimit: 1)
        #expect(fixture.add("depot", try Self.circle(), at: .seconds(1)) == [.unmonitored("depot", at: .seconds(1))])
        #expect(fixture.events[0].diagnostics == .conditionUnsupported)
        #expect(fixture.located(north: 0, accuracy: 5, at: .seconds(2)) == [])
        #expect(fixture.actions == [])
    }

    @Test(arguments: Implementation.allCases)
    func `E4: one fix gives the events of circles in the order of their identifiers`(
        implementation: Implementation
    ) throws {
        var fixture = try Self.fixture(implementation)
        for name in ["z", "a", "m"] { fixture.add(name, try Self.circle(radius: 200), at: .seconds(1)) }
        #expect(
            fixture.located(north: 51, accuracy: 5, at: .seconds(2)).map(\.identifier) == ["a", "depot", "m", "z"])
        fixture.remove("m", at: .seconds(3))
        fixture.add("b", try Self.circle(radius: 200), at: .seconds(3))
        #expect(
            fixture.located(north: 1003, accuracy: 5, at: .seconds(4)).map(\.identifier) == ["a", "b", "depot", "z"])
    }

    @Test func `N4: a circle keeps state, last fix and visit over a restart; its source counts as stopped at start`()
        throws
    {
        var settings = EngineSettings()
        settings.locationSource = "gpsd"
        let setup = MonitorSetup(
            name: try Identifier("site"),
            conditions: [MonitorSetup.Condition(identifier: try Identifier("depot"), condition: try Self.circle())])
        var engine = MonitorEngine(settings: settings, start: Fixture.start)
        var actions = ActionBuffer()
        try engine.begin([setup], from: nil, at: Fixture.start, into: &actions)
        _ = engine.perform(.located(north: 0, accuracy: 5, at: Fixture.start + .seconds(1)))
        let snapshot = engine.snapshot
        #expect(snapshot.conditions[0].own.lastSeen == .timeline(Fixture.start + .seconds(1)))

        var next = MonitorEngine(settings: settings, start: Fixture.start + .seconds(100))
        actions.removeAll()
        try next.begin([setup], from: snapshot, at: Fixture.start + .seconds(100), into: &actions)
        #expect(actions.isEmpty)
        #expect(next.snapshot.conditions == snapshot.conditions)
        #expect(next.nextDeadline == Fixture.start + .seconds(160))
        let left = next.perform(.located(north: 1003, accuracy: 5, at: Fixture.start + .seconds(110))).actions
        guard case .visit(let visit)? = left.last else { throw NoVisit() }
        #expect(visit.arrival == Fixture.start + .seconds(1))
        #expect(visit.departure == Fixture.start + .seconds(1))

        // Without a source, the circle becomes `unmonitored`. With a source again, it starts as `unknown`.
        var blind = MonitorEngine(start: Fixture.start + .seconds(200))
        actions.removeAll()
        try blind.begin([setup], from: snapshot, at: Fixture.start + .seconds(200), into: &actions)
        #expect(blind.state(of: try Identifier("depot")) == .unmonitored)
        var seeing = MonitorEngine(settings: settings, start: Fixture.start + .seconds(300))
        try seeing.begin([setup], from: blind.snapshot, at: Fixture.start + .seconds(300), into: &actions)
        #expect(seeing.state(of: try Identifier("depot")) == .unknown)
    }

    private struct NoVisit: Error {}
}
