import Testing

@testable import AdapterScanning

/// The session without a bus: its advertisement monitors, the power of adapters, and the requests that undo its
/// changes.
@Suite struct DBusMonitorTests {
    @Test func `discovery starts without the monitor if that is not activated within 3 s, not 1 ns earlier`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter(monitors: true)])
        desk.answer()
        desk.wait(DBusAdapter.activationMax - .nanoseconds(1))
        #expect(desk.requests() == [])
        desk.wait(.nanoseconds(1))
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `a monitor survives power off and on, and is registered again when bluetoothd restarts`() {
        let desk = DBusDesk.listening(monitors: true)
        desk.adapter(powered: false, discovering: false)
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
        desk.owner(nil)
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter(monitors: true)])
        #expect(desk.requests() == [.registerMonitor])
    }

    @Test func `a passive adapter scans while it is on with an active monitor; widen adds discovery, once`() {
        let desk = DBusDesk.listening(isPassive: true, monitors: true)
        desk.session.monitorReleased(0, at: desk.now, into: &desk.actions)
        #expect(DBusSessionTests.stopped(desk.changes(), at: desk.now))
        desk.wait(.milliseconds(100))
        desk.answer()
        desk.session.monitorActivated(0, at: desk.now, into: &desk.actions)
        #expect(desk.isListening)
        desk.adapter(powered: false)
        #expect(!desk.isListening)
        desk.adapter(powered: true)
        #expect(desk.isListening)
        _ = desk.take()
        var outcome = desk.session.take(.widen, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome == .taken)
        desk.discover()
        #expect(desk.isListening)
        outcome = desk.session.take(.widen, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome != .taken)
    }

    @Test func `a power cycle switches on before off is reported, and again if switching on fails`() {
        let desk = DBusDesk.listening(mayPowerCycle: true)
        let outcome = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome == .taken)
        desk.answer()
        #expect(desk.actions.contains { if case .call(.adapter(_, .setPowered(true), _)) = $0 { true } else { false } })
        desk.adapter(powered: false, discovering: false)
        desk.answer("org.bluez.Error.Busy")
        desk.wait(.milliseconds(100))
        desk.answer()
        desk.adapter(powered: true)
        desk.discover()
        #expect(desk.isListening)
    }

    @Test func `the farewell stops discovery or restores the power, and unregisters the monitor`() {
        let desk = DBusDesk.listening(mayPowerCycle: true, monitors: true)
        let requests = { (session: DBusSession) -> [DBusRequest.AdapterRequest] in
            session.farewell.compactMap { if case .adapter(_, let request, _) = $0 { request } else { nil } }
        }
        #expect(requests(desk.session) == [.stopDiscovery, .unregisterMonitor])
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        #expect(requests(desk.session) == [.setPowered(true), .unregisterMonitor])
    }

    @Test func `a session has at most 64 adapters, and a removed one makes room for another`() {
        let desk = DBusDesk()
        desk.join()
        desk.list((0..<70).map { DBusDesk.adapter($0) })
        #expect(desk.session.adapters.count == DBusSession.adaptersMax)
        desk.receive(.removed(.adapter(3), interfaces: [DBusName.adapter]))
        desk.receive(.added(DBusDesk.adapter(69)))
        #expect(desk.session.adapters[69] != nil)
    }
}

extension DBusAdapterProperties {
    static func discovering(_ isDiscovering: Bool) -> DBusAdapterProperties {
        var properties = DBusAdapterProperties()
        properties.isDiscovering = isDiscovering
        return properties
    }
}
