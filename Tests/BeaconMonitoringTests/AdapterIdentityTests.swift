import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

/// Adapters are identified by address or name (rule L7). Here `hci0@1` is the controller 00:AA:01:00:00:01 with the
/// name `hci0`.
@Suite struct AdapterIdentityTests {
    private typealias Site = RestartTests.Site

    @Test(arguments: Implementation.allCases)
    func `L7: another controller that gets the name of a first one has none of its holds`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, listening: ["hci0@1"])
        fixture.sighted(by: "hci0@1", at: .zero)
        // Both controllers are unplugged. The second one returns first, under the name of the first. The 40 s in which
        // it scans do not count for the hold of the first.
        fixture.stopped("hci0@1", at: .seconds(1))
        fixture.perform(.left("hci0"))
        fixture.started("hci0@2", at: .seconds(10))
        #expect(fixture.advance(to: .seconds(50)) == [])
        #expect(fixture.state() == .satisfied)
        // L2 applies in the end, because the only holder has been off for `outage_timeout`.
        #expect(fixture.advance(to: .seconds(61)) == [.unknown(at: .seconds(61))])
    }

    @Test(arguments: Implementation.allCases)
    func `L7: a controller keeps its holds under another name`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["hci0@1"])
        fixture.sighted(by: "hci0@1", at: .zero)
        fixture.stopped("hci0@1", at: .seconds(1))
        fixture.perform(.left("hci0"))
        fixture.started("hci1@1", at: .seconds(10))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0"])
        #expect(fixture.adapterChanges.map(\.address?.description) == ["00:AA:01:00:00:01"])
        #expect(fixture.advance(to: .seconds(39) - .nanosecond) == [])
        #expect(fixture.advance(to: .seconds(39)) == [.unsatisfied(at: .seconds(39))])
    }

    @Test(arguments: Implementation.allCases)
    func `L7: in lines an adapter has its first name; a later adapter of this name has its address appended`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, listening: ["hci0@1"])
        fixture.stopped("hci0@1", at: .seconds(1))
        fixture.perform(.left("hci0"))
        fixture.started("hci0@2", at: .seconds(2))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0-00AA01000002"])
        // The controllers change their names once more. Each keeps its name in lines.
        fixture.stopped("hci0@2", at: .seconds(3))
        fixture.perform(.left("hci0"))
        fixture.started("hci1@2", at: .seconds(4))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0-00AA01000002"])
        fixture.started("hci0@1", at: .seconds(5))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0"])
    }

    @Test(arguments: Implementation.allCases, ["hci0", "hci0@0"])
    func `L7: without an address, the name decides among adapters without one; if none has it, it is new`(
        _ implementation: Implementation, _ bare: String
    ) {
        var fixture = Fixture(implementation, listening: ["hci0@1"])
        fixture.sighted(by: "hci0@1", at: .zero)
        fixture.stopped("hci0@1", at: .seconds(1))
        fixture.started(bare, at: .seconds(2))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0-2"])
        #expect(fixture.adapterChanges.map(\.address) == [nil])
        // It stops and starts again: it is the same adapter.
        fixture.stopped(bare, at: .seconds(3))
        fixture.started("hci0", at: .seconds(4))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0-2"])
        #expect(fixture.advance(to: .seconds(50)) == [])
    }

    @Test(arguments: Implementation.allCases)
    func `L7: an adapter known by its name gets the first address that appears under this name`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, listening: ["hci0"])
        fixture.sighted(by: "hci0", at: .zero)
        fixture.sighted(by: "hci0@1", at: .seconds(1))
        #expect(fixture.adapterChanges.isEmpty)
        // The second address under this name belongs to another adapter.
        fixture.started("hci0@2", at: .seconds(3))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0-00AA01000002"])
    }

    @Test(arguments: Implementation.allCases)
    func `L7: an address that two controllers have at the same time does not count`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["hci0@1"])
        fixture.sighted(by: "hci0@1", at: .zero)
        fixture.started("hci1@1", at: .seconds(1))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci1"])
        #expect(fixture.adapterChanges.map(\.address) == [nil])
        // From now on, only their names distinguish them, whatever address an input has.
        fixture.sighted(by: "hci1@1", at: .seconds(2))
        #expect(fixture.advance(to: .seconds(30)) == [])
        fixture.stopped("hci1@1", at: .seconds(31))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci1"])
        fixture.perform(.left("hci1"))
        fixture.started("hci2@1", at: .seconds(31))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci2"])
    }

    @Test(arguments: Implementation.allCases)
    func `L7: an address that leaves one name and appears under another belongs to one controller`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, listening: ["hci0@1"])
        fixture.perform(.left("hci0"))
        fixture.received(by: "hci1@1", at: .seconds(1))
        #expect(fixture.adapterChanges.isEmpty)
    }

    @Test(arguments: Implementation.allCases)
    func `L7: an address identifies an adapter only within one gateway`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["lobby/hci0@1"])
        fixture.started("yard/hci1@1", at: .seconds(1))
        #expect(fixture.adapterChanges.map(\.adapter) == ["yard/hci1"])
        #expect(fixture.adapterChanges.map(\.address?.description) == ["00:AA:01:00:00:01"])
        fixture.received(by: "lobby/hci7@1", at: .seconds(2))
        #expect(fixture.adapterChanges.map(\.address) == [nil])
    }

    @Test(arguments: Implementation.allCases)
    func `L7: the name of an adapter is free when it is forgotten, not 1 ns earlier`(
        _ implementation: Implementation
    ) {
        var fixture = Fixture(implementation, forgetAfter: .seconds(100), listening: ["hci0@1"])
        fixture.stopped("hci0@1", at: .seconds(1))
        fixture.perform(.left("hci0"))
        var other = fixture
        other.advance(to: .seconds(101) - .nanosecond)
        other.started("hci0@2", at: .seconds(101) - .nanosecond)
        #expect(other.adapterChanges.map(\.adapter) == ["hci0-00AA01000002"])
        // The model is a class, so it cannot be copied: only the engine can continue here.
        guard implementation == .engine else { return }
        fixture.advance(to: .seconds(101))
        fixture.started("hci0@2", at: .seconds(101))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0"])
        // When the first controller returns, it is named like a new adapter: the name in lines is its present name.
        fixture.started("hci1@1", at: .seconds(102))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci1"])
    }

    @Test(arguments: Implementation.allCases)
    func `L7: the name of a removed adapter is free again`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, listening: ["hci0@1"])
        fixture.removed("hci0@1", at: .seconds(1))
        fixture.perform(.left("hci0"))
        fixture.started("hci0@2", at: .seconds(2))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0"])
        fixture.perform(.left("hci0"))
        fixture.started("hci0@1", at: .seconds(3))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci0-00AA01000001"])
    }

    @Test(arguments: Implementation.allCases)
    func `T3: adapters become deaf in the order of their names in lines`(_ implementation: Implementation) {
        var fixture = Fixture(implementation, deafAfter: .seconds(10), listening: ["hci1@1"])
        fixture.stopped("hci1@1", at: .seconds(1))
        fixture.perform(.left("hci1"))
        fixture.started("hci5@3", at: .seconds(2))
        // By their present names, `hci0` would be first.
        fixture.started("hci0@1", at: .seconds(2))
        fixture.started("hci1@2", at: .seconds(2))
        fixture.advance(to: .seconds(12))
        #expect(fixture.adapterChanges.map(\.adapter) == ["hci1", "hci1-00AA01000002", "hci5"])
    }

    // MARK: Restarts

    @Test func `L7: after a restart, a controller keeps its holds, and another one under its name has none`() throws {
        for (key, ends) in [("hci0@2", false), ("hci3@1", true)] {
            var site = try Site()
            site.perform(.listening(.started, "hci0@1", reason: nil, at: Fixture.start))
            site.perform(.sighted("hci0@1", .a(1), RSSI(dBm: -60), at: Fixture.start + .seconds(1)))
            #expect(site.state == .satisfied)
            try site.restart(at: .seconds(2))
            site.perform(.listening(.started, key, reason: nil, at: Fixture.start + .seconds(2)))
            #expect(site.advance(to: .seconds(32)) == (ends ? [.unsatisfied(at: .seconds(32))] : []))
        }
    }

    @Test func `L7: adapters keep their names in lines after a restart, also those without holds`() throws {
        var site = try Site()
        for key in ["hci0@1", "hci0@2", "hci0"] {
            site.perform(.left("hci0"))
            site.perform(.listening(.started, key, reason: nil, at: Fixture.start))
            site.perform(.listening(.stopped(since: nil), key, reason: nil, at: Fixture.start))
        }
        for second in [1, 2] {
            try site.restart(at: .seconds(second))
            var names: [String] = []
            for key in ["hci4", "hci0", "hci5@2", "hci9@1"] {
                let time = Fixture.start + .seconds(second)
                site.perform(.listening(.started, key, reason: nil, at: time))
                names += site.actions.compactMap { if case .adapter(let change) = $0 { change.adapter } else { nil } }
                site.perform(.listening(.stopped(since: nil), key, reason: nil, at: time))
            }
            #expect(names == ["hci4", "hci0-2", "hci0-00AA01000002", "hci0"])
        }
    }

    @Test func `N4: after a restart, a missing adapter that held nothing does not raise a flag`() throws {
        var site = try Site()
        site.perform(.listening(.started, "hci0@1", reason: nil, at: Fixture.start))
        site.perform(.listening(.started, "hci1@2", reason: nil, at: Fixture.start))
        try site.restart(at: .seconds(1))
        site.perform(.listening(.started, "hci1@2", reason: nil, at: Fixture.start + .seconds(1)))
        site.perform(.sighted("hci1@2", .a(1), nil, at: Fixture.start + .seconds(2)))
        #expect(site.events.map(\.diagnostics) == [[]])
    }

    @Test func `L7: an adapter stored by an older version gets the first address under its name`() throws {
        var site = try Site()
        site.perform(.listening(.started, "hci0", reason: nil, at: Fixture.start))
        site.perform(.sighted("hci0", .a(1), nil, at: Fixture.start + .seconds(1)))
        try site.restart(at: .seconds(2))
        site.perform(.listening(.started, "hci0@1", reason: nil, at: Fixture.start + .seconds(2)))
        #expect(site.advance(to: .seconds(32)) == [.unsatisfied(at: .seconds(32))])
    }

    @Test func `adapters beyond the limit are refused, and known adapters do not change`() throws {
        var directory = AdapterDirectory()
        for number in 1...MonitorEngine.adaptersMax {
            #expect(
                directory.identify("hci0", DeviceAddress(UInt64(number), kind: .public), forgotten: []) == number - 1)
        }
        #expect(directory.identify("hci0", DeviceAddress(0xFFFF, kind: .public), forgotten: []) == nil)
        #expect(directory.identify("hci1", nil, forgotten: []) == nil)
        #expect(directory.identify("hci9", DeviceAddress(7, kind: .random), forgotten: []) == 6)
        #expect(Set(directory.entries.map(\.name)).count == MonitorEngine.adaptersMax)
    }
}
