import BaseTypes
import Testing

@testable import BeaconMonitoring

/// How many unnamed beacons may enter (rule P5).
@Suite struct NewBeaconTests {
    @Test(arguments: Implementation.allCases)
    func `P5: without a token a beacon stays on its way in until one comes back`(_ implementation: Implementation) {
        for (time, isIn) in [(Duration.seconds(2) - .nanosecond, false), (.seconds(2), true)] {
            var world = World(implementation, maxNewBeacons: 2) { $0.perBeacon = true }
            for minor in [1, 2] as [UInt16] { world.sighted(.a(minor), at: .zero) }
            #expect(world.refusals == [])
            #expect(world.sighted(.a(3), at: .seconds(1)) == [])
            #expect(world.refusals == ["lobby"])
            #expect(world.sighted(.a(3), at: time) == (isIn ? [.satisfied(beacon: .a(3), at: time)] : []))
            #expect(world.refusals == [])
            #expect(world.monitoring.refusedBeacons == (isIn ? 1 : 2))
            #expect(world.monitoring.untrackedBeacons == 0)
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P5: tokens come back up to their number, one every two seconds from the start`(
        _ implementation: Implementation
    ) {
        var world = World(implementation, maxNewBeacons: 3) { $0.perBeacon = true }
        #expect(world.monitoring.newBeaconsLeft == 3)
        for minor in [1, 2, 3] as [UInt16] { world.sighted(.a(minor), at: .seconds(3)) }
        #expect(world.monitoring.newBeaconsLeft == 0)
        world.advance(to: .seconds(4))
        #expect(world.monitoring.newBeaconsLeft == 1)
        world.advance(to: .seconds(8) - .nanosecond)
        #expect(world.monitoring.newBeaconsLeft == 2)
        world.advance(to: .seconds(3600))
        #expect(world.monitoring.newBeaconsLeft == 3)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: without the setting any number enter`(_ implementation: Implementation) {
        var world = World(implementation) { $0.perBeacon = true }
        for minor in 1...100 as ClosedRange<UInt16> {
            world.sighted(.a(minor), at: .seconds(1))
            #expect(world.refusals == [])
        }
        #expect(world.monitoring.newBeaconsLeft == nil && world.monitoring.refusedBeacons == 0)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: a named beacon takes no token, and one that comes back from an outage none either`(
        _ implementation: Implementation
    ) {
        var world = World(implementation, maxNewBeacons: 1) { $0.perBeacon = true }
        world.name(.a(8), .a(9), at: .zero)
        for minor in [9, 8, 1] as [UInt16] { world.sighted(.a(minor), at: .seconds(1)) }
        #expect(world.refusals == [] && world.monitoring.newBeaconsLeft == 0)
        world.stopped(at: .seconds(1))
        world.advance(to: .seconds(61))
        // Thirty have come back by now, of which one is kept, and the way back takes none.
        #expect(world.sighted(.a(1), at: .seconds(61)).contains(.satisfied(beacon: .a(1), at: .seconds(61))))
        #expect(world.monitoring.newBeaconsLeft == 1)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: each further qualifying sighting tries again where the last of them lie within the window`(
        _ implementation: Implementation
    ) {
        for (time, isIn) in [(Duration.seconds(15) - .nanosecond, true), (.seconds(15), false)] {
            var world = World(implementation, maxNewBeacons: 1, lobby: nil)
            world.add("lobby", assuming: .unsatisfied, at: .zero) {
                $0.perBeacon = true
                $0.enterCount = 2
            }
            for second in [1, 1] { world.sighted(.a(1), at: .seconds(second) - .nanosecond) }
            // The third of the other's comes with a token there, and the one before it is, or is not, within ten seconds.
            world.sighted(.a(2), at: .seconds(1))
            world.sighted(.a(2), at: .seconds(1))
            #expect(world.refusals == ["lobby"])
            for second in [5, 5] { world.sighted(.a(3), at: .seconds(second)) }
            world.sighted(.a(2), at: .seconds(5))
            #expect(world.monitoring.refusedBeacons == 2)
            #expect(world.sighted(.a(2), at: time) == (isIn ? [.satisfied(beacon: .a(2), at: time)] : []))
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P5: one that is refused is forgotten when the window has passed since its last qualifying sighting`(
        _ implementation: Implementation
    ) {
        for (time, isHeld) in [(Duration.seconds(11) - .nanosecond, true), (.seconds(11), false)] {
            var world = World(implementation, maxBeacons: 2, maxNewBeacons: 1) { $0.perBeacon = true }
            world.sighted(.a(1), at: .seconds(1))
            world.sighted(.a(2), at: .seconds(1))
            #expect(world.monitoring.refusedBeacons == 1)
            world.sighted(.a(3), at: time)
            #expect(world.monitoring.untrackedBeacons == (isHeld ? 1 : 0))
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P5: one that does not fit takes no token`(_ implementation: Implementation) {
        var world = World(implementation, maxBeacons: 1, maxNewBeacons: 2) { $0.perBeacon = true }
        for minor in [1, 2, 3] as [UInt16] { world.sighted(.a(minor), at: .seconds(1)) }
        #expect(world.monitoring.newBeaconsLeft == 1 && world.monitoring.refusedBeacons == 0)
        #expect(world.monitoring.untrackedBeacons == 2)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: a condition's own event needs no token`(_ implementation: Implementation) {
        var world = World(implementation, maxNewBeacons: 1) { $0.perBeacon = true }
        world.add("hall", .a(2), assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        world.sighted(.a(1), at: .seconds(1))
        #expect(world.sighted(.a(2), at: .seconds(1)) == [.satisfied("hall", at: .seconds(1))])
        #expect(world.refusals == ["hall", "lobby"])
    }

    @Test(arguments: Implementation.allCases)
    func `P5: the episode ends at the first event sixty seconds after the last refusal`(
        _ implementation: Implementation
    ) {
        for (time, isOver) in [(Duration.seconds(62) - .nanosecond, false), (.seconds(62), true)] {
            var world = World(implementation, maxNewBeacons: 1) { $0.perBeacon = true }
            world.name(.a(9), at: .zero)
            for minor in [1, 2] as [UInt16] { world.sighted(.a(minor), at: .seconds(1)) }
            world.sighted(.a(3), at: .seconds(2) - .nanosecond)
            #expect(world.refusals == [])
            world.sighted(.a(4), at: .seconds(2))
            // It took the token that came back; this one is the last to be refused.
            world.sighted(.a(5), at: .seconds(2))
            world.sighted(.a(1), at: .seconds(31))
            world.sighted(.a(1), at: .seconds(60))
            #expect(world.sighted(.a(9), at: time) == [.satisfied(beacon: .a(9), at: time)])
            #expect(world.events.map(\.diagnostics) == [isOver ? [] : .trackingLimitExceeded])
            // Refused anew: once an episode it is said.
            for minor in [6, 7] as [UInt16] { world.sighted(.a(minor), at: time) }
            #expect(world.refusals == (isOver ? ["lobby"] : []))
        }
    }

    @Test func `P5: a start begins with all tokens`() throws {
        var settings = EngineSettings()
        settings.maxNewBeacons = 2
        var condition = ConditionSettings()
        condition.perBeacon = true
        let setups = [
            MonitorSetup(
                name: try Identifier("site"),
                conditions: [try MonitorSetup.Condition(.anyA, identifier: "lobby", settings: condition)])
        ]
        var engine = MonitorEngine(settings: settings, start: World.start)
        var buffer = ActionBuffer()
        try engine.begin(setups, from: nil, at: World.start, into: &buffer)
        for minor in [1, 2, 3] as [UInt16] {
            _ = engine.perform(.sighted("hci0", .a(minor), nil, at: World.start + .seconds(1)))
        }
        #expect(engine.newBeaconsLeft == 0)
        var next = MonitorEngine(settings: settings, start: World.start + .seconds(1))
        try next.begin(setups, from: engine.snapshot, at: World.start + .seconds(1), into: &buffer)
        // Those that were present are again, and took none.
        #expect(next.newBeaconsLeft == 2)
        #expect(next.snapshot.conditions[0].beacons.map(\.beacon) == [.a(1), .a(2)])
    }
}
