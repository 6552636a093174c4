import BaseTypes
import Testing

@testable import BeaconMonitoring

/// The entries of unnamed beacons are limited (rule P5).
@Suite struct NewBeaconTests {
    @Test(arguments: Implementation.allCases)
    func `P5: if no token is left, a beacon stays pending until one returns`(_ implementation: Implementation) {
        for (time, isIn) in [(Duration.seconds(2) - .nanosecond, false), (.seconds(2), true)] {
            var fixture = Fixture(implementation, maxNewBeacons: 2) { $0.perBeacon = true }
            for minor in [1, 2] as [UInt16] { fixture.sighted(.a(minor), at: .zero) }
            #expect(fixture.refusals == [])
            #expect(fixture.sighted(.a(3), at: .seconds(1)) == [])
            #expect(fixture.refusals == ["lobby"])
            #expect(fixture.sighted(.a(3), at: time) == (isIn ? [.satisfied(beacon: .a(3), at: time)] : []))
            #expect(fixture.refusals == [])
            #expect(fixture.monitoring.refusedBeacons == (isIn ? 1 : 2))
            #expect(fixture.monitoring.untrackedBeacons == 0)
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P5: one token returns every 2 s from the start, up to max_new_beacons`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, maxNewBeacons: 3) { $0.perBeacon = true }
        #expect(fixture.monitoring.newBeaconsLeft == 3)
        for minor in [1, 2, 3] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(3)) }
        #expect(fixture.monitoring.newBeaconsLeft == 0)
        fixture.advance(to: .seconds(4))
        #expect(fixture.monitoring.newBeaconsLeft == 1)
        fixture.advance(to: .seconds(8) - .nanosecond)
        #expect(fixture.monitoring.newBeaconsLeft == 2)
        fixture.advance(to: .seconds(3600))
        #expect(fixture.monitoring.newBeaconsLeft == 3)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: if the setting is 0, any number of beacons can enter`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.perBeacon = true }
        for minor in 1...100 as ClosedRange<UInt16> {
            fixture.sighted(.a(minor), at: .seconds(1))
            #expect(fixture.refusals == [])
        }
        #expect(fixture.monitoring.newBeaconsLeft == nil && fixture.monitoring.refusedBeacons == 0)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: a named beacon, or one that returns from an outage, takes no token`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, maxNewBeacons: 1) { $0.perBeacon = true }
        fixture.name(.a(8), .a(9), at: .zero)
        for minor in [9, 8, 1] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(1)) }
        #expect(fixture.refusals == [] && fixture.monitoring.newBeaconsLeft == 0)
        fixture.stopped(at: .seconds(1))
        fixture.advance(to: .seconds(61))
        // 30 tokens have returned by now, but the limit is 1. A return from an outage takes none.
        #expect(fixture.sighted(.a(1), at: .seconds(61)).contains(.satisfied(beacon: .a(1), at: .seconds(61))))
        #expect(fixture.monitoring.newBeaconsLeft == 1)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: each further qualifying sighting tries again, if the last ones are within enter_window`(
        _ implementation: Implementation
    ) {
        for (time, isIn) in [(Duration.seconds(15) - .nanosecond, true), (.seconds(15), false)] {
            var fixture = Fixture(implementation, maxNewBeacons: 1, lobby: nil)
            fixture.add("lobby", assuming: .unsatisfied, at: .zero) {
                $0.perBeacon = true
                $0.enterCount = 2
            }
            for second in [1, 1] { fixture.sighted(.a(1), at: .seconds(second) - .nanosecond) }
            // When beacon 2 has its last sighting, a token is there. The sighting before it, at 5 s, is less than 10 s
            // old or exactly 10 s old.
            fixture.sighted(.a(2), at: .seconds(1))
            fixture.sighted(.a(2), at: .seconds(1))
            #expect(fixture.refusals == ["lobby"])
            for second in [5, 5] { fixture.sighted(.a(3), at: .seconds(second)) }
            fixture.sighted(.a(2), at: .seconds(5))
            #expect(fixture.monitoring.refusedBeacons == 2)
            #expect(fixture.sighted(.a(2), at: time) == (isIn ? [.satisfied(beacon: .a(2), at: time)] : []))
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P5: a refused beacon is forgotten enter_window after its last qualifying sighting`(
        _ implementation: Implementation
    ) {
        for (time, isHeld) in [(Duration.seconds(11) - .nanosecond, true), (.seconds(11), false)] {
            var fixture = Fixture(implementation, maxBeacons: 2, maxNewBeacons: 1) { $0.perBeacon = true }
            fixture.sighted(.a(1), at: .seconds(1))
            fixture.sighted(.a(2), at: .seconds(1))
            #expect(fixture.monitoring.refusedBeacons == 1)
            fixture.sighted(.a(3), at: time)
            #expect(fixture.monitoring.untrackedBeacons == (isHeld ? 1 : 0))
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P5: a beacon that does not fit takes no token`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxBeacons: 1, maxNewBeacons: 2) { $0.perBeacon = true }
        for minor in [1, 2, 3] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(1)) }
        #expect(fixture.monitoring.newBeaconsLeft == 1 && fixture.monitoring.refusedBeacons == 0)
        #expect(fixture.monitoring.untrackedBeacons == 2)
    }

    @Test(arguments: Implementation.allCases)
    func `P5: the event of a condition needs no token`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxNewBeacons: 1) { $0.perBeacon = true }
        fixture.add("hall", .a(2), assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        fixture.sighted(.a(1), at: .seconds(1))
        #expect(fixture.sighted(.a(2), at: .seconds(1)) == [.satisfied("hall", at: .seconds(1))])
        #expect(fixture.refusals == ["hall", "lobby"])
    }

    @Test(arguments: Implementation.allCases)
    func `P5: the episode ends at the first event that is 60 s or more after the last refusal`(
        _ implementation: Implementation
    ) {
        for (time, isOver) in [(Duration.seconds(62) - .nanosecond, false), (.seconds(62), true)] {
            var fixture = Fixture(implementation, maxNewBeacons: 1) { $0.perBeacon = true }
            fixture.name(.a(9), at: .zero)
            for minor in [1, 2] as [UInt16] { fixture.sighted(.a(minor), at: .seconds(1)) }
            fixture.sighted(.a(3), at: .seconds(2) - .nanosecond)
            #expect(fixture.refusals == [])
            fixture.sighted(.a(4), at: .seconds(2))
            // Beacon 4 took the token that had returned. Beacon 5 is the last one that is refused.
            fixture.sighted(.a(5), at: .seconds(2))
            fixture.sighted(.a(1), at: .seconds(31))
            fixture.sighted(.a(1), at: .seconds(60))
            #expect(fixture.sighted(.a(9), at: time) == [.satisfied(beacon: .a(9), at: time)])
            #expect(fixture.events.map(\.diagnostics) == [isOver ? [] : .trackingLimitExceeded])
            // A beacon is refused again. This is reported once per episode.
            for minor in [6, 7] as [UInt16] { fixture.sighted(.a(minor), at: time) }
            #expect(fixture.refusals == (isOver ? ["lobby"] : []))
        }
    }

    @Test func `P5: all tokens are there at each start`() throws {
        var settings = EngineSettings()
        settings.maxNewBeacons = 2
        var condition = ConditionSettings()
        condition.perBeacon = true
        let setups = [
            MonitorSetup(
                name: try Identifier("site"),
                conditions: [try MonitorSetup.Condition(.anyA, identifier: "lobby", settings: condition)])
        ]
        var engine = MonitorEngine(settings: settings, start: Fixture.start)
        var buffer = ActionBuffer()
        try engine.begin(setups, from: nil, at: Fixture.start, into: &buffer)
        for minor in [1, 2, 3] as [UInt16] {
            _ = engine.perform(.sighted("hci0", .a(minor), nil, at: Fixture.start + .seconds(1)))
        }
        #expect(engine.newBeaconsLeft == 0)
        var next = MonitorEngine(settings: settings, start: Fixture.start + .seconds(1))
        try next.begin(setups, from: engine.snapshot, at: Fixture.start + .seconds(1), into: &buffer)
        // The beacons that were present are present again, and took no tokens.
        #expect(next.newBeaconsLeft == 2)
        #expect(next.snapshot.conditions[0].beacons.map(\.beacon) == [.a(1), .a(2)])
    }
}
