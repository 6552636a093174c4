import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct LeavingTests {
    @Test(arguments: Implementation.allCases)
    func `X1: a sighting of at least exit_rssi refreshes, a weaker one does not`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) {
            $0.enterRSSI = RSSI(dBm: -70)
            $0.exitRSSI = RSSI(dBm: -80)
        }
        fixture.sighted(rssi: -70, at: .zero)
        fixture.sighted(rssi: -80, at: .seconds(10))
        fixture.sighted(rssi: -81, at: .seconds(20))
        fixture.sighted(rssi: nil, at: .seconds(20))
        #expect(fixture.advance(to: .seconds(50)) == [.unsatisfied(at: .seconds(40))])
        #expect(fixture.events.map(\.lastSeen) == [Fixture.start + .seconds(10)])
    }

    @Test(arguments: Implementation.allCases)
    func `X1: if exit_rssi is not set, each matching sighting refreshes`(_ implementation: Implementation) {
        var fixture = Fixture(implementation) { $0.enterRSSI = RSSI(dBm: -70) }
        fixture.sighted(rssi: -70, at: .zero)
        fixture.sighted(rssi: -110, at: .seconds(10))
        fixture.sighted(rssi: nil, at: .seconds(20))
        #expect(fixture.advance(to: .seconds(60)) == [.unsatisfied(at: .seconds(50))])
    }

    @Test(arguments: Implementation.allCases)
    func `X1: exit_rssi must have an enter_rssi, and must not be above it`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.add("alone", at: .zero) { $0.exitRSSI = RSSI(dBm: -80) }
        #expect(fixture.refusal != nil)
        fixture.add("above", at: .zero) {
            $0.enterRSSI = RSSI(dBm: -80)
            $0.exitRSSI = RSSI(dBm: -79)
        }
        #expect(fixture.refusal != nil)
        fixture.add("equal", at: .zero) {
            $0.enterRSSI = RSSI(dBm: -80)
            $0.exitRSSI = RSSI(dBm: -80)
        }
        #expect(fixture.refusal == nil)
    }

    @Test(arguments: Implementation.allCases)
    func `X2: exits after exit_timeout without a sighting, not 1 ns earlier`(_ implementation: Implementation) {
        var fixture = Fixture(implementation)
        fixture.sighted(at: .zero)
        #expect(fixture.advance(to: .seconds(30) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(30)) == [.unsatisfied(at: .seconds(30))])
    }

    @Test(arguments: Implementation.allCases)
    func `X2: an unknown condition exits when an adapter has scanned for exit_timeout`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("lobby", at: .seconds(1))
        #expect(fixture.advance(to: .seconds(31) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(31)) == [.unsatisfied(at: .seconds(31))])
        #expect(fixture.events.map(\.lastSeen) == [nil])
        #expect(fixture.events.map(\.previous) == [nil])
        #expect(fixture.visits.isEmpty)
    }

    @Test(arguments: Implementation.allCases)
    func `X2: an exit has the last refresh, and a refinement only if it is the exit of a beacon`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation) { $0.perBeacon = true }
        fixture.sighted(.a(1), rssi: -50, at: .zero)
        fixture.sighted(.a(1), rssi: -55, at: .seconds(2))
        fixture.advance(to: .seconds(40))
        #expect(fixture.events.map(\.refinement) == [nil, .a(1)])
        #expect(fixture.events.map(\.lastSeen) == [Fixture.start + .seconds(2), Fixture.start + .seconds(2)])
        #expect(fixture.events.map(\.sighting?.rssi?.dBm) == [-55, -55])
        // `lastSeen` stays until the subject is forgotten.
        fixture.stopped(at: .seconds(50))
        fixture.advance(to: .seconds(110))
        #expect(fixture.events.map(\.lastSeen) == [Fixture.start + .seconds(2)])
    }

    @Test(arguments: Implementation.allCases)
    func `X3: an event is made only if the state changes`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, lobby: nil)
        fixture.add("present", assuming: .satisfied, at: .zero)
        fixture.add("absent", .anyB, assuming: .unsatisfied, at: .zero)
        #expect(fixture.sighted(at: .seconds(1)) == [])
        #expect(fixture.sighted(at: .seconds(2)) == [])
        #expect(fixture.advance(to: .seconds(100)) == [.unsatisfied("present", at: .seconds(32))])
    }
}
