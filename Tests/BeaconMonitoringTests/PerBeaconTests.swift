import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct PerBeaconTests {
    @Test(arguments: Implementation.allCases)
    func `P1: each beacon has its own events, and is forgotten after its exit`(_ implementation: Implementation) {
        var world = World(implementation) { $0.perBeacon = true }
        #expect(
            world.sighted(.a(1), at: .zero)
                == [.satisfied(at: .zero), .satisfied(beacon: .a(1), at: .zero)])
        #expect(world.sighted(.a(2), at: .seconds(5)) == [.satisfied(beacon: .a(2), at: .seconds(5))])
        #expect(
            world.advance(to: .seconds(60)) == [
                .unsatisfied(beacon: .a(1), at: .seconds(30)), .unsatisfied(at: .seconds(35)),
                .unsatisfied(beacon: .a(2), at: .seconds(35)),
            ])
        #expect(world.events.map(\.previous?.state) == [.satisfied, .satisfied, .satisfied])
        world.sighted(.a(1), at: .seconds(70))
        #expect(world.events.map(\.previous?.state) == [.unsatisfied, nil])
    }

    @Test(arguments: Implementation.allCases)
    func `P1: the only possible event of a pending beacon is satisfied`(_ implementation: Implementation) {
        var world = World(implementation) {
            $0.perBeacon = true
            $0.enterCount = 2
            $0.enterWindow = .seconds(60)
        }
        #expect(world.sighted(.a(1), at: .seconds(1)) == [])
        #expect(world.sighted(.a(2), at: .seconds(1)) == [.satisfied(at: .seconds(1))])
        world.stopped(at: .seconds(1))
        // L2 does not apply to the two beacons.
        #expect(world.advance(to: .seconds(61)) == [.unknown(at: .seconds(61))])
        #expect(world.sighted(.a(2), at: .seconds(61)) == [.satisfied(at: .seconds(61))])
    }

    @Test(arguments: Implementation.allCases)
    func `P1: a pending beacon is forgotten enter_window after its last qualifying sighting`(
        _ implementation: Implementation
    ) {
        for (time, isHeld) in [(Duration.seconds(15) - .nanosecond, true), (.seconds(15), false)] {
            var world = World(implementation, maxBeacons: 1) {
                $0.perBeacon = true
                $0.enterCount = 3
                $0.enterRSSI = RSSI(dBm: -70)
            }
            world.sighted(.a(1), at: .seconds(1))
            world.sighted(.a(1), at: .seconds(5))
            // These sightings do not qualify, so they neither create nor keep a pending beacon.
            world.sighted(.a(1), rssi: -71, at: .seconds(9))
            world.sighted(.a(9), rssi: -71, at: .seconds(9))
            #expect(world.monitoring.untrackedBeacons == 0)
            world.sighted(.a(2), at: time)
            #expect(world.monitoring.untrackedBeacons == (isHeld ? 1 : 0))
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P1: an outage affects a beacon like a condition`(_ implementation: Implementation) {
        var world = World(implementation, lobby: nil)
        world.add("staff", assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        world.sighted(.a(1), at: .zero)
        world.stopped(at: .zero)
        #expect(
            world.advance(to: .seconds(60))
                == [.unknown("staff", at: .seconds(60)), .unknown("staff", beacon: .a(1), at: .seconds(60))])
        #expect(world.events.map(\.refinement) == [nil, .a(1)])
        world.started(at: .seconds(100))
        #expect(
            world.advance(to: .seconds(130)) == [
                .unsatisfied("staff", at: .seconds(130)), .unsatisfied("staff", beacon: .a(1), at: .seconds(130)),
            ])
        // The beacon is forgotten, so it cannot become `unknown`.
        world.stopped(at: .seconds(131))
        #expect(world.advance(to: .seconds(500)) == [.unknown("staff", at: .seconds(191))])
    }

    // MARK: Too many

    @Test(arguments: Implementation.allCases)
    func `P2: a beacon that does not fit is counted, and reported once per episode`(_ implementation: Implementation) {
        var world = World(implementation, maxBeacons: 2) { $0.perBeacon = true }
        world.sighted(.a(1), at: .zero)
        world.sighted(.a(2), at: .seconds(1))
        #expect(world.overflows == [])
        #expect(world.sighted(.a(3), at: .seconds(2)) == [])
        #expect(world.overflows == ["lobby"])
        world.sighted(.a(4), at: .seconds(3))
        #expect(world.overflows == [])
        #expect(world.monitoring.untrackedBeacons == 2)
        // No present beacon loses its place. The first one exits at its time, with the flag, and this ends the episode.
        #expect(world.advance(to: .seconds(30)) == [.unsatisfied(beacon: .a(1), at: .seconds(30))])
        #expect(world.events.map(\.diagnostics) == [.trackingLimitExceeded])
        #expect(world.sighted(.a(5), at: .seconds(30)) == [.satisfied(beacon: .a(5), at: .seconds(30))])
        #expect(world.events.map(\.diagnostics) == [[]])
        world.sighted(.a(6), at: .seconds(30))
        #expect(world.overflows == ["lobby"])
    }

    @Test(arguments: Implementation.allCases)
    func `P2: only events of the condition whose beacon did not fit have the flag`(
        _ implementation: Implementation
    ) {
        var world = World(implementation, maxBeacons: 2, lobby: nil)
        world.add("guests", assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        world.add("staff", .anyB, assuming: .unsatisfied, at: .zero)
        world.sighted(.a(1), at: .zero)
        world.sighted(.a(2), at: .seconds(20))
        world.sighted(.a(3), at: .seconds(20))
        #expect(world.overflows == ["guests"])
        let staff = BeaconIdentity(uuid: .b, major: 1, minor: 1)
        #expect(world.sighted(staff, at: .seconds(21)) == [.satisfied("staff", at: .seconds(21))])
        #expect(world.events.map(\.diagnostics) == [[]])
        #expect(world.advance(to: .seconds(30)) == [.unsatisfied("guests", beacon: .a(1), at: .seconds(30))])
        #expect(world.events.map(\.diagnostics) == [.trackingLimitExceeded])
        #expect(world.sighted(.a(4), at: .seconds(31)) == [.satisfied("guests", beacon: .a(4), at: .seconds(31))])
        #expect(world.events.map(\.diagnostics) == [[]])
    }

    @Test(arguments: Implementation.allCases, [1, 2])
    func `P2: the episode ends when fewer than nine tenths of max_beacons are held`(
        _ implementation: Implementation, leaving: Int
    ) {
        var world = World(implementation, maxBeacons: 10) { $0.perBeacon = true }
        for minor in 1...10 as ClosedRange<UInt16> { world.sighted(.a(minor), at: .seconds(minor <= leaving ? 0 : 1)) }
        world.sighted(.a(11), at: .seconds(2))
        #expect(world.overflows == ["lobby"])
        #expect(world.advance(to: .seconds(30)).count == leaving)
        world.sighted(.a(3), at: .seconds(30))
        for minor in 21...23 as ClosedRange<UInt16> { world.sighted(.a(minor), at: .seconds(30)) }
        // 9 of 10 are nine tenths, 8 are fewer.
        #expect(world.overflows == (leaving == 1 ? [] : ["lobby"]))
    }

    @Test(arguments: Implementation.allCases)
    func `P2: pending beacons give way first, the one with the oldest sighting before others, ties by T3`(
        _ implementation: Implementation
    ) {
        var world = World(implementation, maxBeacons: 3, lobby: nil)
        world.add("staff", assuming: .unsatisfied, at: .zero) {
            $0.perBeacon = true
            $0.enterCount = 2
        }
        for second in [0, 1] { world.sighted(.a(1), at: .seconds(second)) }
        // The last sightings of 2 and 3 have the same time, so 4 takes the place of 2, which is first in the order of
        // T3.
        world.sighted(.a(2), at: .seconds(2))
        world.sighted(.a(3), at: .seconds(2))
        world.sighted(.a(4), at: .seconds(3))
        #expect(world.overflows == ["staff"])
        // Beacon 3 kept its place, so this is its second sighting.
        #expect(world.sighted(.a(3), at: .seconds(4)) == [.satisfied("staff", beacon: .a(3), at: .seconds(4))])
        #expect(world.events.map(\.diagnostics) == [.trackingLimitExceeded])
        #expect(world.sighted(.a(4), at: .seconds(4)) == [.satisfied("staff", beacon: .a(4), at: .seconds(4))])
        #expect(world.sighted(.a(2), at: .seconds(4)) == [])
        #expect(world.monitoring.untrackedBeacons == 2)
        // All places belong to present beacons now, and each keeps its own.
        #expect(world.state("staff") == .satisfied)
    }

    @Test(arguments: Implementation.allCases)
    func `P2: an episode continues while a pending beacon gives way to another`(_ implementation: Implementation) {
        var world = World(implementation, maxBeacons: 1) {
            $0.perBeacon = true
            $0.enterCount = 2
        }
        for minor in 1...4 as ClosedRange<UInt16> {
            world.sighted(.a(minor), at: .seconds(1))
            #expect(world.overflows == (minor == 2 ? ["lobby"] : []))
        }
        #expect(world.monitoring.untrackedBeacons == 3)
    }

    // MARK: Visits

    @Test(arguments: Implementation.allCases)
    func `P3: a visit is the time from satisfied to unsatisfied`(_ implementation: Implementation) {
        var world = World(implementation) { $0.enterCount = 2 }
        world.sighted(rssi: -40, at: .zero)
        world.sighted(rssi: -61, at: .seconds(1))
        world.sighted(rssi: nil, at: .seconds(2))
        world.sighted(rssi: -80, at: .seconds(3))
        world.sighted(rssi: -70, at: .seconds(4))
        world.advance(to: .seconds(40))
        guard case .event(let event) = world.actions.first, case .visit(let visit) = world.actions.last else {
            Issue.record("\(world.actions)")
            return
        }
        #expect(world.actions.count == 2)
        #expect(visit.time == event.time && visit.date == event.date)
        #expect(visit.arrival == World.start + .seconds(1))
        #expect(visit.departure == World.start + .seconds(4))
        #expect(visit.sightings == 4)
        #expect(visit.strength == Visit.Strength(minimum: -80, sum: -211, count: 3, maximum: -61))
        #expect(visit.reason == .exitTimeout)
        #expect(visit.scope == .condition && visit.refinement == nil)
    }

    @Test(arguments: Implementation.allCases)
    func `P3: an outage does not end a visit`(_ implementation: Implementation) {
        var world = World(implementation)
        world.sighted(rssi: -60, at: .seconds(1))
        world.stopped(at: .seconds(10))
        world.advance(to: .seconds(70))
        #expect(world.visits.isEmpty)
        #expect(world.sighted(rssi: -50, at: .seconds(80)) == [.satisfied(at: .seconds(80))])
        world.advance(to: .seconds(110))
        #expect(world.visits.map(\.arrival) == [World.start + .seconds(1)])
        #expect(world.visits.map(\.departure) == [World.start + .seconds(80)])
        #expect(world.visits.map(\.sightings) == [2])
    }

    @Test(arguments: Implementation.allCases)
    func `P3: a second visit has no data of the first one`(_ implementation: Implementation) {
        var world = World(implementation)
        world.sighted(rssi: -60, at: .zero)
        world.sighted(rssi: nil, at: .seconds(100))
        world.advance(to: .seconds(130))
        #expect(world.visits.map(\.arrival) == [World.start + .seconds(100)])
        #expect(world.visits.map(\.strength) == [nil])
        #expect(world.visits.map(\.sightings) == [1])
    }
}
