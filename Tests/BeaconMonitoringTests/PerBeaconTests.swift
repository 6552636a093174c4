import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct PerBeaconTests {
    @Test(arguments: Implementation.allCases)
    func `P1: each beacon has its own events, and is forgotten after its exit`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.perBeacon = true }
        #expect(
            fixture.sighted(.a(1), at: .zero)
                == [.satisfied(at: .zero), .satisfied(beacon: .a(1), at: .zero)])
        #expect(fixture.sighted(.a(2), at: .seconds(5)) == [.satisfied(beacon: .a(2), at: .seconds(5))])
        #expect(
            fixture.advance(to: .seconds(60)) == [
                .unsatisfied(beacon: .a(1), at: .seconds(30)), .unsatisfied(at: .seconds(35)),
                .unsatisfied(beacon: .a(2), at: .seconds(35)),
            ])
        #expect(fixture.events.map(\.previous?.state) == [.satisfied, .satisfied, .satisfied])
        fixture.sighted(.a(1), at: .seconds(70))
        #expect(fixture.events.map(\.previous?.state) == [.unsatisfied, nil])
    }

    @Test(arguments: Implementation.allCases)
    func `P1: the only possible event of a pending beacon is satisfied`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) {
            $0.perBeacon = true
            $0.enterCount = 2
            $0.enterWindow = .seconds(60)
        }
        #expect(fixture.sighted(.a(1), at: .seconds(1)) == [])
        #expect(fixture.sighted(.a(2), at: .seconds(1)) == [.satisfied(at: .seconds(1))])
        fixture.stopped(at: .seconds(1))
        // L2 does not apply to the two beacons.
        #expect(fixture.advance(to: .seconds(61)) == [.unknown(at: .seconds(61))])
        #expect(fixture.sighted(.a(2), at: .seconds(61)) == [.satisfied(at: .seconds(61))])
    }

    @Test(arguments: Implementation.allCases)
    func `P1: a pending beacon is forgotten enter_window after its last qualifying sighting`(
        _ implementation: Implementation
    ) {
        for (time, isHeld) in [(Duration.seconds(15) - .nanosecond, true), (.seconds(15), false)] {
            var fixture = Fixture(implementation, maxBeacons: 1) {
                $0.perBeacon = true
                $0.enterCount = 3
                $0.enterRSSI = RSSI(dBm: -70)
            }
            fixture.sighted(.a(1), at: .seconds(1))
            fixture.sighted(.a(1), at: .seconds(5))
            // These sightings do not qualify, so they neither create nor keep a pending beacon.
            fixture.sighted(.a(1), rssi: -71, at: .seconds(9))
            fixture.sighted(.a(9), rssi: -71, at: .seconds(9))
            #expect(fixture.monitoring.untrackedBeacons == 0)
            fixture.sighted(.a(2), at: time)
            #expect(fixture.monitoring.untrackedBeacons == (isHeld ? 1 : 0))
        }
    }

    @Test(arguments: Implementation.allCases)
    func `P1: an outage affects a beacon like a condition`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("staff", assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        fixture.sighted(.a(1), at: .zero)
        fixture.stopped(at: .zero)
        #expect(
            fixture.advance(to: .seconds(60))
                == [.unknown("staff", at: .seconds(60)), .unknown("staff", beacon: .a(1), at: .seconds(60))])
        #expect(fixture.events.map(\.refinement) == [nil, .a(1)])
        fixture.started(at: .seconds(100))
        #expect(
            fixture.advance(to: .seconds(130)) == [
                .unsatisfied("staff", at: .seconds(130)), .unsatisfied("staff", beacon: .a(1), at: .seconds(130)),
            ])
        // The beacon is forgotten, so it cannot become `unknown`.
        fixture.stopped(at: .seconds(131))
        #expect(fixture.advance(to: .seconds(500)) == [.unknown("staff", at: .seconds(191))])
    }

    // MARK: Too many

    @Test(arguments: Implementation.allCases)
    func `P2: a beacon that does not fit is counted, and reported once per episode`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxBeacons: 2) { $0.perBeacon = true }
        fixture.sighted(.a(1), at: .zero)
        fixture.sighted(.a(2), at: .seconds(1))
        #expect(fixture.overflows == [])
        #expect(fixture.sighted(.a(3), at: .seconds(2)) == [])
        #expect(fixture.overflows == ["lobby"])
        fixture.sighted(.a(4), at: .seconds(3))
        #expect(fixture.overflows == [])
        #expect(fixture.monitoring.untrackedBeacons == 2)
        // No present beacon loses its place. The first one exits at its time, with the flag, and this ends the episode.
        #expect(fixture.advance(to: .seconds(30)) == [.unsatisfied(beacon: .a(1), at: .seconds(30))])
        #expect(fixture.events.map(\.diagnostics) == [.trackingLimitExceeded])
        #expect(fixture.sighted(.a(5), at: .seconds(30)) == [.satisfied(beacon: .a(5), at: .seconds(30))])
        #expect(fixture.events.map(\.diagnostics) == [[]])
        fixture.sighted(.a(6), at: .seconds(30))
        #expect(fixture.overflows == ["lobby"])
    }

    @Test(arguments: Implementation.allCases)
    func `P2: only events of the condition whose beacon did not fit have the flag`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, maxBeacons: 2, lobby: nil)
        fixture.add("guests", assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        fixture.add("staff", .anyB, assuming: .unsatisfied, at: .zero)
        fixture.sighted(.a(1), at: .zero)
        fixture.sighted(.a(2), at: .seconds(20))
        fixture.sighted(.a(3), at: .seconds(20))
        #expect(fixture.overflows == ["guests"])
        let staff = BeaconIdentity(uuid: .b, major: 1, minor: 1)
        #expect(fixture.sighted(staff, at: .seconds(21)) == [.satisfied("staff", at: .seconds(21))])
        #expect(fixture.events.map(\.diagnostics) == [[]])
        #expect(fixture.advance(to: .seconds(30)) == [.unsatisfied("guests", beacon: .a(1), at: .seconds(30))])
        #expect(fixture.events.map(\.diagnostics) == [.trackingLimitExceeded])
        #expect(fixture.sighted(.a(4), at: .seconds(31)) == [.satisfied("guests", beacon: .a(4), at: .seconds(31))])
        #expect(fixture.events.map(\.diagnostics) == [[]])
    }

    @Test(arguments: Implementation.allCases, [1, 2])
    func `P2: the episode ends when fewer than nine tenths of max_beacons are held`(
        _ implementation: Implementation, leaving: Int
    ) {
        var fixture = Fixture(implementation, maxBeacons: 10) { $0.perBeacon = true }
        for minor in 1...10 as ClosedRange<UInt16> {
            fixture.sighted(.a(minor), at: .seconds(minor <= leaving ? 0 : 1))
        }
        fixture.sighted(.a(11), at: .seconds(2))
        #expect(fixture.overflows == ["lobby"])
        #expect(fixture.advance(to: .seconds(30)).count == leaving)
        fixture.sighted(.a(3), at: .seconds(30))
        for minor in 21...23 as ClosedRange<UInt16> { fixture.sighted(.a(minor), at: .seconds(30)) }
        // 9 of 10 are nine tenths, 8 are fewer.
        #expect(fixture.overflows == (leaving == 1 ? [] : ["lobby"]))
    }

    @Test(arguments: Implementation.allCases)
    func `P2: pending beacons give way first, the one with the oldest sighting before others, ties by T3`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, maxBeacons: 3, lobby: nil)
        fixture.add("staff", assuming: .unsatisfied, at: .zero) {
            $0.perBeacon = true
            $0.enterCount = 2
        }
        for second in [0, 1] { fixture.sighted(.a(1), at: .seconds(second)) }
        // The last sightings of 2 and 3 have the same time, so 4 takes the place of 2, which is first in the order of
        // T3.
        fixture.sighted(.a(2), at: .seconds(2))
        fixture.sighted(.a(3), at: .seconds(2))
        fixture.sighted(.a(4), at: .seconds(3))
        #expect(fixture.overflows == ["staff"])
        // Beacon 3 kept its place, so this is its second sighting.
        #expect(fixture.sighted(.a(3), at: .seconds(4)) == [.satisfied("staff", beacon: .a(3), at: .seconds(4))])
        #expect(fixture.events.map(\.diagnostics) == [.trackingLimitExceeded])
        #expect(fixture.sighted(.a(4), at: .seconds(4)) == [.satisfied("staff", beacon: .a(4), at: .seconds(4))])
        #expect(fixture.sighted(.a(2), at: .seconds(4)) == [])
        #expect(fixture.monitoring.untrackedBeacons == 2)
        // All places belong to present beacons now, and each keeps its own.
        #expect(fixture.state("staff") == .satisfied)
    }

    @Test(arguments: Implementation.allCases)
    func `P2: an episode continues while a pending beacon gives way to another`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, maxBeacons: 1) {
            $0.perBeacon = true
            $0.enterCount = 2
        }
        for minor in 1...4 as ClosedRange<UInt16> {
            fixture.sighted(.a(minor), at: .seconds(1))
            #expect(fixture.overflows == (minor == 2 ? ["lobby"] : []))
        }
        #expect(fixture.monitoring.untrackedBeacons == 3)
    }

    // MARK: Visits

    @Test(arguments: Implementation.allCases)
    func `P3: a visit is the time from satisfied to unsatisfied`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.enterCount = 2 }
        fixture.sighted(rssi: -40, at: .zero)
        fixture.sighted(rssi: -61, at: .seconds(1))
        fixture.sighted(rssi: nil, at: .seconds(2))
        fixture.sighted(rssi: -80, at: .seconds(3))
        fixture.sighted(rssi: -70, at: .seconds(4))
        fixture.advance(to: .seconds(40))
        guard case .event(let event) = fixture.actions.first, case .visit(let visit) = fixture.actions.last else {
            Issue.record("\(fixture.actions)")
            return
        }
        #expect(fixture.actions.count == 2)
        #expect(visit.time == event.time && visit.date == event.date)
        #expect(visit.arrival == Fixture.start + .seconds(1))
        #expect(visit.departure == Fixture.start + .seconds(4))
        #expect(visit.sightings == 4)
        #expect(visit.strength == Visit.Strength(minimum: -80, sum: -211, count: 3, maximum: -61))
        #expect(visit.reason == .exitTimeout)
        #expect(visit.scope == .condition && visit.refinement == nil)
    }

    @Test(arguments: Implementation.allCases)
    func `P3: an outage does not end a visit`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(rssi: -60, at: .seconds(1))
        fixture.stopped(at: .seconds(10))
        fixture.advance(to: .seconds(70))
        #expect(fixture.visits.isEmpty)
        #expect(fixture.sighted(rssi: -50, at: .seconds(80)) == [.satisfied(at: .seconds(80))])
        fixture.advance(to: .seconds(110))
        #expect(fixture.visits.map(\.arrival) == [Fixture.start + .seconds(1)])
        #expect(fixture.visits.map(\.departure) == [Fixture.start + .seconds(80)])
        #expect(fixture.visits.map(\.sightings) == [2])
    }

    @Test(arguments: Implementation.allCases)
    func `P3: a second visit has no data of the first one`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(rssi: -60, at: .zero)
        fixture.sighted(rssi: nil, at: .seconds(100))
        fixture.advance(to: .seconds(130))
        #expect(fixture.visits.map(\.arrival) == [Fixture.start + .seconds(100)])
        #expect(fixture.visits.map(\.strength) == [nil])
        #expect(fixture.visits.map(\.sightings) == [1])
    }
}
