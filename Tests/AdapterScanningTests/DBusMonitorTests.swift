import Testing

@testable import AdapterScanning

/// The session alone: its advertisement monitors, its power, and what it owes at the end.
@Suite struct DBusMonitorTests {
    @Test func `a monitor that is not activated within three seconds is not waited for`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter(monitors: true)])
        desk.answer()
        desk.wait(DBusAdapter.activationMax - .nanoseconds(1))
        #expect(desk.requests() == [])
        desk.wait(.nanoseconds(1))
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `a monitor stands through power, and is registered again with bluetoothd`() {
        let desk = DBusDesk.listening(monitors: true)
        desk.adapter(powered: false, discovering: false)
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
        desk.owner(nil)
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter(monitors: true)])
        #expect(desk.requests() == [.registerMonitor])
    }

    @Test func `a passive adapter listens while its monitor is active`() {
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

    @Test func `power that was switched off by us is switched on by us, whatever is answered first`() {
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

    @Test func `what is still owed when it is stopped is said in the farewell`() {
        let desk = DBusDesk.listening(mayPowerCycle: true, monitors: true)
        let requests = { (session: DBusSession) -> [DBusRequest.AdapterRequest] in
            session.farewell.compactMap { if case .adapter(_, let request, _) = $0 { request } else { nil } }
        }
        #expect(requests(desk.session) == [.stopDiscovery, .unregisterMonitor])
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        #expect(requests(desk.session) == [.setPowered(true), .unregisterMonitor])
    }

    @Test func `64 adapters are looked after, one more is not; those that went make room`() {
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
