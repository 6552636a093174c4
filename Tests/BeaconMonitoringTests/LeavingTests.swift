import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct LeavingTests {
    @Test(arguments: Implementation.allCases)
    func `X1: a sighting of at least exit_rssi refreshes, a weaker one does not`(_ implementation: Implementation) {
        var world = World(implementation) {
            $0.enterRSSI = RSSI(dBm: -70)
            $0.exitRSSI = RSSI(dBm: -80)
        }
        world.sighted(rssi: -70, at: .zero)
        world.sighted(rssi: -80, at: .seconds(10))
        world.sighted(rssi: -81, at: .seconds(20))
        world.sighted(rssi: nil, at: .seconds(20))
        #expect(world.advance(to: .seconds(50)) == [.unsatisfied(at: .seconds(40))])
        #expect(world.events.map(\.lastSeen) == [World.start + .seconds(10)])
    }

    @Test(arguments: Implementation.allCases)
    func `X1: if exit_rssi is not set, each matching sighting refreshes`(_ implementation: Implementation) {
        var world = World(implementation) { $0.enterRSSI = RSSI(dBm: -70) }
        world.sighted(rssi: -70, at: .zero)
        world.sighted(rssi: -110, at: .seconds(10))
        world.sighted(rssi: nil, at: .seconds(20))
        #expect(world.advance(to: .seconds(60)) == [.unsatisfied(at: .seconds(50))])
    }

    @Test(arguments: Implementation.allCases)
    func `X1: exit_rssi must have an enter_rssi, and must not be above it`(_ implementation: Implementation) {
        var world = World(implementation)
        world.add("alone", at: .zero) { $0.exitRSSI = RSSI(dBm: -80) }
        #expect(world.refusal != nil)
        world.add("above", at: .zero) {
            $0.enterRSSI = RSSI(dBm: -80)
            $0.exitRSSI = RSSI(dBm: -79)
        }
        #expect(world.refusal != nil)
        world.add("equal", at: .zero) {
            $0.enterRSSI = RSSI(dBm: -80)
            $0.exitRSSI = RSSI(dBm: -80)
        }
        #expect(world.refusal == nil)
    }

    @Test(arguments: Implementation.allCases)
    func `X2: exits after exit_timeout without a sighting, not 1 ns earlier`(_ implementation: Implementation) {
        var world = World(implementation)
        world.sighted(at: .zero)
        #expect(world.advance(to: .seconds(30) - .nanosecond) == [])
        #expect(world.advance(to: .seconds(30)) == [.unsatisfied(at: .seconds(30))])
    }

    @Test(arguments: Implementation.allCases)
    func `X2: an unknown condition exits when an adapter has scanned for exit_timeout`(
        _ implementation: Implementation
    ) {
        var world = World(implementation, lobby: nil)
        world.add("lobby", at: .seconds(1))
        #expect(world.advance(to: .seconds(31) - .nanosecond) == [])
        #expect(world.advance(to: .seconds(31)) == [.unsatisfied(at: .seconds(31))])
        #expect(world.events.map(\.lastSeen) == [nil])
        #expect(world.events.map(\.previous) == [nil])
        #expect(world.visits.isEmpty)
    }

    @Test(arguments: Implementation.allCases)
    func `X2: an exit has the last refresh, and a refinement only if it is the exit of a beacon`(
        _ implementation: Implementation
    ) {
        var world = World(implementation) { $0.perBeacon = true }
        world.sighted(.a(1), rssi: -50, at: .zero)
        world.sighted(.a(1), rssi: -55, at: .seconds(2))
        world.advance(to: .seconds(40))
        #expect(world.events.map(\.refinement) == [nil, .a(1)])
        #expect(world.events.map(\.lastSeen) == [World.start + .seconds(2), World.start + .seconds(2)])
        #expect(world.events.map(\.sighting?.rssi?.dBm) == [-55, -55])
        // `lastSeen` stays until the subject is forgotten.
        world.stopped(at: .seconds(50))
        world.advance(to: .seconds(110))
        #expect(world.events.map(\.lastSeen) == [World.start + .seconds(2)])
    }

    @Test(arguments: Implementation.allCases)
    func `X3: an event is made only if the state changes`(_ implementation: Implementation) {
        var world = World(implementation, lobby: nil)
        world.add("present", assuming: .satisfied, at: .zero)
        world.add("absent", .anyB, assuming: .unsatisfied, at: .zero)
        #expect(world.sighted(at: .seconds(1)) == [])
        #expect(world.sighted(at: .seconds(2)) == [])
        #expect(world.advance(to: .seconds(100)) == [.unsatisfied("present", at: .seconds(32))])
    }
}
