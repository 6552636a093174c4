import BluetoothLE
import Testing

@testable import AdapterScanning

private let first = DeviceAddress(0x00AA_0100_0001, kind: .public)
private let second = DeviceAddress(0x00AA_0100_0002, kind: .public)

@Suite struct AdapterSelectionTests {
    @Test(arguments: [
        ("hci0", 0), ("hci12", 12), ("hci", nil), ("hci01", nil), ("hci-1", nil), ("wlan0", nil), ("hci99999", nil),
    ])
    func `only the kernel's exact name of an adapter, such as hci12, gives its number`(name: String, number: Int?) {
        #expect(AdapterSelection.number(of: name) == number)
    }

    @Test func `an empty list selects all adapters; an invalid name or a zero address selects none`() {
        #expect(AdapterSelection([]) == .all)
        #expect(AdapterSelection.all.includes(7, address: nil))
        for entry in ["wlan0", "", "00:00:00:00:00:00"] {
            let selection = AdapterSelection([entry])
            #expect(!selection.includes(0, address: nil) && !selection.includes(0, address: first))
            #expect(!selection.includes(0, address: DeviceAddress(0, kind: .public)))
            #expect(!selection.mayInclude(0))
        }
    }

    @Test(arguments: ["00:AA:01:00:00:01", "00:aa:01:00:00:01", "00-AA-01-00-00-01", "00AA01000001"])
    func `L7: a listed address selects its controller under any number, and no other controller`(entry: String) {
        let selection = AdapterSelection([entry])
        #expect(selection.includes(0, address: first) && selection.includes(9, address: first))
        #expect(selection.includes(0, address: DeviceAddress(first.value, kind: .unspecified)))
        #expect(!selection.includes(0, address: second) && !selection.includes(0, address: nil))
        #expect(selection.mayInclude(0))
    }

    @Test func `a name and an address of one adapter select it, and also another adapter that gets the name`() {
        let selection = AdapterSelection(["hci0", "00:AA:01:00:00:01"])
        #expect(selection.includes(0, address: first) && selection.includes(1, address: first))
        #expect(selection.includes(0, address: second) && selection.includes(0, address: nil))
        #expect(!selection.includes(1, address: second))
    }
}

/// Rule L7 in the supervisor: which controller a number means, and which adapters are used.
@Suite struct ScanSupervisorAdapterTests {
    private func world(_ adapters: [String] = []) throws -> ScanWorld {
        var options = ScanSupervisor.Options()
        options.backends = [.management]
        options.deafAfter = nil
        options.adapters = AdapterSelection(adapters)
        let world = try ScanWorld(options)
        try world.supervisor.start(world.handler)
        return world
    }

    private func appear(_ world: ScanWorld, _ number: Int, _ address: DeviceAddress?) {
        world.scanners[.management]?.say(.appeared(adapter: number, controller: "a test's", address: address))
    }

    @Test func `L7: if the address of a number changes, one adapter disappears and another one appears`() throws {
        let world = try world()
        appear(world, 0, first)
        world.scanners[.management]?.listen()
        world.scanners[.management]?.report()
        _ = world.handler.changes()
        world.clock.now = at(1)
        appear(world, 0, second)
        #expect(world.handler.changes() == ["stopped hci0 1", "disappeared hci0 1", "appeared hci0 1"])
        // The new adapter has none of the previous adapter's state.
        let adapter = try #require(world.supervisor.status.adapters.first)
        #expect(adapter.address == second && adapter.reports == 0 && adapter.lastReport == nil)
        #expect(world.log.contains("warning: hci0 is gone: hci0 is now \(second), and was \(first)"))
        // The same address again must not be reported as a change.
        appear(world, 0, second)
        #expect(world.handler.changes() == [])
    }

    @Test func `L7: an adapter that is listed by its address is used under any name`() throws {
        let world = try world(["00:aa:01:00:00:01"])
        appear(world, 0, second)
        world.scanners[.management]?.listen(0)
        world.scanners[.management]?.report(on: 0)
        world.scanners[.management]?.say(.lost(adapter: 0, count: 3, since: at(0)))
        #expect(world.handler.notes == [])
        appear(world, 1, first)
        world.scanners[.management]?.listen(1)
        world.scanners[.management]?.report(on: 1)
        #expect(world.handler.notes == ["appeared hci1 0", "listening hci1 0", "report hci1 0"])
        #expect(world.supervisor.status.adapters.map(\.number) == [1])
    }

    @Test(arguments: [true, false])
    func `L7: a new controller with the name of one listed by address is not used`(isSaidToBeGone: Bool) throws {
        let world = try world(["00:AA:01:00:00:01"])
        appear(world, 0, first)
        world.scanners[.management]?.listen()
        _ = world.handler.changes()
        world.clock.now = at(1)
        if isSaidToBeGone { world.scanners[.management]?.say(.disappeared(adapter: 0)) }
        appear(world, 0, second)
        world.scanners[.management]?.listen()
        world.scanners[.management]?.report()
        #expect(world.handler.notes == ["stopped hci0 1", "disappeared hci0 1"])
        // The listed controller gets the name again.
        world.scanners[.management]?.say(.disappeared(adapter: 0))
        appear(world, 0, first)
        #expect(world.handler.changes().suffix(1) == ["appeared hci0 1"])
    }

    @Test func `an adapter that reports no address is not used if only an address is listed`() throws {
        let world = try world(["00:AA:01:00:00:01"])
        appear(world, 0, nil)
        world.scanners[.management]?.listen()
        world.scanners[.management]?.report()
        #expect(world.handler.notes == [])
    }
}
