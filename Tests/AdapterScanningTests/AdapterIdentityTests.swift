import BluetoothLE
import Testing

@testable import AdapterScanning

private let first = DeviceAddress(0x00AA_0100_0001, kind: .public)
private let second = DeviceAddress(0x00AA_0100_0002, kind: .public)

/// Rule L7 in the management and D-Bus sessions: the address that the kernel or bluetoothd reports decides which
/// controller an adapter number means, and which adapters are used.
@Suite struct AdapterIdentityTests {
    private func addresses(_ changes: [ScanChange]) -> [String] {
        changes.compactMap { change in
            switch change {
            case .appeared(let adapter, _, let address): "hci\(adapter) \(address.map { "\($0)" } ?? "-")"
            case .disappeared(let adapter): "hci\(adapter) gone"
            default: nil
            }
        }
    }

    private func information(_ address: DeviceAddress) -> ManagementEvent.Result {
        ManagementFixture.information(address: address.value)
    }

    // MARK: The management socket

    @Test
    func `L7: a number with another address after a loss is a new adapter; the old one disappears with its state`() {
        let fixture = ManagementFixture()
        fixture.settle(information: information(first))
        _ = fixture.report()
        #expect(fixture.isListening)
        fixture.reported = []
        fixture.session.resynchronize(at: fixture.now)
        fixture.collect()
        fixture.settle(information: information(second), handle: 2)
        #expect(addresses(fixture.reported) == ["hci0 gone", "hci0 \(second)"])
        // The monitor was added to the other controller, so this one must get its own.
        #expect(fixture.session.adapters.first?.monitor == 2)
        #expect(fixture.session.changes.map(\.address) == [second.value])
    }

    @Test func `L7: the session asks an adapter for its address, and leaves it alone if the address is not listed`() {
        var options = ManagementOptions()
        options.adapters = AdapterSelection(["00:aa:01:00:00:01"])
        let fixture = ManagementFixture(options)
        fixture.answer(.success, .indexes([0, 1]))
        fixture.answer(.success, ManagementFixture.information(address: second.value, current: [.lowEnergy]))
        fixture.answer(.success, information(first))
        #expect(addresses(fixture.reported) == ["hci1 \(first)"])
        #expect(fixture.open.map(\.index) == [1])
        // The adapter is off, and it is not switched on either.
        fixture.advance(by: .seconds(60))
        #expect(fixture.open.allSatisfy { $0.index == 1 })
        #expect(!fixture.report(of: 0))
        fixture.receive(.indexRemoved, of: 0)
        #expect(addresses(fixture.reported) == ["hci1 \(first)"])
    }

    @Test func `L7: another controller that gets the number of an adapter used only by its address is left alone`() {
        var options = ManagementOptions()
        options.adapters = AdapterSelection(["00:AA:01:00:00:01"])
        let fixture = ManagementFixture(options)
        fixture.settle(information: information(first))
        _ = fixture.report()
        fixture.reported = []
        fixture.session.resynchronize(at: fixture.now)
        fixture.collect()
        fixture.settle(information: information(second))
        #expect(addresses(fixture.reported) == ["hci0 gone"])
        #expect(!fixture.isListening && fixture.session.adapters.first?.monitor == nil)
        #expect(fixture.reported.last == .obstacles([.unavailable]))
        // The selected controller appears under another number.
        fixture.receive(.indexAdded, of: 1)
        fixture.settle(information: information(first), handle: 3)
        #expect(addresses(fixture.reported) == ["hci0 gone", "hci1 \(first)"])
        #expect(fixture.isListening)
    }

    // MARK: bluetoothd

    @Test func `L7: adapters that swapped numbers while bluetoothd was absent disappear and appear again`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter(0, "\(first)"), DBusDesk.adapter(1, "\(second)")])
        #expect(addresses(desk.changes()) == ["hci0 \(first)", "hci1 \(second)"])
        desk.owner(nil)
        #expect(addresses(desk.changes()) == [])
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter(0, "\(second)"), DBusDesk.adapter(1, "\(first)")])
        #expect(addresses(desk.changes()) == ["hci0 gone", "hci0 \(second)", "hci1 gone", "hci1 \(first)"])
        // The result is the same if bluetoothd reports another address without having been absent.
        desk.receive(.added(DBusDesk.adapter(0, "\(first)")))
        #expect(addresses(desk.changes()) == ["hci0 gone", "hci0 \(first)"])
    }

    @Test func `L7: over bluetoothd, adapters with listed addresses are used, under any number`() {
        let desk = DBusDesk(adapters: AdapterSelection(["00:AA:01:00:00:01"]))
        desk.join()
        desk.list([DBusDesk.adapter(0, "\(second)"), DBusDesk.adapter(1, "\(first)")])
        #expect(addresses(desk.changes()) == ["hci1 \(first)"])
        desk.receive(.added(DBusDesk.adapter(2, "00:AA:01:00:00:03")))
        #expect(desk.take() == [])
        desk.owner(nil)
        desk.owner(DBusDesk.owner)
        _ = desk.changes()
        desk.owner(nil)
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter(1, "\(second)"), DBusDesk.adapter(0, "\(first)")])
        let actions = desk.take()
        let changes = actions.compactMap { if case .change(let change) = $0 { change } else { nil } }
        #expect(addresses(changes) == ["hci1 gone", "hci0 \(first)"])
        // No request must go to the other controller, which now has the number 1.
        #expect(actions.allSatisfy { if case .call(.adapter(1, _, _)) = $0 { false } else { true } })
    }
}
