import BluetoothLE
import Testing

@testable import AdapterScanning

private let first = DeviceAddress(0x00AA_0100_0001, kind: .public)
private let second = DeviceAddress(0x00AA_0100_0002, kind: .public)

/// Rule L7 at its sources: which controller a number is, as the kernel and bluetoothd tell it, and which are used.
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
        ManagementWorld.information(address: address.value)
    }

    // MARK: The management socket

    @Test
    func `L7: a number that is another controller's after messages were lost went, and came, and nothing is kept`() {
        let world = ManagementWorld()
        world.settle(information: information(first))
        _ = world.report()
        #expect(world.isListening)
        world.told = []
        world.session.resynchronize(at: world.now)
        world.collect()
        world.settle(information: information(second), handle: 2)
        #expect(addresses(world.told) == ["hci0 gone", "hci0 \(second)"])
        // The monitor was put up on the other one: this one needs its own.
        #expect(world.session.adapters.first?.monitor == 2)
        #expect(world.session.changes.map(\.address) == [second.value])
    }

    @Test func `L7: an adapter that is not listed by its address is asked who it is, and left alone`() {
        var options = ManagementOptions()
        options.adapters = AdapterSelection(["00:aa:01:00:00:01"])
        let world = ManagementWorld(options)
        world.answer(.success, .indexes([0, 1]))
        world.answer(.success, ManagementWorld.information(address: second.value, current: [.lowEnergy]))
        world.answer(.success, information(first))
        #expect(addresses(world.told) == ["hci1 \(first)"])
        #expect(world.open.map(\.index) == [1])
        // It is not switched on either.
        world.advance(by: .seconds(60))
        #expect(world.open.allSatisfy { $0.index == 1 })
        #expect(!world.report(of: 0))
        world.receive(.indexRemoved, of: 0)
        #expect(addresses(world.told) == ["hci1 \(first)"])
    }

    @Test func `L7: who takes over a number that was used by its address alone is left alone`() {
        var options = ManagementOptions()
        options.adapters = AdapterSelection(["00:AA:01:00:00:01"])
        let world = ManagementWorld(options)
        world.settle(information: information(first))
        _ = world.report()
        world.told = []
        world.session.resynchronize(at: world.now)
        world.collect()
        world.settle(information: information(second))
        #expect(addresses(world.told) == ["hci0 gone"])
        #expect(!world.isListening && world.session.adapters.first?.monitor == nil)
        #expect(world.told.last == .obstacles([.unavailable]))
        // The one that is used comes under another number.
        world.receive(.indexAdded, of: 1)
        world.settle(information: information(first), handle: 3)
        #expect(addresses(world.told) == ["hci0 gone", "hci1 \(first)"])
        #expect(world.isListening)
    }

    // MARK: bluetoothd

    @Test func `L7: adapters that changed places while bluetoothd was away went, and came`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter(0, "\(first)"), DBusDesk.adapter(1, "\(second)")])
        #expect(addresses(desk.changes()) == ["hci0 \(first)", "hci1 \(second)"])
        desk.owner(nil)
        #expect(addresses(desk.changes()) == [])
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter(0, "\(second)"), DBusDesk.adapter(1, "\(first)")])
        #expect(addresses(desk.changes()) == ["hci0 gone", "hci0 \(second)", "hci1 gone", "hci1 \(first)"])
        // Where bluetoothd says it without having been away, it is the same.
        desk.receive(.added(DBusDesk.adapter(0, "\(first)")))
        #expect(addresses(desk.changes()) == ["hci0 gone", "hci0 \(first)"])
    }

    @Test func `L7: over bluetoothd those that are listed by their addresses are used, under any number`() {
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
        // Nothing is asked of the one that took the name over.
        #expect(actions.allSatisfy { if case .call(.adapter(1, _, _)) = $0 { false } else { true } })
    }
}
