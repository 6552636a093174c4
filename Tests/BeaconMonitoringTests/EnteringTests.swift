import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct EnteringTests {
    @Test(arguments: Implementation.allCases)
    func `E1: enters at the enter_count-th qualifying sighting, with its date`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.enterCount = 3 }
        #expect(fixture.sighted(at: .seconds(1)) == [])
        #expect(fixture.sighted(at: .seconds(1)) == [])
        #expect(fixture.sighted(at: .seconds(4)) == [.satisfied(at: .seconds(4))])
        #expect(fixture.events.map(\.sighting?.time) == [Fixture.start + .seconds(4)])
    }

    @Test(arguments: Implementation.allCases)
    func `E1: a sighting that is exactly enter_window old does not count`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.enterCount = 2 }
        fixture.sighted(at: .seconds(1))
        #expect(fixture.sighted(at: .seconds(11)) == [])
        let within = Duration.seconds(21) - .nanosecond
        #expect(fixture.sighted(at: within) == [.satisfied(at: within)])
    }

    @Test(arguments: Implementation.allCases)
    func `E1: the sightings of all matching beacons count together`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.enterCount = 2 }
        fixture.sighted(.a(1), at: .seconds(1))
        #expect(fixture.sighted(.a(2), by: "hci1", at: .seconds(2)) == [.satisfied(at: .seconds(2))])
        #expect(fixture.events.map(\.refinement) == [.a(2)])
    }

    @Test(arguments: Implementation.allCases)
    func `E1: only sightings after the last change of the state count`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("lobby", at: .zero) {
            $0.enterCount = 2
            $0.exitTimeout = .seconds(5)
        }
        fixture.sighted(at: .seconds(4))
        #expect(fixture.sighted(at: .seconds(6)) == [.unsatisfied(at: .seconds(5))])
        #expect(fixture.sighted(at: .seconds(7)) == [.satisfied(at: .seconds(7))])
    }

    @Test(arguments: Implementation.allCases)
    func `E1: an unknown condition enters like an unsatisfied one`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("lobby", at: .zero) { $0.enterCount = 2 }
        #expect(fixture.sighted(at: .seconds(1)) == [])
        #expect(fixture.sighted(at: .seconds(2)) == [.satisfied(at: .seconds(2))])
    }

    @Test(arguments: Implementation.allCases)
    func `E2: a sighting below enter_rssi, or without an RSSI, does not qualify`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) {
            $0.enterCount = 2
            $0.enterRSSI = RSSI(dBm: -70)
        }
        fixture.sighted(rssi: -70, at: .seconds(1))
        #expect(fixture.sighted(rssi: -71, at: .seconds(2)) == [])
        #expect(fixture.sighted(rssi: nil, at: .seconds(2)) == [])
        #expect(fixture.sighted(rssi: -70, at: .seconds(3)) == [.satisfied(at: .seconds(3))])
        var unset = Fixture(implementation)
        #expect(unset.sighted(rssi: nil, at: .seconds(1)) == [.satisfied(at: .seconds(1))])
    }

    @Test(arguments: Implementation.allCases)
    func `E2: a sighting of another identity does not match`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add(
            "major", .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: 1)), assuming: .unsatisfied,
            at: .zero)
        fixture.add("minor", .a(2), assuming: .unsatisfied, at: .zero)
        let foreign = BeaconIdentity(uuid: .b, major: 1, minor: 2)
        #expect(fixture.sighted(foreign, at: .seconds(1)) == [])
        #expect(fixture.sighted(.a(2, major: 2), at: .seconds(1)) == [])
        #expect(fixture.sighted(.a(1, major: 1), at: .seconds(1)) == [.satisfied("major", at: .seconds(1))])
        #expect(fixture.sighted(.a(2, major: 1), at: .seconds(1)) == [.satisfied("minor", at: .seconds(1))])
    }

    @Test(arguments: Implementation.allCases)
    func `E3: an entry has the refinement, also if the condition specifies UUID, major and minor`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation)
        fixture.add("one", .a(7), assuming: .unsatisfied, at: .zero)
        fixture.sighted(.a(7), at: .seconds(1))
        #expect(fixture.events.map(\.refinement) == [.a(7), .a(7)])
    }

    @Test(arguments: Implementation.allCases)
    func `E4: events of one sighting are in the order of identifiers, a condition before its beacon`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.addMonitor("yard")
        fixture.add("\u{e9}", assuming: .unsatisfied, at: .zero)
        fixture.add("b", .a(1), monitor: "yard", assuming: .unsatisfied, at: .zero) { $0.perBeacon = true }
        fixture.add(
            "a", .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: 1)), assuming: .unsatisfied, at: .zero)
        fixture.add("e\u{301}", assuming: .unsatisfied, at: .zero)
        let time = Duration.seconds(1)
        #expect(
            fixture.sighted(at: time) == [
                .satisfied("a", at: time), .satisfied("b", at: time), .satisfied("b", beacon: .a(1), at: time),
                .satisfied("e\u{301}", at: time), .satisfied("\u{e9}", at: time),
            ])
        #expect(fixture.events.map(\.monitor) == ["site", "yard", "yard", "site", "site"])
    }
}
