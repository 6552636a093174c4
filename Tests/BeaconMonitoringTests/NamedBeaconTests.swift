import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

/// Named beacons have priority over unnamed ones (rule P4).
@Suite struct NamedBeaconTests {
    // MARK: Places

    @Test(arguments: Implementation.allCases)
    func `P4: a named beacon gets the place of the unnamed one with the oldest refresh`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, maxBeacons: 2) { $0.perBeacon = true }
        fixture.name(.a(9), at: .zero)
        fixture.sighted(.a(1), at: .seconds(1))
        fixture.sighted(.a(2), at: .seconds(2))
        fixture.sighted(.a(1), rssi: -50, at: .seconds(3))
        #expect(fixture.sighted(.a(9), at: .seconds(4)) == [.satisfied(beacon: .a(9), at: .seconds(4))])
        // Beacon 2 entered after 1, and has the older refresh. Its visit is before the event of the beacon that took
        // its place.
        guard case .trackingLimitExceeded("lobby", .held) = fixture.actions[0],
            case .visit(let visit) = fixture.actions[1],
            case .event(let event) = fixture.actions[2], fixture.actions.count == 3
        else {
            Issue.record("\(fixture.actions)")
            return
        }
        #expect(visit.refinement == .a(2) && visit.scope == .beacon && visit.reason == .displaced)
        #expect(visit.time == Fixture.start + .seconds(4) && visit.time == event.time)
        #expect(visit.arrival == Fixture.start + .seconds(2) && visit.departure == Fixture.start + .seconds(2))
        #expect(event.diagnostics == .trackingLimitExceeded)
        #expect(fixture.monitoring.displacedBeacons == 1 && fixture.monitoring.untrackedBeacons == 0)
        // No data of it remains: there is no exit, and when there is a place again, it enters as a new beacon.
        #expect(
            fixture.advance(to: .seconds(33)) == [.unsatisfied(beacon: .a(1), at: .seconds(33))])
        #expect(fixture.sighted(.a(2), at: .seconds(33)) == [.satisfied(beacon: .a(2), at: .seconds(33))])
        #expect(fixture.events.map(\.previous) == [nil])
    }

    @Test(arguments: Implementation.allCases)
    func `P4: if refreshes have the same time, the beacon whose refresh was handled first gives way`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, maxBeacons: 3) { $0.perBeacon = true }
        fixture.name(.a(8), .a(9), at: .zero)
        for minor in [1, 2, 3] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(1)) }
        for minor in [3, 1, 2] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(2)) }
        fixture.sighted(.a(9), at: .seconds(3))
        #expect(fixture.visits.map(\.refinement) == [.a(3)])
        fixture.sighted(.a(8), at: .seconds(3))
        #expect(fixture.visits.map(\.refinement) == [.a(1)])
    }

    @Test(arguments: Implementation.allCases)
    func `P4: unnamed pending beacons give way before any present beacon`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxBeacons: 2) {
            $0.perBeacon = true
            $0.enterCount = 2
        }
        fixture.name(.a(9), at: .zero)
        for second in [0, 1] { fixture.sighted(.a(1), at: .seconds(second)) }
        fixture.sighted(.a(2), at: .seconds(2))
        fixture.sighted(.a(9), at: .seconds(3))
        #expect(fixture.visits.isEmpty)
        #expect(fixture.monitoring.displacedBeacons == 0 && fixture.monitoring.untrackedBeacons == 1)
        #expect(fixture.sighted(.a(9), at: .seconds(4)) == [.satisfied(beacon: .a(9), at: .seconds(4))])
        #expect(fixture.sighted(.a(1), at: .seconds(5)) == [])
    }

    @Test(arguments: Implementation.allCases)
    func `P4: a named pending beacon never gives way`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxBeacons: 1) {
            $0.perBeacon = true
            $0.enterCount = 2
        }
        fixture.name(.a(8), .a(9), at: .zero)
        fixture.sighted(.a(9), at: .seconds(1))
        for minor in [1, 8] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(2)) }
        #expect(fixture.monitoring.untrackedBeacons == 2)
        #expect(
            fixture.sighted(.a(9), at: .seconds(3))
                == [.satisfied(beacon: .a(9), at: .seconds(3))])
    }

    @Test(arguments: Implementation.allCases)
    func `P4: if all held beacons are named, a new one does not get a place`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxBeacons: 2) { $0.perBeacon = true }
        fixture.name(.a(7), .a(8), .a(9), at: .zero)
        for minor in [7, 8, 9] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(1)) }
        #expect(fixture.overflows == ["lobby"] && fixture.events.isEmpty)
        #expect(fixture.monitoring.untrackedBeacons == 1 && fixture.monitoring.displacedBeacons == 0)
    }

    @Test(arguments: Implementation.allCases)
    func `P4: a beacon that is unknown after an outage also gives way`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxBeacons: 1) { $0.perBeacon = true }
        fixture.name(.a(9), at: .zero)
        fixture.sighted(.a(1), at: .seconds(1))
        fixture.stopped(at: .seconds(2))
        fixture.advance(to: .seconds(62))
        fixture.sighted(.a(9), at: .seconds(63))
        #expect(fixture.visits.map(\.reason) == [.displaced])
        #expect(fixture.visits.map(\.refinement) == [.a(1)])
    }

    // MARK: Unnamed beacons

    @Test(arguments: Implementation.allCases)
    func `P4: an ignored unnamed beacon is not a subject, but counts for the condition`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation) {
            $0.perBeacon = true
            $0.unnamed = .ignore
        }
        fixture.name(.a(9), at: .zero)
        #expect(fixture.sighted(.a(1), at: .seconds(1)) == [.satisfied(at: .seconds(1))])
        #expect(fixture.sighted(.a(9), at: .seconds(2)) == [.satisfied(beacon: .a(9), at: .seconds(2))])
    }

    @Test(arguments: Implementation.allCases)
    func `P4: if a condition refuses unnamed beacons, their sightings count only for other conditions`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation) {
            $0.perBeacon = true
            $0.unnamed = .refuse
        }
        fixture.add("hall", assuming: .unsatisfied, at: .zero)
        fixture.name(.a(9), at: .zero)
        #expect(fixture.sighted(.a(1), at: .seconds(1)) == [.satisfied("hall", at: .seconds(1))])
        #expect(
            fixture.sighted(.a(9), at: .seconds(2))
                == [.satisfied(at: .seconds(2)), .satisfied(beacon: .a(9), at: .seconds(2))])
        // It does not refresh the condition either.
        fixture.sighted(.a(1), at: .seconds(20))
        #expect(
            fixture.advance(to: .seconds(40))
                == [.unsatisfied(at: .seconds(32)), .unsatisfied(beacon: .a(9), at: .seconds(32))])
    }

    @Test(arguments: Implementation.allCases, [UnnamedBeacons.ignore, .refuse])
    func `P4: without per_beacon, the setting unnamed has no effect`(
        _ implementation: Implementation, _ unnamed: UnnamedBeacons
    ) {
        var fixture = Fixture(implementation) { $0.unnamed = unnamed }
        #expect(fixture.sighted(.a(1), at: .seconds(1)) == [.satisfied(at: .seconds(1))])
    }

    @Test(arguments: Implementation.allCases, [UnnamedBeacons.ignore, .refuse])
    func `P4: a reload that no longer tracks unnamed beacons ends their visits`(
        _ implementation: Implementation, _ unnamed: UnnamedBeacons
    ) {
        var fixture = Fixture(implementation) { $0.perBeacon = true }
        fixture.name(.a(9), at: .zero)
        for minor in [2, 1, 9] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(1)) }
        fixture.add("lobby", at: .seconds(2)) {
            $0.perBeacon = true
            $0.unnamed = unnamed
        }
        #expect(fixture.visits.map(\.refinement) == [.a(1), .a(2)])
        #expect(fixture.visits.allSatisfy { $0.reason == .removed && $0.time == Fixture.start + .seconds(2) })
        #expect(fixture.conditionChanges.map(\.kind) == [.changed] && fixture.events.isEmpty)
        fixture.sighted(.a(1), at: .seconds(3))
        #expect(fixture.actions.isEmpty)
        let condition = Duration.seconds(unnamed == .ignore ? 33 : 31)
        #expect(
            fixture.advance(to: .seconds(60)).sorted { $0.time < $1.time }
                == (unnamed == .ignore
                    ? [.unsatisfied(beacon: .a(9), at: .seconds(31)), .unsatisfied(at: condition)]
                    : [.unsatisfied(at: condition), .unsatisfied(beacon: .a(9), at: .seconds(31))]))
    }

    @Test(arguments: Implementation.allCases)
    func `P4: if a condition ignores unnamed beacons, the visit of a beacon that loses its name ends`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation) {
            $0.perBeacon = true
            $0.unnamed = .ignore
        }
        fixture.add("hall", assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        fixture.name(.a(1), .a(2), at: .zero)
        for minor in [1, 2] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(1)) }
        fixture.name(.a(2), at: .seconds(2))
        #expect(fixture.visits.map(\.identifier) == ["lobby"])
        #expect(fixture.visits.map(\.refinement) == [.a(1)] && fixture.visits.map(\.reason) == [.removed])
        // Under the condition that tracks unnamed beacons, it is one of them from now on, and stays.
        #expect(fixture.sighted(.a(1), at: .seconds(20)) == [])
    }

    @Test func `P4: names and settings of one reload apply together`() throws {
        func setups(_ unnamed: UnnamedBeacons) throws -> [MonitorSetup] {
            var settings = ConditionSettings()
            settings.perBeacon = true
            settings.unnamed = unnamed
            let condition = try MonitorSetup.Condition(.anyA, identifier: "lobby", settings: settings)
            return [MonitorSetup(name: try Identifier("site"), conditions: [condition])]
        }
        func visits(_ buffer: ActionBuffer) -> [BeaconIdentity?] {
            buffer.actions.compactMap { if case .visit(let visit) = $0 { visit.refinement } else { nil } }
        }
        var engine = MonitorEngine(start: Fixture.start)
        var buffer = ActionBuffer()
        try engine.begin(setups(.ignore), naming: [.a(1)], from: nil, at: Fixture.start, into: &buffer)
        for minor in [1, 2] as [UInt16] {
            _ = engine.perform(.sighted("hci0", .a(minor), nil, at: Fixture.start + .seconds(1)))
        }
        // A beacon stays if it loses its name when tracking of unnamed beacons starts, or gets a name when tracking
        // stops.
        buffer.removeAll()
        try engine.apply(setups(.track), naming: [], at: Fixture.start + .seconds(2), into: &buffer)
        #expect(visits(buffer) == [])
        _ = engine.perform(.sighted("hci0", .a(2), nil, at: Fixture.start + .seconds(3)))
        buffer.removeAll()
        try engine.apply(setups(.refuse), naming: [.a(2)], at: Fixture.start + .seconds(4), into: &buffer)
        #expect(visits(buffer) == [.a(1)])
        #expect(engine.snapshot.conditions[0].beacons.map(\.beacon) == [.a(2)])
    }

    // MARK: Restarts

    @Test func `P4: if a restart has fewer places, named and recent beacons stay; visits of others end`() throws {
        var settings = ConditionSettings()
        settings.perBeacon = true
        let condition = try MonitorSetup.Condition(.anyA, identifier: "lobby", settings: settings)
        let setups = [MonitorSetup(name: try Identifier("site"), conditions: [condition])]
        var engine = MonitorEngine(start: Fixture.start)
        var buffer = ActionBuffer()
        try engine.begin(setups, naming: [.a(1)], from: nil, at: Fixture.start, into: &buffer)
        for minor in 1...4 as ClosedRange<UInt16> {
            _ = engine.perform(.sighted("hci0", .a(minor), nil, at: Fixture.start + .seconds(Int(minor))))
        }
        var fewer = EngineSettings()
        fewer.maxBeacons = 2
        var next = MonitorEngine(settings: fewer, start: Fixture.start + .seconds(9))
        buffer.removeAll()
        try next.begin(setups, naming: [.a(1)], from: engine.snapshot, at: Fixture.start + .seconds(9), into: &buffer)
        let visits = buffer.actions.compactMap { if case .visit(let visit) = $0 { visit } else { nil } }
        #expect(visits.map(\.refinement) == [.a(2), .a(3)] && visits.allSatisfy { $0.reason == .displaced })
        #expect(next.snapshot.conditions[0].beacons.map(\.beacon) == [.a(1), .a(4)])
    }

    @Test func `P4: a restart that ignores unnamed beacons ends the visits of those that were present`() throws {
        func setups(_ unnamed: UnnamedBeacons) throws -> [MonitorSetup] {
            var settings = ConditionSettings()
            settings.perBeacon = true
            settings.unnamed = unnamed
            let condition = try MonitorSetup.Condition(.anyA, identifier: "lobby", settings: settings)
            return [MonitorSetup(name: try Identifier("site"), conditions: [condition])]
        }
        var engine = MonitorEngine(start: Fixture.start)
        var buffer = ActionBuffer()
        try engine.begin(setups(.track), naming: [.a(1)], from: nil, at: Fixture.start, into: &buffer)
        for minor in [1, 2] as [UInt16] {
            _ = engine.perform(.sighted("hci0", .a(minor), nil, at: Fixture.start + .seconds(1)))
        }
        var next = MonitorEngine(start: Fixture.start + .seconds(2))
        buffer.removeAll()
        try next.begin(
            setups(.ignore), naming: [.a(1)], from: engine.snapshot, at: Fixture.start + .seconds(2), into: &buffer)
        let visits = buffer.actions.compactMap { if case .visit(let visit) = $0 { visit } else { nil } }
        #expect(visits.map(\.refinement) == [.a(2)] && visits.map(\.reason) == [.removed])
        #expect(next.snapshot.conditions[0].beacons.map(\.beacon) == [.a(1)])
    }
}
