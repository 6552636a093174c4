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
    private func fixture(_ adapters: [String] = []) throws -> ScanFixture {
        var options = ScanSupervisor.Options()
        options.backends = [.management]
        options.deafAfter = nil
        options.adapters = AdapterSelection(adapters)
        let fixture = try ScanFixture(options)
        try fixture.supervisor.start(fixture.handler)
        return fixture
    }

    private func appear(_ fixture: ScanFixture, _ number: Int, _ address: DeviceAddress?) {
        fixture.scanners[.management]?.say(.appeared(adapter: number, controller: "a test's", address: address))
    }

    @Test func `L7: if the address of a number changes, one adapter disappears and another one appears`() throws {
        let fixture = try fixture()
        appear(fixture, 0, first)
        fixture.scanners[.management]?.listen()
        fixture.scanners[.management]?.report()
        _ = fixture.handler.changes()
        fixture.clock.now = at(1)
        appear(fixture, 0, second)
        #expect(fixture.handler.changes() == ["stopped hci0 1", "disappeared hci0 1", "appeared hci0 1"])
        // The new adapter has none of the previous adapter's state.
        let adapter = try #require(fixture.supervisor.status.adapters.first)
        #expect(adapter.address == second && adapter.reports == 0 && adapter.lastReport == nil)
        #expect(fixture.log.contains("warning: hci0 is gone: hci0 is now \(second), and was \(first)"))
        // The same address again must not be reported as a change.
        appear(fixture, 0, second)
        #expect(fixture.handler.changes() == [])
    }

    @Test func `L7: an adapter that is listed by its address is used under any name`() throws {
        let fixture = try fixture(["00:aa:01:00:00:01"])
        appear(fixture, 0, second)
        fixture.scanners[.management]?.listen(0)
        fixture.scanners[.management]?.report(on: 0)
        fixture.scanners[.management]?.say(.lost(adapter: 0, count: 3, since: at(0)))
        #expect(fixture.handler.notes == [])
        appear(fixture, 1, first)
        fixture.scanners[.management]?.listen(1)
        fixture.scanners[.management]?.report(on: 1)
        #expect(fixture.handler.notes == ["appeared hci1 0", "listening hci1 0", "report hci1 0"])
        #expect(fixture.supervisor.status.adapters.map(\.number) == [1])
    }

    @Test(arguments: [true, false])
    func `L7: a new controller with the name of one listed by address is not used`(isReportedGone: Bool) throws {
        let fixture = try fixture(["00:AA:01:00:00:01"])
        appear(fixture, 0, first)
        fixture.scanners[.management]?.listen()
        _ = fixture.handler.changes()
        fixture.clock.now = at(1)
        if isReportedGone { fixture.scanners[.management]?.say(.disappeared(adapter: 0)) }
        appear(fixture, 0, second)
        fixture.scanners[.management]?.listen()
        fixture.scanners[.management]?.report()
        #expect(fixture.handler.notes == ["stopped hci0 1", "disappeared hci0 1"])
        // The listed controller gets the name again.
        fixture.scanners[.management]?.say(.disappeared(adapter: 0))
        appear(fixture, 0, first)
        #expect(fixture.handler.changes().suffix(1) == ["appeared hci0 1"])
    }

    @Test func `an adapter that reports no address is not used if only an address is listed`() throws {
        let fixture = try fixture(["00:AA:01:00:00:01"])
        appear(fixture, 0, nil)
        fixture.scanners[.management]?.listen()
        fixture.scanners[.management]?.report()
        #expect(fixture.handler.notes == [])
    }
}
